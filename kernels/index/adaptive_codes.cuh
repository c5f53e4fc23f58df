#ifndef KERNELS_INDEX_ADAPTIVE_CODES_CUH
#define KERNELS_INDEX_ADAPTIVE_CODES_CUH

/* What the encoder of the adaptive index counts about the gaps (golomb_adaptive_encode_cuda.cu),
 * and the codes that are made from the counts (adaptive_codes_cuda.cu). */
#include "kernels/index/gap_elem.h"
#include "kernels/index/prefix_elem.h"
#include "kernels/select/select_cuda.cuh"

namespace gcb
{

constexpr unsigned kGapCounts = GCB_GAP_SUMS * GCB_PREFIX_SYMBOLS;
/* 32-bit words of the longest head: the first byte, the lowest sum of each code, and the lengths of
 * each code's codewords. The lengths of a code take 6 bits, and at most 9 bits per symbol
 * (gcb_prefix_size). */
constexpr unsigned kGapHeadWords =
    (8 + 6 * GCB_GAP_CODES + GCB_GAP_CODES * (6 + 9 * GCB_PREFIX_SYMBOLS)) / 32 + 1;

/* The codes of a message, in device memory. */
struct gap_codes {
    uint32_t golomb; /* b of Golomb's code (gcb_golomb_parameter) */
    /* totals over all gaps: ones in Golomb's code, and low bits after the symbols */
    uint64_t golomb_ones, low_bits;
    /* number of gaps, by sum of magnitudes before the gap, then by symbol */
    uint32_t count[kGapCounts];
    uint32_t groups; /* number of codes made from the counts; 0: Golomb's code is used */
    uint32_t head_bytes;
    uint32_t head[kGapHeadWords]; /* the part of the stream before its blocks */
    uint16_t code[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint8_t bits[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint8_t code_of_sum[GCB_GAP_SUMS];
};

/* Queues a kernel that makes the codes from the counts, as gcb_gap_codes_make does on the CPU.
 * Returns 0, GCB_E_NOMEM or GCB_E_DEVICE. */
int make_gap_codes(gcb_device_stream *s, gap_codes *m, const gcb_cuda_chosen &c);

} /* namespace gcb */

#endif
