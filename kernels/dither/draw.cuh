#ifndef KERNELS_DITHER_DRAW_CUH
#define KERNELS_DITHER_DRAW_CUH

/* What the quantisers on the device draw by. */
#include "kernels/cuda/tile.cuh"
#include "kernels/dither/dither_cuda.h"
#include "kernels/dither/dither_elem.h"

namespace gcb
{

/* The bytes of 16 elements from `first`, a multiple of 16, on, each taken from 255: element i has byte i mod 4 of word
 * i / 4. */
__device__ __forceinline__ struct gcb_philox_block draw_bytes(const struct gcb_cuda_draw &draw,
                                                              uint64_t first)
{
    struct gcb_philox_block b = gcb_philox_by(&draw.keys, first / kTileEach, draw.coarse);

    for (unsigned i = 0; i < 4; i++)
        b.word[i] = ~b.word[i];
    return b;
}

/* A rounder for a norm or scaler above 0. */
__device__ __forceinline__ struct gcb_dither rounder(uint32_t levels, float norm)
{
    struct gcb_dither d = {};

    d.levels = levels;
    d.factor = d.inv = 0.0f;
    if (norm > 0.0f)
        gcb_dither_scale(&d, norm);
    return d;
}

/*
 * This thread's elements between the two steps of gcb_dither_256ths: `drawn` of those that the byte does not decide, and
 * which those are.
 */
struct drawn_run {
    uint32_t drawn[kTileEach];
    uint32_t open; /* a bit each */
};

__device__ __forceinline__ void draw_one(drawn_run &r, unsigned i, uint32_t t256,
                                         const struct gcb_philox_block &bytes)
{
    r.drawn[i] = add_byte(bytes.word[i / 4], i % 4, t256);
    if ((~r.drawn[i] & 0xffu) == 0)
        r.open |= 1u << i;
}

/* Of the first `count` elements, what is open is settled: x is where they stand, rounder(i) gives that of an element. */
template <class RounderOf>
__device__ __forceinline__ void settle(drawn_run &r, const struct gcb_cuda_draw &draw,
                                       const float *x, uint64_t first, unsigned count,
                                       const RounderOf &rounder)
{
    uint32_t up = 0;

    for (uint32_t open = r.open & ((1u << count) - 1); open; open &= open - 1) {
        const unsigned i = lowest_bit(open);
        const uint32_t fine = gcb_philox_24_by(&draw.keys, first + i, draw.fine);
        const struct gcb_dither d = rounder(i);

        up |= gcb_dither_up(x[first + i], fine, &d) << i;
    }
    if (up) {
#pragma unroll
        for (unsigned i = 0; i < kTileEach; i++)
            r.drawn[i] += up >> i & 1u;
    }
}

} /* namespace gcb */

#endif
