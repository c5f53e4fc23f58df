#ifndef KERNELS_DITHER_DRAW_CUH
#define KERNELS_DITHER_DRAW_CUH

/* Random draws of the quantisers on the device. */
#include "kernels/cuda/tile.cuh"
#include "kernels/dither/dither_cuda.h"
#include "kernels/dither/dither_elem.h"

namespace gcb
{

/* Draws the bytes of 16 elements, which begin at `first` (a multiple of 16). Byte i mod 4 of word
 * i / 4 of the result is 255 minus the byte of element first + i. */
__device__ __forceinline__ gcb_philox_block draw_bytes(const gcb_cuda_draw &draw, uint64_t first)
{
    gcb_philox_block b = gcb_philox_by(&draw.keys, first / kTileEach, draw.coarse);

    for (unsigned i = 0; i < 4; i++)
        b.word[i] = ~b.word[i];
    return b;
}

/* Rounding parameters for a norm or scaler. If it is not above 0, factor and inv are 0, so every
 * finite element gets level 0. */
__device__ __forceinline__ gcb_dither make_rounder(uint32_t levels, float norm)
{
    gcb_dither d = {};

    d.levels = levels;
    if (norm > 0.0f)
        gcb_dither_scale(&d, norm);
    return d;
}

/* Adds the byte of element i, as draw_bytes returns it, to the element's t in 256ths
 * (gcb_dither_256ths). The topmost bit of the result is the sign of the element's value v, so that
 * no register needs to keep v. decide_draws() then decides the elements that the byte leaves
 * open. */
__device__ __forceinline__ uint32_t add_draw(uint32_t t256, float v, const gcb_philox_block &bytes,
                                             unsigned i)
{
    return add_byte(bytes.word[i / 4], i % 4, t256 | (gcb_bits_of(v) & ~GCB_MAGNITUDE_MASK));
}

/* The level in a result of add_draw; final after decide_draws. */
__device__ __forceinline__ uint32_t level_of(uint32_t drawn)
{
    return (drawn & GCB_MAGNITUDE_MASK) >> 8;
}

/* Returns a bit for each element whose lowest byte is all ones: element i has bit
 * 8 * (i % 4) + 7 - i / 4. Tests four elements at a time. A byte is all ones if its top bit is set
 * and adding 1 to its lower seven bits carries. */
__device__ __forceinline__ uint32_t undecided_elements(const uint32_t (&drawn)[kTileEach])
{
    uint32_t open = 0;

#pragma unroll
    for (unsigned i = 0; i < kTileEach; i += 4) {
        const uint32_t low = low_bytes(drawn[i], drawn[i + 1], drawn[i + 2], drawn[i + 3]);

        open |= (((low & 0x7f7f7f7fu) + 0x01010101u) & low & 0x80808080u) >> i / 4;
    }
    return open;
}

/* The values of the tensor, for decide_draws. */
struct plain_values {
    const float *x;

    __device__ float operator()(uint64_t i) const
    {
        return x[i];
    }
};

/* Rounds up the elements that their byte left open, if their second draw says so. The run has
 * `count` elements from `first` on. value_of(i) returns the value of element i of the tensor;
 * rounder_of(i) returns the rounding parameters of element i of the run. */
template <class ValueOf, class RounderOf>
__device__ __forceinline__ void
decide_draws(uint32_t (&drawn)[kTileEach], const gcb_cuda_draw &draw, const ValueOf &value_of,
             uint64_t first, unsigned count, const RounderOf &rounder_of)
{
    uint32_t up = 0;

    for (uint32_t open = undecided_elements(drawn); open; open &= open - 1) {
        const unsigned bit = lowest_bit(open), i = (7 - bit % 8) * 4 + bit / 8;

        if (i < count) {
            const uint32_t fine = gcb_philox_24_by(&draw.keys, first + i, draw.fine);
            const gcb_dither d = rounder_of(i);

            up |= gcb_dither_rounds_up(value_of(first + i), fine, &d) << i;
        }
    }
    if (up) {
#pragma unroll
        for (unsigned i = 0; i < kTileEach; i++)
            drawn[i] += up >> i & 1u;
    }
}

} /* namespace gcb */

#endif
