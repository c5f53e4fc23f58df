#ifndef KERNELS_RANGE_RANGE_CHOOSE_H
#define KERNELS_RANGE_RANGE_CHOOSE_H

/* Chooses a format of range floats for a tensor. The arithmetic is IEEE's, in a fixed order, so the
 * CPU and a device choose the same format. */
#include "kernels/range/range_elem.h"

enum gcb_range_rounding { GCB_ROUND_NEAREST, GCB_ROUND_TRUNCATE };

/* P, the number of codes of one sign. */
GCB_HD uint32_t gcb_range_codes_per_sign(unsigned bits)
{
    return (1u << (bits - 1)) - 1;
}

/*
 * True if there is a format with these bits and this mantissa width: 2 <= bits <= 16, mantissa <
 * bits, and eps is a normal number if max is 1. There are 126 octaves of normal numbers below 1;
 * codes beyond them would be wasted.
 */
GCB_HD int gcb_range_valid(unsigned bits, unsigned mantissa)
{
    if (bits < 2 || bits > 16 || mantissa >= bits)
        return 0;
    return gcb_range_codes_per_sign(bits) - 1 <= 126u << mantissa;
}

/*
 * Sets *f to the format whose largest code is that of max, which is finite: base = (bits(max) >>
 * shift) - P + 1, the closed form of the paper's search. If the format rounds to nearest, max is
 * rounded like any value, but never to infinity, so that the values just below max keep their error
 * bound. Requires gcb_range_valid(bits, mantissa). If max is so small that base would be below 1,
 * base is 1 and the topmost codes stay unused. If max is 0, every value becomes 0.
 */
GCB_HD void gcb_range_format(struct gcb_range_format *f, unsigned bits, unsigned mantissa,
                             float max, enum gcb_range_rounding rounding)
{
    const uint32_t a = gcb_magnitude(max), shift = 23 - mantissa;
    const uint32_t half = rounding == GCB_ROUND_NEAREST ? 1u << (shift - 1) : 0;
    const uint32_t highest = GCB_MAX_FINITE_BITS >> shift, codes = gcb_range_codes_per_sign(bits);
    uint32_t largest = (a + half) >> shift;
    float eps;

    largest = largest > highest ? highest : largest;
    f->bits = bits;
    f->mantissa = mantissa;
    f->shift = shift;
    f->half = half;
    f->base = largest > codes ? largest - codes + 1 : 1;
    f->top = a == 0 ? 0 : largest - f->base + 1;
    f->negative = codes;
    f->clamp = a;
    /* Half of eps is exact even if eps is subnormal: its pattern ends in `shift` zeros. */
    eps = gcb_float_of(f->base << shift);
    f->floor = gcb_bits_of(half ? eps * 0.5f : eps);
}

/* 3 times the integral of (x - centre)^2 from a to b. */
GCB_HD double gcb_range_cubes(double a, double b, double centre)
{
    const double low = a - centre, high = b - centre;

    return high * high * high - low * low * low;
}

/* The number nearest to x in [low, high]. */
GCB_HD double gcb_range_between(double x, double low, double high)
{
    if (x < low)
        return low;
    return x > high ? high : x;
}

/*
 * 12 times the expected squared error of a value in the octave with biased exponent e. The octave
 * is divided at `to_zero` and at eps: values below `to_zero` become 0, values from `to_zero` to eps
 * become eps, values above eps are rounded to the grid.
 */
GCB_HD double gcb_range_octave_error(unsigned e, const struct gcb_range_format *f)
{
    const double width = (double)gcb_float_of((e ? e : 1u) << 23);
    const double low = e ? width : 0.0, high = low + width;
    const double inverse = 1.0 / width; /* a power of two, so products are exact quotients */
    const double step = width * (double)gcb_float_of((127 - f->mantissa) << 23);
    const double eps = (double)gcb_float_of(f->base << f->shift);
    const double to_zero = gcb_range_between(f->half ? 0.5 * eps : eps, low, high);
    const double to_eps = gcb_range_between(eps, low, high);
    const double grid = (f->half ? 1.0 : 4.0) * step * step * ((high - to_eps) * inverse);

    return 4.0 * (gcb_range_cubes(low, to_zero, 0.0) + gcb_range_cubes(to_zero, to_eps, eps)) *
               inverse +
           grid;
}

/* 12 times the expected squared error of all values; count[e] of them have the biased exponent e,
 * which is between `first` and end - 1. */
GCB_HD double gcb_range_expected_error(const uint64_t count[256], unsigned first, unsigned end,
                                       const struct gcb_range_format *f)
{
    double sum = 0.0;

    for (unsigned e = first; e < end; e++)
        if (count[e])
            sum += (double)count[e] * gcb_range_octave_error(e, f);
    return sum;
}

/*
 * The valid mantissa width with the least expected squared error for values whose biased exponents
 * occur count[e] times; max is that of gcb_range_format. Assumes that values are uniform
 * within an octave, and rounding errors within a step. Below eps, the error is the value itself or,
 * if the format rounds to nearest, its distance to the nearer of 0 and eps. The error of clamping
 * values above max is not counted. Errors are summed in the order of e, so the result is the same
 * everywhere. Ties go to the smaller width. Ignores count[255] (infinities, NaNs).
 */
GCB_HD unsigned gcb_range_best_mantissa(const uint64_t count[256], float max, unsigned bits,
                                        enum gcb_range_rounding rounding)
{
    unsigned best = bits - 1, first = 0, end = 255;
    double least = 0.0;

    while (first < end && !count[first])
        first++;
    while (first < end && !count[end - 1])
        end--;
    for (unsigned m = bits; m-- > 0;) {
        struct gcb_range_format f;
        double error;

        if (!gcb_range_valid(bits, m))
            break;
        gcb_range_format(&f, bits, m, max, rounding);
        error = gcb_range_expected_error(count, first, end, &f);
        if (m == bits - 1 || error <= least) {
            least = error;
            best = m;
        }
    }
    return best;
}

#endif
