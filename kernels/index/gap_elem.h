#ifndef KERNELS_INDEX_GAP_ELEM_H
#define KERNELS_INDEX_GAP_ELEM_H

/* Gaps between kept positions as symbols, and what a code for them costs (src/lib/sparse/gap_codes.h). */
#include "kernels/base/hd.h"

#define GCB_GAP_CODES 8
#define GCB_GAP_SUMS 61 /* sums of two magnitudes of up to 30 */
/* A stream's first byte: from here on the number of its own codes, less one; below, Golomb's parameter. */
#define GCB_GAP_MARK 32

/* v is not 0. */
GCB_HD unsigned gcb_log2_floor(uint32_t v)
{
#ifdef __CUDA_ARCH__
    return 31 - (unsigned)__clz((int)v);
#else
    return 31 - (unsigned)__builtin_clz(v);
#endif
}

/* The symbol of a gap (less one) below 2^31: itself below 16, else 12 + e with e = floor(log2(gap)), whose e
 * low bits follow as they are. */
GCB_HD unsigned gcb_gap_symbol(uint32_t gap, unsigned *low)
{
    *low = gap < 16 ? 0 : gcb_log2_floor(gap);
    return gap < 16 ? gap : 12 + *low;
}

/* Sum of the magnitudes of the last two gaps of a block; zeros where it begins. */
struct gcb_gap_past {
    unsigned last, sum;
};

/* The magnitude of a symbol s: floor(log2(s + 1)) below 16, else the bits that follow it. */
GCB_HD void gcb_gap_saw(struct gcb_gap_past *past, unsigned symbol)
{
    const unsigned magnitude = symbol < 16 ? gcb_log2_floor(symbol + 1) : symbol - 12;

    past->sum = past->last + magnitude;
    past->last = magnitude;
}

/* log2(v) in 2^-16, to 0.01: between powers of two a parabola. */
GCB_HD uint64_t gcb_gap_log2(uint32_t v)
{
    const unsigned e = gcb_log2_floor(v);
    const uint64_t f = ((uint64_t)v << 16 >> e) & 0xffff;

    return ((uint64_t)e << 16) + f + (f * (65536 - f) >> 16) * 22527 / 65536;
}

/* Sums over the symbols of a code, and the largest count; in any order, all zero before. */
struct gcb_gap_cost {
    uint64_t present, sum, inner, most;
};

GCB_HD void gcb_gap_cost_add(struct gcb_gap_cost *t, uint64_t count)
{
    if (!count)
        return;
    t->present++;
    t->sum += count;
    t->inner += count * gcb_gap_log2((uint32_t)count);
    t->most = count > t->most ? count : t->most;
}

/*
 * About what a code for these counts sends, in 2^-16 bits: the entropy - of a symbol above half of all, which takes
 * a bit whatever its share, that bit and the entropy of the rest - and the code's own lengths.
 */
GCB_HD uint64_t gcb_gap_cost_of(struct gcb_gap_cost t)
{
    uint64_t bits = 0, outer;

    if (2 * t.most > t.sum && t.most < t.sum) {
        bits = t.sum << 16;
        t.inner -= t.most * gcb_gap_log2((uint32_t)t.most);
        t.sum -= t.most;
    }
    outer = t.sum * gcb_gap_log2((uint32_t)t.sum);
    return bits + (outer > t.inner ? outer - t.inner : 0) + ((12 + 3 * t.present) << 16);
}

#endif
