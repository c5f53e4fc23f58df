#include "src/sparse/prefix.h"

#include <string.h>

#include "src/base/status.h"

/* ---- lengths from counts ---- */

struct leaf {
    uint32_t count;
    uint8_t symbol;
};

/* The symbols that occur, rarest first; of equals the lower first. */
static unsigned sort_leaves(struct leaf *leaf, const uint32_t *count)
{
    unsigned n = 0;

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++) {
        unsigned i = n;

        if (!count[s])
            continue;
        for (; i && leaf[i - 1].count > count[s]; i--)
            leaf[i] = leaf[i - 1];
        leaf[i] = (struct leaf){count[s], (uint8_t)s};
        n++;
    }
    return n;
}

/*
 * Huffman's depths of n >= 2 leaves in ascending order; returns the largest. Inner nodes come out in
 * ascending order too, so the two lightest are always at the heads of two queues.
 */
static unsigned tree_depths(uint8_t *depth, const struct leaf *leaf, unsigned n)
{
    uint64_t weight[2 * GCB_PREFIX_SYMBOLS];
    uint8_t parent[2 * GCB_PREFIX_SYMBOLS];
    unsigned light = 0, inner = n;

    for (unsigned i = 0; i < n; i++)
        weight[i] = leaf[i].count;
    for (unsigned top = n; top < 2 * n - 1; top++) {
        weight[top] = 0;
        for (int child = 0; child < 2; child++) {
            const bool take_leaf = light < n && (inner == top || weight[light] <= weight[inner]);
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

void gcb_prefix_lengths(uint8_t *length, const uint32_t *count)
{
    struct leaf leaf[GCB_PREFIX_SYMBOLS];
    uint8_t depth[2 * GCB_PREFIX_SYMBOLS] = {1};
    const unsigned n = sort_leaves(leaf, count);

    /* Flatter counts make a flatter tree; what is lost are fractions of the rarest symbols' bits. */
    while (n > 1 && tree_depths(depth, leaf, n) > GCB_PREFIX_BITS)
        for (unsigned i = 0; i < n; i++)
            leaf[i].count = leaf[i].count / 2 + 1;
    memset(length, 0, GCB_PREFIX_SYMBOLS);
    for (unsigned i = 0; i < n; i++)
        length[leaf[i].symbol] = depth[i];
}

/* ---- codes from lengths ---- */

static bool is_lone(const uint8_t *length)
{
    unsigned present = 0, sum = 0;

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++) {
        present += length[s] != 0;
        sum += length[s];
    }
    return present == 1 && sum == 1;
}

static unsigned reversed(unsigned code, unsigned bits)
{
    unsigned r = 0;

    for (; bits; bits--, code >>= 1)
        r = r << 1 | (code & 1);
    return r;
}

void gcb_prefix_codes(uint16_t *code, uint8_t *bits, const uint8_t *length)
{
    const bool lone = is_lone(length);
    unsigned next = 0;

    memset(bits, 0, GCB_PREFIX_SYMBOLS);
    memset(code, 0, GCB_PREFIX_SYMBOLS * sizeof(*code));
    for (unsigned l = 1; l <= GCB_PREFIX_BITS && !lone; l++, next <<= 1) {
        for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++) {
            if (length[s] != l)
                continue;
            bits[s] = (uint8_t)l;
            code[s] = (uint16_t)reversed(next++, l);
        }
    }
}

static bool is_complete(const uint8_t *length)
{
    unsigned sum = 0;

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++) {
        if (length[s] > GCB_PREFIX_BITS)
            return false;
        sum += length[s] ? GCB_PREFIX_ENTRIES >> length[s] : 0;
    }
    return sum == GCB_PREFIX_ENTRIES || is_lone(length);
}

int gcb_prefix_table(uint16_t *table, const uint8_t *length)
{
    uint16_t code[GCB_PREFIX_SYMBOLS];
    uint8_t bits[GCB_PREFIX_SYMBOLS];

    if (!is_complete(length))
        return GCB_E_CORRUPT;
    gcb_prefix_codes(code, bits, length);
    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        for (unsigned at = code[s]; length[s] && at < GCB_PREFIX_ENTRIES; at += 1u << bits[s])
            table[at] = (uint16_t)(s << 4 | bits[s]);
    return 0;
}

/* ---- lengths on the wire ---- */

enum { SAME, ABSENT, LONGER, SHORTER, GIVEN };
#define FIRST_LENGTH 4

static unsigned step_of(unsigned length, unsigned before)
{
    if (length == 0)
        return ABSENT;
    if (length == before)
        return SAME;
    if (length == before + 1)
        return LONGER;
    return length + 1 == before ? SHORTER : GIVEN;
}

static unsigned last_symbol(const uint8_t *length)
{
    unsigned last = GCB_PREFIX_SYMBOLS - 1;

    while (last && !length[last])
        last--;
    return last;
}

void gcb_prefix_put(struct gcb_bitw *w, const uint8_t *length)
{
    const unsigned last = last_symbol(length);
    unsigned before = FIRST_LENGTH;

    gcb_bitw_put(w, last, 6);
    for (unsigned s = 0; s <= last; s++) {
        const unsigned step = step_of(length[s], before);

        gcb_bitw_put(w, (1u << step) - 1, step + 1);
        if (step == GIVEN)
            gcb_bitw_put(w, length[s], 4);
        before = length[s] ? length[s] : before;
    }
}

unsigned gcb_prefix_size(const uint8_t *length)
{
    const unsigned last = last_symbol(length);
    unsigned before = FIRST_LENGTH, bits = 6;

    for (unsigned s = 0; s <= last; s++) {
        const unsigned step = step_of(length[s], before);

        bits += step + 1 + (step == GIVEN ? 4 : 0);
        before = length[s] ? length[s] : before;
    }
    return bits;
}

static unsigned length_of(struct gcb_bitr *r, unsigned before)
{
    switch (gcb_bitr_ones(r, GIVEN)) {
    case SAME:
        return before;
    case ABSENT:
        return 0;
    case LONGER:
        return before + 1;
    case SHORTER:
        return before - 1;
    default:
        return (unsigned)gcb_bitr_get(r, 4);
    }
}

int gcb_prefix_get(struct gcb_bitr *r, uint8_t *length)
{
    const unsigned last = (unsigned)gcb_bitr_get(r, 6);
    unsigned before = FIRST_LENGTH;

    if (last >= GCB_PREFIX_SYMBOLS)
        return GCB_E_CORRUPT;
    memset(length, 0, GCB_PREFIX_SYMBOLS);
    for (unsigned s = 0; s <= last; s++) {
        const unsigned l = length_of(r, before);

        if (r->failed || l > GCB_PREFIX_BITS)
            return GCB_E_CORRUPT;
        length[s] = (uint8_t)l;
        before = l ? l : before;
    }
    return length[last] ? 0 : GCB_E_CORRUPT;
}
