#ifndef KERNELS_INDEX_GAP_ELEM_H
#define KERNELS_INDEX_GAP_ELEM_H

/* Gaps between kept positions as symbols, and the cost of a code for them
 * (src/lib/sparse/gap_codes.h). */
#include "kernels/base/hd.h"

#define GCB_GAP_CODES 8 /* largest number of prefix codes in a stream */
#define GCB_GAP_SUMS 61 /* possible sums of two magnitudes of up to 30 */
/* The first byte of a stream. Below this value, it is the parameter of Golomb's code. Otherwise it
 * is this value minus one, plus the number of prefix codes that the stream brings along. */
#define GCB_GAP_MARK 32

/* The symbol of a gap: `gap` counts the dropped positions between two kept ones, and is below 2^31.
 * If `gap` is below 16, it is its own symbol, and *low becomes 0. Otherwise the symbol is 12 + e
 * with e = floor(log2(gap)), the e low bits of `gap` follow the symbol verbatim, and *low becomes
 * e. */
GCB_HD unsigned gcb_gap_symbol(uint32_t gap, unsigned *low)
{
    *low = gap < 16 ? 0 : gcb_log2_floor(gap);
    return gap < 16 ? gap : 12 + *low;
}

/* The magnitude of the last gap (gcb_gap_update_past), and the sum of the magnitudes of the last
 * two gaps. Both are 0 at the beginning of a block. The sum chooses the code of the next gap. */
struct gcb_gap_past {
    unsigned last, sum;
};

/* Updates the past with a symbol. The magnitude of a symbol s is floor(log2(s + 1)) if s is below
 * 16, otherwise the number of bits that follow the symbol. */
GCB_HD void gcb_gap_update_past(struct gcb_gap_past *past, unsigned symbol)
{
    const unsigned magnitude = symbol < 16 ? gcb_log2_floor(symbol + 1) : symbol - 12;

    past->sum = past->last + magnitude;
    past->last = magnitude;
}

/* log2(v) for v > 0 in units of 2^-16. The error of log2 is below 0.01: between powers of two, 2^e
 * and 2^(e+1), log2(v) is taken as e + f + 0.3437 f (1 - f), where f is the fraction of v / 2^e.
 * 0.3437 is 22527 / 65536. */
GCB_HD uint64_t gcb_gap_log2(uint32_t v)
{
    const unsigned e = gcb_log2_floor(v);
    const uint64_t f = ((uint64_t)v << 16 >> e) & 0xffff;

    return ((uint64_t)e << 16) + f + (f * (65536 - f) >> 16) * 22527 / 65536;
}

/* Sums over the counts of a code's symbols. Counts may be added in any order. The caller zeroes the
 * struct first. */
struct gcb_gap_cost {
    uint64_t present;   /* number of counts above 0 */
    uint64_t sum, most; /* sum and largest of the counts */
    uint64_t inner;     /* sum of count * log2(count), in units of 2^-16 */
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
 * The approximate cost of a code for these counts, in units of 2^-16 bits: the entropy, plus 12
 * bits and 3 bits per symbol for the code lengths. If one symbol makes up more than half of all
 * occurrences, but not all, its entropy is below one bit, but its codeword takes one bit. Then the
 * cost is one bit for each occurrence of any symbol, plus the entropy of the other symbols. At
 * least one count must be above 0.
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
