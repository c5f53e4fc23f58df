#ifndef KERNELS_DITHER_DRAW_CUH
#define KERNELS_DITHER_DRAW_CUH

/* What the quantisers on the device draw by. */
#include "kernels/cuda/tile.cuh"
#include "kernels/dither/dither_cuda.h"
#include "kernels/dither/dither_elem.h"

namespace gcb
{

/* The bytes of 16 elements from `first`, a multiple of 16, on: element i has byte i mod 4 of word i / 4. */
__device__ __forceinline__ struct gcb_philox_block draw_bytes(const struct gcb_cuda_draw &draw,
                                                              uint64_t first)
{
    return gcb_philox(draw.seed, first / kTileEach, draw.coarse);
}

__device__ __forceinline__ uint32_t byte_of(const struct gcb_philox_block &b, unsigned i)
{
    return b.word[i / 4] >> (8 * (i % 4)) & 0xffu;
}

/* A rounder for a norm or scaler above 0. */
__device__ __forceinline__ struct gcb_dither rounder(const struct gcb_cuda_draw &draw,
                                                     uint32_t levels, float norm)
{
    struct gcb_dither d;

    d.seed = draw.seed;
    d.coarse = draw.coarse;
    d.fine = draw.fine;
    d.levels = levels;
    d.factor = d.inv = 0.0f;
    if (norm > 0.0f)
        gcb_dither_scale(&d, norm);
    return d;
}

} /* namespace gcb */

#endif
