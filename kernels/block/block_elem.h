#ifndef KERNELS_BLOCK_BLOCK_ELEM_H
#define KERNELS_BLOCK_BLOCK_ELEM_H

#include "kernels/convert/convert_elem.h"
#include "kernels/philox/philox_elem.h"

/*
 * Number formats whose elements share a scale: small floats (fp8, MXFP8, MXFP4, NVFP4) and integers
 * with an offset. docs/format.md has the formats, docs/codecs/float.md and affine.md the rules of
 * the encoders.
 */

/* ---- draws ---- */

/* The random numbers of the elements of a tile. Philox gives the tile two random words; a hash of
 * 32 bits (lowbias32 by Wellons, with a key in its middle and without its last shift) gives each
 * element a number. The hash is a permutation, so each number has the uniform distribution. */
struct gcb_tile_draw {
    uint32_t first, key;
};
#define GCB_DRAW_TILE 4096 /* elements */

GCB_HD struct gcb_tile_draw gcb_tile_draw_of(struct gcb_philox_block b)
{
    const struct gcb_tile_draw d = {b.word[0], b.word[1]};

    return d;
}

/* The number of element i of the tile: 31 bits. */
GCB_HD uint32_t gcb_tile_number(const struct gcb_tile_draw *d, uint32_t i)
{
    uint32_t u = d->first + i;

    u = (u ^ u >> 16) * 0x7feb352du;
    u = (u ^ u >> 15 ^ d->key) * 0x846ca68bu;
    return u >> 1;
}

/* Rounds t, at least 0 and below 2^31, to the integer below or above, by a random number of 31
 * bits. The probability of rounding up is the fraction of t, rounded down to 31 bits. */
GCB_HD uint32_t gcb_draw_integer(float t, uint32_t number)
{
    const int32_t below = (int32_t)t, part = (int32_t)((t - (float)below) * 0x1p31f);

    return (uint32_t)below + ((int32_t)number < part);
}

/* ---- small floats ---- */

/* A float of a sign, an exponent and m mantissa bits. A code without its sign bit is the exponent
 * field above the mantissa. */
struct gcb_small_float {
    uint32_t shift;  /* 23 - m */
    uint32_t rebias; /* float32's exponent bias less this format's, shifted to the exponent */
    uint32_t normal; /* pattern of the smallest normal value as a float32; bf16: 0 */
    uint32_t top;    /* code of the largest value */
    uint32_t sign;   /* the sign bit of a code */
    float largest;   /* the largest value */
    float step;      /* the smallest value above 0, and the distance of subnormal values */
    float per_step;  /* 1 / step; bf16: 0, not used */
};

enum gcb_small_format { GCB_E4M3, GCB_E5M2, GCB_E2M1, GCB_SMALL_FP16, GCB_SMALL_BF16 };

/* bf16 has float32's exponents, so its subnormal values are rounded like the normal ones. */
GCB_HD struct gcb_small_float gcb_small_float_of(enum gcb_small_format format)
{
    const struct gcb_small_float table[] = {
        {20, 120u << 23, 0x3c800000u, 0x7e, 0x80, 448.0f, 0x1p-9f, 0x1p9f},
        {21, 112u << 23, 0x38800000u, 0x7b, 0x80, 57344.0f, 0x1p-16f, 0x1p16f},
        {22, 126u << 23, 0x3f800000u, 0x7, 0x8, 6.0f, 0.5f, 2.0f},
        {13, 112u << 23, 0x38800000u, 0x7bff, 0x8000, 65504.0f, 0x1p-24f, 0x1p24f},
        {16, 0, 0, 0x7f7f, 0x8000, 0x1.fep127f, 0x1p-133f, 0.0f},
    };

    return table[format];
}

/* Returns a if `condition` is 1, b if it is 0. Compilers make no branch of this arithmetic, and so
 * can vectorise the loop around it. */
GCB_HD uint32_t gcb_pick(uint32_t condition, uint32_t a, uint32_t b)
{
    const uint32_t mask = 0u - condition;

    return (a & mask) | (b & ~mask);
}

/* The code nearest to the float of the pattern a, whose sign is clear; ties to even. The code is
 * above f->top if the value saturates. Adding step * 2^23 rounds a subnormal value to a multiple of
 * step. */
GCB_HD uint32_t gcb_small_nearest(uint32_t a, const struct gcb_small_float *f)
{
    const float round = f->step * 0x1p23f;
    const uint32_t below = gcb_bits_of(gcb_float_of(a) + round) - gcb_bits_of(round);

    return gcb_pick(a < f->normal, below, gcb_round_off(a - f->rebias, (int)f->shift));
}

GCB_HD uint32_t gcb_lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A subnormal value in steps. For a larger value, returns the steps of the smallest normal value;
 * gcb_small_drawn does not use that result. */
GCB_HD float gcb_small_steps(uint32_t a, const struct gcb_small_float *f)
{
    return gcb_float_of(gcb_lower(a, f->normal)) * f->per_step;
}

/* The code below or above the float of the pattern a, whose sign is clear, by a random number of 31
 * bits. In a normal value, the number is added to the bits that the code lacks. Values above the
 * largest become the largest. */
GCB_HD uint32_t gcb_small_drawn(uint32_t a, uint32_t number, const struct gcb_small_float *f)
{
    const uint32_t cut = gcb_lower(a, gcb_bits_of(f->largest));
    const uint32_t normal = (cut - f->rebias + (number >> (31 - f->shift))) >> f->shift;

    return gcb_pick(cut < f->normal, gcb_draw_integer(gcb_small_steps(cut, f), number), normal);
}

/* The code with the sign of the float of pattern u. Codes above the largest become the largest. */
GCB_HD uint32_t gcb_small_signed(uint32_t code, uint32_t u, const struct gcb_small_float *f)
{
    return (code < f->top ? code : f->top) | (u >> 31) * f->sign;
}

/* The value of a code. Codes above f->top have no promised value. */
GCB_HD float gcb_small_value(uint32_t code, const struct gcb_small_float *f)
{
    const uint32_t c = code & (f->sign - 1);
    const uint32_t below = gcb_bits_of((float)(int32_t)c * f->step);
    const uint32_t a =
        gcb_pick(c << f->shift < f->normal - f->rebias, below, (c << f->shift) + f->rebias);

    return gcb_float_of(a | gcb_pick((code & f->sign) != 0, 0x80000000u, 0));
}

/* ---- scales of small floats ---- */

enum gcb_scale_format { GCB_SCALE_FP32, GCB_SCALE_E8M0, GCB_SCALE_E4M3 };
/* The choices of scale-rule (docs/codecs/float.md). */
enum gcb_scale_rule {
    GCB_SCALE_FLOOR,
    GCB_SCALE_RCEIL,
    GCB_SCALE_EVEN,
    GCB_SCALE_AMAX,
    GCB_SCALE_TE
};

struct gcb_scaling {
    struct gcb_small_float f;  /* of the elements */
    struct gcb_small_float e4; /* e4m3, for scales */
    enum gcb_scale_format format;
    enum gcb_scale_rule rule;
    float tensor; /* the tensor's scale; with e4m3, it multiplies the scales of blocks */
    float per;    /* for GCB_SCALE_TE: 1 / tensor, with one rounding; 1 if `tensor` is 0 */
    int drawn;    /* codes are drawn, and so tiny elements must not be lost */
};

#define GCB_E8M0_ONE 127u       /* the code of 1 */
#define GCB_SCALE_LEAST 0x1p-6f /* the smallest e4m3 scale of an encoder, except GCB_SCALE_TE */

/* The exponent of the largest power of two that the format has. */
GCB_HD uint32_t gcb_small_exponent(const struct gcb_small_float *f)
{
    return (gcb_bits_of(f->largest) >> 23) - 127;
}

/* e8m0: the code that the rule gives a block with this largest magnitude; the scale is 2^(code -
 * 127). */
GCB_HD uint32_t gcb_scale_power(uint32_t most, const struct gcb_scaling *s)
{
    const uint32_t ratio = gcb_bits_of(gcb_float_of(most) / s->f.largest);
    const uint32_t round = s->rule == GCB_SCALE_EVEN ? 1u << (s->f.shift - 1) : 0;
    const uint32_t exponent = (most + round) >> 23, largest = gcb_small_exponent(&s->f);

    if (s->rule == GCB_SCALE_RCEIL) /* 0x400000 is 2^-127 */
        return ratio <= 0x400000u ? 0 : (ratio + 0x7fffffu) >> 23;
    return exponent > largest ? exponent - largest : 0;
}

/* The scale of a block with this largest magnitude, as it stands in a message. */
GCB_HD uint32_t gcb_scale_code(uint32_t most, const struct gcb_scaling *s)
{
    const float amax = gcb_float_of(most);
    float scale;

    if (s->format == GCB_SCALE_E8M0)
        return gcb_scale_power(most, s);
    if (s->format == GCB_SCALE_FP32) {
        scale = s->f.largest / amax;
        if (gcb_bits_of(scale) < GCB_INF_BITS)
            return gcb_bits_of(scale);
        return s->drawn ? GCB_INF_BITS - 1 : gcb_bits_of(1.0f); /* torchft takes 1, too */
    }
    scale = amax / s->f.largest / s->tensor;
    scale = scale > GCB_SCALE_LEAST ? scale : GCB_SCALE_LEAST; /* also if 0 / 0 gave a NaN */
    scale = s->rule == GCB_SCALE_TE ? amax * (s->per * (1.0f / s->f.largest)) : scale;
    return gcb_small_signed(gcb_small_nearest(gcb_bits_of(scale), &s->e4), 0, &s->e4);
}

/* What an encoder multiplies the elements by. */
GCB_HD float gcb_scale_factor(uint32_t code, const struct gcb_scaling *s)
{
    if (s->format == GCB_SCALE_FP32)
        return gcb_float_of(code);
    if (s->format == GCB_SCALE_E4M3) {
        const float value = gcb_small_value(code, &s->e4);
        const float factor =
            s->rule == GCB_SCALE_TE ? 1.0f / (value * (1.0f / s->per)) : 1.0f / s->tensor / value;

        return gcb_float_of(gcb_pick((s->tensor > 0.0f) & (value > 0.0f),
                                     gcb_lower(gcb_bits_of(factor), GCB_INF_BITS - 1), 0));
    }
    if (code == 0 && !s->drawn) /* as in torchao, instead of 2^127 */
        return s->rule == GCB_SCALE_RCEIL ? 1.0f : 0x1p126f;
    return gcb_float_of((2 * GCB_E8M0_ONE - code) << 23);
}

/* What a decoder multiplies the elements by; fp32: what it divides them by. */
GCB_HD float gcb_scale_value(uint32_t code, const struct gcb_scaling *s)
{
    if (s->format == GCB_SCALE_FP32)
        return gcb_float_of(code);
    if (s->format == GCB_SCALE_E4M3)
        return s->tensor * gcb_small_value(code, &s->e4);
    return gcb_float_of(code ? code << 23 : 0x400000u);
}

/* Sets the tensor's scale and its inverse, for scale=tensor+block. The scale is 0 if the factor of
 * a block might be infinite; then the whole tensor is decoded as zeros. */
GCB_HD void gcb_scale_tensor(struct gcb_scaling *s, uint32_t most)
{
    const float amax = gcb_float_of(most), largest = 448.0f * s->f.largest, scale = amax / largest;

    s->tensor = scale > 0x1p-122f ? scale : 0.0f;
    s->per = scale > 0x1p-122f ? largest / amax : 1.0f;
}

/* True if a decoder accepts this scale: it is not negative, and all decoded values are finite. For
 * e4m3 they are finite only if s->tensor is not too large, which the caller checks. */
GCB_HD int gcb_scale_valid(uint32_t code, const struct gcb_scaling *s)
{
    if (s->format == GCB_SCALE_E8M0)
        return code <= 2 * GCB_E8M0_ONE - gcb_small_exponent(&s->f);
    if (s->format == GCB_SCALE_E4M3)
        return code <= s->e4.top;
    return code != 0 && code < GCB_INF_BITS &&
           gcb_bits_of(s->f.largest / gcb_float_of(code)) < GCB_INF_BITS;
}

/* A tensor with this magnitude or a larger one is sent raw: its decoded values might overflow. */
#define GCB_SCALE_MOST 0x7e800000u /* 2^126 */

/* ---- integers with an offset ---- */

/* How the integers of a block are decoded:
 *
 * offset=zero:     value = step * (code - base), and base is the code of 0
 * offset=minimum:  value = base + step * code, and base is the smallest value */
struct gcb_affine {
    float step, base;
};

/* Returns how the integers of a block with values from lo to hi are decoded. `top` is the largest
 * code. With offset=zero, 0 counts as one of the values. */
GCB_HD struct gcb_affine gcb_affine_of(float lo, float hi, float top, int minimum)
{
    /* adding +0 makes a zero positive */
    const float low = (minimum || lo < 0.0f ? lo : 0.0f) + 0.0f;
    const float step = ((minimum || hi > 0.0f ? hi : 0.0f) - low) / top + 0.0f;
    const float zero = -low / (step > 0.0f ? step : 1.0f) + 0x1.8p23f - 0x1.8p23f;
    const struct gcb_affine a = {step, minimum ? low : zero < top ? zero : top};

    return a;
}

/* Returns how many steps x is above the block's smallest value (offset=minimum), or above 0
 * (offset=zero; negative if x is below 0). A step of 0 counts as 1; all codes are then 0. */
GCB_HD float gcb_affine_steps(float x, const struct gcb_affine *a, int minimum)
{
    const float step = a->step > 0.0f ? a->step : 1.0f;

    return minimum ? (x - a->base) / step : x / step;
}

/* t limited to [0, top]. */
GCB_HD float gcb_affine_cut(float t, float top)
{
    t = t > 0.0f ? t : 0.0f;
    return t < top ? t : top;
}

/* The nearest code. Ties go to an even number of steps with offset=zero, upwards with
 * offset=minimum. */
GCB_HD uint32_t gcb_affine_nearest(float x, const struct gcb_affine *a, float top, int minimum)
{
    const float t = gcb_affine_steps(x, a, minimum);
    const float rounded = minimum ? t + 0.5f : t + 0x1.8p23f - 0x1.8p23f + a->base;

    return (uint32_t)(int32_t)gcb_affine_cut(rounded, top);
}

/* The place of x among the codes: x in steps above code 0, limited to [0, top]. A draw rounds the
 * place up or down. */
GCB_HD float gcb_affine_place(float x, const struct gcb_affine *a, float top, int minimum)
{
    const float t = gcb_affine_steps(x, a, minimum);

    return gcb_affine_cut(minimum ? t : t + a->base, top);
}

GCB_HD float gcb_affine_value(uint32_t code, const struct gcb_affine *a, int minimum)
{
    const float c = (float)(int32_t)code;

    return minimum ? a->base + a->step * c : a->step * (c - a->base);
}

/* True if a decoder accepts *a: the step is not negative, all values are finite and, with
 * offset=zero, the base is 0 to `top`, the largest code. */
GCB_HD int gcb_affine_valid(const struct gcb_affine *a, float top, int minimum)
{
    const uint32_t end = gcb_bits_of(minimum ? a->base + a->step * top : a->step * top);

    return gcb_bits_of(a->step) < GCB_INF_BITS && (end & GCB_MAGNITUDE_MASK) < GCB_INF_BITS &&
           (gcb_bits_of(a->base) & GCB_MAGNITUDE_MASK) < GCB_INF_BITS &&
           (minimum || (a->base >= 0.0f && a->base <= top));
}

#endif
