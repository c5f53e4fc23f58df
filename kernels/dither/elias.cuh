#ifndef KERNELS_DITHER_ELIAS_CUH
#define KERNELS_DITHER_ELIAS_CUH

/*
 * What the encoder (elias_encode_cuda.cu) and the decoder (elias_decode_cuda.cu) of QSGD's Elias
 * codings share (src/lib/codec/elias.h). The encoder first writes codes of fixed width to scratch
 * memory. Then each block of 4096 codes becomes a stream of bits. The decoder does the reverse.
 */
#include "kernels/cuda/align.h"
#include "kernels/cuda/grid.cuh"
#include "kernels/dither/dither_cuda.h"
#include "kernels/dither/elias_elem.h"
#include "kernels/index/self_sync.cuh"
#include "src/lib/base/status.h"

namespace gcb::elias_codes
{

constexpr unsigned kPlaceThreads = 1024;
constexpr unsigned kEntry = 2; /* bytes of a block's length in the directory */

/* A message of n elements, and its codes of fixed width. */
struct elias_message {
    uint64_t n, buckets;
    uint32_t levels, sign_bit;
    bool sparse;
    uint8_t *fixed; /* norms, then codes */
    /* bytes from the directory's end to each block; in the decoder, also to the payload's end. The
     * encoder first keeps the number of bytes of each block here. */
    uint64_t *offset;
};

__device__ inline uint64_t blocks_of(const elias_message &e)
{
    return tile_count(e.n);
}

/* The number of codes of block b. */
__device__ inline unsigned count_of(const elias_message &e, uint64_t b)
{
    return elements_from(e.n, b * kTile, kTile);
}

/* The offset of the directory in the payload. */
__device__ inline uint64_t directory_at(const elias_message &e)
{
    return e.buckets * sizeof(float);
}

/* The offset of the first block in the payload. */
__device__ inline uint64_t body_at(const elias_message &e)
{
    return directory_at(e) + blocks_of(e) * kEntry;
}

/* Address of block b's codes of fixed width. */
__device__ inline uint8_t *fixed_at(const elias_message &e, uint64_t b)
{
    return e.fixed + directory_at(e) + b * (kTile / 8) * (e.sign_bit + 1);
}

__device__ inline unsigned fixed_bytes(const elias_message &e, uint64_t b)
{
    return (count_of(e, b) * (e.sign_bit + 1) + 7) / 8;
}

__device__ inline void copy_norms(uint8_t *to, const uint8_t *from, const elias_message &e)
{
    for (uint64_t i = thread_of_grid(); i < e.buckets; i += threads_of_grid())
        reinterpret_cast<uint32_t *>(to)[i] = reinterpret_cast<const uint32_t *>(from)[i];
}

/* Sets *e. Returns the bytes of scratch that *e uses; an encoder's scratch for codes of fixed width
 * (gcb_cuda_qsgd_scratch) follows them. `scratch` may be NULL if only the bytes are wanted. */
inline uint64_t lay_out(elias_message *e, const gcb_cuda_qsgd *how, uint64_t n, void *scratch)
{
    const uint64_t buckets = pieces_of(n, how->bucket);
    const uint64_t fixed =
        gcb_cuda_align16(buckets * sizeof(float) + (n * (how->sign_bit + 1) + 7) / 8);
    uint8_t *at = static_cast<uint8_t *>(scratch);

    memset(e, 0, sizeof(*e)); /* kernel arguments are copied with their padding */
    e->n = n;
    e->buckets = buckets;
    e->levels = how->levels;
    e->sign_bit = how->sign_bit;
    e->sparse = how->coding == GCB_CUDA_ELIAS_SPARSE;
    e->fixed = at;
    e->offset = at ? reinterpret_cast<uint64_t *>(at + fixed) : nullptr;
    return fixed + gcb_cuda_align16((tile_count(n) + 1) * sizeof(uint64_t));
}

} /* namespace gcb::elias_codes */

#endif
