#ifndef KERNELS_BLOCK_BOOK_ELEM_H
#define KERNELS_BLOCK_BOOK_ELEM_H

#include "kernels/base/hd.h"
#include "kernels/reduce/norm_elem.h"

/* Code books of 8 bits. docs/format.md has the format, docs/codecs/codebook.md the rules. */
#define GCB_BOOK 256

/* ---- the dynamic tree: decade i of seven has 2^i equal steps ---- */

#define GCB_BOOK_ZERO 127 /* the code of 0 */

/* The value of a code. Values ascend with their codes. */
GCB_HD float gcb_dynamic_value(uint32_t code)
{
    const uint32_t k = code < GCB_BOOK_ZERO ? GCB_BOOK_ZERO - code : code - GCB_BOOK_ZERO;
    double value = 1.0, power = 1e7;
    uint32_t i = 0;

    if (k == 0)
        return 0.0f;
    for (; k >> (i + 1); i++)
        power /= 10.0;
    if (k < GCB_BOOK / 2)
        value = (double)((2u << i) + 9 * (2 * (k - (1u << i)) + 1)) / (power * (double)(2u << i));
    return (float)(code < GCB_BOOK_ZERO ? -value : value);
}

/* What the elements of a block are divided by, if `most` is their largest magnitude. */
GCB_HD float gcb_dynamic_divisor(float most)
{
    return most > 0.0f ? most : 1.0f;
}

/* True if t is at least as near to `above` as to `below`; both are neighbours in the book. */
GCB_HD int gcb_dynamic_up(float t, float below, float above)
{
    return t - below >= (above - below) * 0.5f;
}

/* ---- bins by standard deviation ---- */

/* Bins of equal width. A value's distance from the mean, in widths, is rounded to an integer from
 * low to high: the bin. */
struct gcb_bins {
    float mean, per; /* per: 1 / width, or 0 if the width is below 2^-126, as for equal values */
    double width;
    float low, high;
};

/* A bin's width has 2^19 parts. Distances from the middle of a bin are added up in whole parts,
 * exactly. */
#define GCB_BIN_PART 0x1p19f
/* The sum of a bin has the number of its elements in its upper 32 bits, and their parts in its
 * lower 32 bits. An element adds GCB_BIN_ONE and its parts, which are at least -GCB_BIN_HALF. So
 * the lower bits are never negative, and for 4096 elements they stay below 2^32. */
#define GCB_BIN_HALF (UINT64_C(1) << 18)
#define GCB_BIN_ONE ((UINT64_C(1) << 32) + GCB_BIN_HALF)

/* Returns `count` bins over six standard deviations of n values, from the sums of the values and of
 * their squares. */
GCB_HD struct gcb_bins gcb_bins_of(double sum, double sum_sq, uint64_t n, int count)
{
    const double all = n ? (double)n : 1.0;
    const double sigmas = n > 1 ? 6.0 / count * sqrt(all / (all - 1.0)) : 0.0;
    const float width = (float)gcb_clip_of_sums(sigmas, sum, sum_sq, all);
    const int wide = width >= 0x1p-126f;
    const struct gcb_bins b = {(float)(sum / all), wide ? 1.0f / width : 0.0f,
                               wide ? (double)width : 0.0, (float)(-count / 2),
                               (float)(count / 2 - 1)};

    return b;
}

/* The bin, a float from low to high, of a value at the distance w from the mean, in widths. */
GCB_HD float gcb_bin_of(float w, float low, float high)
{
    const float least = w > low ? w : low;

    return (least < high ? least : high) + 0x1.8p23f - 0x1.8p23f;
}

/* The parts of an element that is `away` widths from the middle of its bin, if this is at most half
 * a width; otherwise 0. An element further away lies beyond all bins: gcb_bin_beyond returns its
 * parts, and 0 for other elements. */
GCB_HD int32_t gcb_bin_within(float away)
{
    const uint32_t u = gcb_bits_of(away), out = (u & GCB_MAGNITUDE_MASK) > 0x3f000000u;

    return (int32_t)(gcb_float_of(u & (out - 1)) * GCB_BIN_PART);
}

GCB_HD int64_t gcb_bin_beyond(float away)
{
    const uint32_t u = gcb_magnitude(away);

    return u > 0x3f000000u && u < GCB_INF_BITS ? (int64_t)(away * GCB_BIN_PART) : 0;
}

/* The parts in a bin's sum (GCB_BIN_ONE). */
GCB_HD int64_t gcb_bin_parts(uint64_t sum)
{
    return (int64_t)((sum & UINT32_MAX) - (sum >> 32) * GCB_BIN_HALF);
}

/* The mean of the `count` elements of bin `code`, whose parts add up to `parts`; 0 if there are
 * none. */
GCB_HD float gcb_bin_mean(const struct gcb_bins *b, uint32_t code, int64_t parts, uint64_t count)
{
    const double part = count ? (double)parts / (double)count / (double)GCB_BIN_PART : 0.0;
    const double mean = (double)b->mean + b->width * ((double)code + (double)b->low + part);

    if (count == 0)
        return 0.0f;
    return mean > -0x1.fffffep127 ? (float)(mean < 0x1.fffffep127 ? mean : 0x1.fffffep127)
                                  : -0x1.fffffep127f;
}

/* A tensor whose sum of squares is not below this is sent raw: values of bins might overflow. */
#define GCB_BINS_MOST 0x1p252

#endif
