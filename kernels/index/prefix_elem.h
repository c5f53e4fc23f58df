#ifndef KERNELS_INDEX_PREFIX_ELEM_H
#define KERNELS_INDEX_PREFIX_ELEM_H

/*
 * Prefix codes that are made for a message. Each is a canonical code: the lengths of the codewords
 * define the code, because codewords are numbered in order of length, then of symbol. They are
 * written with the most significant bit first. All arithmetic is on integers, so every machine
 * makes the same code.
 *
 * If only one symbol occurs, its length is given as 1, but its codeword has no bits.
 */
#include "kernels/base/hd.h"

#define GCB_PREFIX_SYMBOLS 43 /* as many as gcb_gap_symbol can return */
#define GCB_PREFIX_BITS 10    /* length of the longest codeword */
#define GCB_PREFIX_ENTRIES (1u << GCB_PREFIX_BITS)

/* ---- lengths from counts ---- */

/* A leaf of the code tree: a symbol that occurs. */
struct gcb_prefix_leaf {
    uint32_t count;
    uint8_t symbol;
};

/* Lists the symbols that occur, the rarest first; among equal counts, the lowest symbol first.
 * `leaf` has room for GCB_PREFIX_SYMBOLS. Returns the number of symbols that occur. */
GCB_HD unsigned gcb_prefix_sort(struct gcb_prefix_leaf *leaf, const uint32_t *count)
{
    unsigned n = 0;

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++) {
        unsigned i = n;

        if (!count[s])
            continue;
        for (; i && leaf[i - 1].count > count[s]; i--)
            leaf[i] = leaf[i - 1];
        leaf[i].count = count[s];
        leaf[i].symbol = (uint8_t)s;
        n++;
    }
    return n;
}

/*
 * Sets depth[i] to the depth of leaf i in Huffman's tree, for n >= 2 leaves in ascending order of
 * count. Returns the largest depth. `depth` has room for 2 n nodes. Inner nodes are made in
 * ascending order of weight. So leaves and inner nodes are two sorted queues, and the lightest node
 * is at the head of one of them.
 */
GCB_HD unsigned gcb_prefix_depths(uint8_t *depth, const struct gcb_prefix_leaf *leaf, unsigned n)
{
    uint64_t weight[2 * GCB_PREFIX_SYMBOLS];
    uint8_t parent[2 * GCB_PREFIX_SYMBOLS];
    unsigned light = 0, inner = n;

    for (unsigned i = 0; i < n; i++)
        weight[i] = leaf[i].count;
    for (unsigned top = n; top < 2 * n - 1; top++) {
        weight[top] = 0;
        for (int child = 0; child < 2; child++) {
            const int take_leaf = light < n && (inner == top || weight[light] <= weight[inner]);
            const unsigned node = take_leaf ? light++ : inner++;

            weight[top] += weight[node];
            parent[node] = (uint8_t)top;
        }
    }
    depth[2 * n - 2] = 0;
    for (unsigned i = 2 * n - 2; i-- > 0;)
        depth[i] = (uint8_t)(depth[parent[i]] + 1);
    return depth[0];
}

/* Sets the lengths of Huffman's code for these counts or, if a length would be above
 * GCB_PREFIX_BITS, of a code that costs little more. A symbol that does not occur gets length 0. At
 * least one count is above 0. */
GCB_HD void gcb_prefix_lengths(uint8_t *length, const uint32_t *count)
{
    struct gcb_prefix_leaf leaf[GCB_PREFIX_SYMBOLS];
    uint8_t depth[2 * GCB_PREFIX_SYMBOLS] = {1};
    const unsigned n = gcb_prefix_sort(leaf, count);

    /* If a codeword is too long, flatter counts make a flatter tree. The message grows little,
     * because symbols with such long codewords are rare. */
    while (n > 1 && gcb_prefix_depths(depth, leaf, n) > GCB_PREFIX_BITS)
        for (unsigned i = 0; i < n; i++)
            leaf[i].count = leaf[i].count / 2 + 1;
    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        length[s] = 0;
    for (unsigned i = 0; i < n; i++)
        length[leaf[i].symbol] = depth[i];
}

/* ---- codes from lengths ---- */

/* True if only one symbol occurs, and its length is 1. */
GCB_HD int gcb_prefix_is_lone(const uint8_t *length)
{
    unsigned present = 0, sum = 0;

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++) {
        present += length[s] != 0;
        sum += length[s];
    }
    return present == 1 && sum == 1;
}

/* True if every stream of bits begins with exactly one codeword of at most GCB_PREFIX_BITS bits, or
 * if only one symbol occurs, and its length is 1. */
GCB_HD int gcb_prefix_is_complete(const uint8_t *length)
{
    unsigned sum = 0;

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++) {
        if (length[s] > GCB_PREFIX_BITS)
            return 0;
        sum += length[s] ? GCB_PREFIX_ENTRIES >> length[s] : 0;
    }
    return sum == GCB_PREFIX_ENTRIES || gcb_prefix_is_lone(length);
}

/* The `bits` low bits of `code` in reverse order. */
GCB_HD unsigned gcb_prefix_reversed(unsigned code, unsigned bits)
{
    unsigned r = 0;

    for (; bits; bits--, code >>= 1)
        r = r << 1 | (code & 1);
    return r;
}

/* Computes the codewords, with their first bit lowest, and their lengths in bits: bits[s] is
 * length[s], but 0 for a lone symbol. */
GCB_HD void gcb_prefix_codes(uint16_t *code, uint8_t *bits, const uint8_t *length)
{
    const int lone = gcb_prefix_is_lone(length);
    unsigned next = 0;

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++) {
        bits[s] = 0;
        code[s] = 0;
    }
    for (unsigned l = 1; l <= GCB_PREFIX_BITS && !lone; l++, next <<= 1) {
        for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++) {
            if (length[s] != l)
                continue;
            bits[s] = (uint8_t)l;
            code[s] = (uint16_t)gcb_prefix_reversed(next++, l);
        }
    }
}

/* ---- lengths in a message (src/lib/sparse/prefix.h) ---- */

#define GCB_PREFIX_FIRST 4       /* assumed length before the first symbol */
#define GCB_PREFIX_LAST_BITS 6   /* bits of the number of the last symbol that occurs */
#define GCB_PREFIX_LENGTH_BITS 4 /* bits of a length after GCB_PREFIX_GIVEN */

/* How the length of a symbol follows from the length of the last symbol before it that occurs.
 * GCB_PREFIX_ABSENT: the symbol does not occur; GCB_PREFIX_GIVEN: its length follows the step. A
 * step is written in unary. */
enum gcb_prefix_step {
    GCB_PREFIX_SAME,
    GCB_PREFIX_ABSENT,
    GCB_PREFIX_LONGER,
    GCB_PREFIX_SHORTER,
    GCB_PREFIX_GIVEN,
};

/* The step to `length`. `before` is the length of the last symbol that occurs before this one. */
GCB_HD enum gcb_prefix_step gcb_prefix_step_of(unsigned length, unsigned before)
{
    if (length == 0)
        return GCB_PREFIX_ABSENT;
    if (length == before)
        return GCB_PREFIX_SAME;
    if (length == before + 1)
        return GCB_PREFIX_LONGER;
    return length + 1 == before ? GCB_PREFIX_SHORTER : GCB_PREFIX_GIVEN;
}

/* The inverse of gcb_prefix_step_of. `given` is the result if the step is GCB_PREFIX_GIVEN. */
GCB_HD unsigned gcb_prefix_length_of(unsigned step, unsigned before, unsigned given)
{
    switch (step) {
    case GCB_PREFIX_SAME:
        return before;
    case GCB_PREFIX_ABSENT:
        return 0;
    case GCB_PREFIX_LONGER:
        return before + 1;
    case GCB_PREFIX_SHORTER:
        return before - 1;
    default:
        return given;
    }
}

/* The last symbol that occurs; 0 if none does. */
GCB_HD unsigned gcb_prefix_last(const uint8_t *length)
{
    unsigned last = GCB_PREFIX_SYMBOLS - 1;

    while (last && !length[last])
        last--;
    return last;
}

/* The number of bits that the lengths take in a message. */
GCB_HD unsigned gcb_prefix_size(const uint8_t *length)
{
    const unsigned last = gcb_prefix_last(length);
    unsigned before = GCB_PREFIX_FIRST, bits = GCB_PREFIX_LAST_BITS;

    for (unsigned s = 0; s <= last; s++) {
        const unsigned step = gcb_prefix_step_of(length[s], before);

        bits += step + 1 + (step == GCB_PREFIX_GIVEN ? GCB_PREFIX_LENGTH_BITS : 0);
        before = length[s] ? length[s] : before;
    }
    return bits;
}

#endif
