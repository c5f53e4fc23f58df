#ifndef KERNELS_INDEX_ADAPTIVE_CUH
#define KERNELS_INDEX_ADAPTIVE_CUH

/* Writing adaptive: what the gaps are (adaptive_cuda.cu), the codes that are made for them (adaptive_make_cuda.cu). */
#include "kernels/index/gap_elem.h"
#include "kernels/index/prefix_elem.h"
#include "kernels/select/select.cuh"

namespace gcb
{

constexpr unsigned kGapCounts = GCB_GAP_SUMS * GCB_PREFIX_SYMBOLS;
/* mark, sums, and lengths of at most 9 bits a symbol */
constexpr unsigned kGapHeadWords =
    (8 + 6 * GCB_GAP_CODES + GCB_GAP_CODES * (6 + 9 * GCB_PREFIX_SYMBOLS)) / 32 + 1;

/* In device memory. */
struct gap_codes {
    uint32_t golomb;                /* the parameter of Golomb's code */
    uint64_t golomb_ones, low_bits; /* of all gaps */
    uint32_t count[kGapCounts];     /* by sum, then symbol */
    uint32_t groups;                /* what is made of those; 0: Golomb's code is taken */
    uint32_t head_bytes;
    uint32_t head[kGapHeadWords];
    uint16_t code[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint8_t bits[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint8_t of_sum[GCB_GAP_SUMS];
};

/* From what was counted, the codes, as gcb_gap_codes_make. */
int make_gap_codes(struct gcb_device_stream *s, gap_codes *m, const struct gcb_cuda_chosen &c);

__device__ __forceinline__ uint64_t warp_sum(uint64_t v)
{
    for (unsigned by = kWarp / 2; by > 0; by /= 2)
        v += shfl_xor(v, by);
    return v;
}

} /* namespace gcb */

#endif
