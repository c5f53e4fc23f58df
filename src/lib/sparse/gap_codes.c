#include "src/lib/sparse/gap_codes.h"

#include <string.h>

/* floor(log2(v)) for v >= 1 below 2^31: the exponent of a float. Compilers vectorise this. Without
 * the second highest bit, v rounds to no higher power of two. */
static unsigned exponent_of(uint32_t v)
{
    const float f = (float)(int32_t)(v & ~(v >> 1));
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return (bits >> 23) - 127;
}

void gcb_gap_block_fill(struct gcb_gap_block *block, const uint32_t *pos, size_t n, uint32_t next)
{
    uint16_t magnitude[GCB_TILE + 2] = {0};

    block->gap[0] = pos[0] - next;
    for (size_t i = 1; i < n; i++)
        block->gap[i] = pos[i] - pos[i - 1] - 1;
    for (size_t i = 0; i < n; i++) {
        const uint32_t gap = block->gap[i], e = exponent_of(gap + (gap < 16));

        block->symbol[i] = (uint16_t)(gap < 16 ? gap : 12 + e);
        magnitude[i + 2] = (uint16_t)e;
    }
    for (size_t i = 0; i < n; i++)
        block->sum[i] = magnitude[i] + magnitude[i + 1];
}

/* Counts the gaps by sum and symbol. Sets golomb_bits. */
static void count_gaps(struct gcb_gap_codes *m, const uint32_t *pos, uint64_t kept, unsigned b)
{
    struct gcb_gap_block block;

    memset(m->count, 0, sizeof(m->count));
    m->golomb_bits = kept * (b + 1);
    for (uint64_t at = 0; at < kept; at += GCB_TILE) {
        const size_t n = gcb_tile_length(kept, at);
        uint32_t quotients = 0; /* the gaps of all blocks are below 2^31 together */

        gcb_gap_block_fill(&block, pos + at, n, at ? pos[at - 1] + 1 : 0);
        for (size_t i = 0; i < n; i++)
            quotients += block.gap[i] >> b;
        for (size_t i = 0; i < n; i++)
            m->count[block.sum[i]][block.symbol[i]]++;
        m->golomb_bits += quotients;
    }
}

/* Cost of one code for the counts a plus the counts b. `b` may be NULL. */
static uint64_t cost_of(const uint32_t *a, const uint32_t *b)
{
    struct gcb_gap_cost t = {0};

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        gcb_gap_cost_add(&t, (uint64_t)a[s] + (b ? b[s] : 0));
    return gcb_gap_cost_of(t);
}

static void update_joined_cost(struct gcb_gap_codes *m, unsigned g)
{
    if (g + 1 < m->groups)
        m->group[g].joined_cost = cost_of(m->group[g].count, m->group[g + 1].count);
}

static void join_with_next(struct gcb_gap_codes *m, unsigned g)
{
    struct gcb_gap_group *a = &m->group[g];

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        a->count[s] += a[1].count[s];
    a->cost = a->joined_cost;
    m->groups--;
    memmove(a + 1, a + 2, (m->groups - g - 1) * sizeof(*a));
    update_joined_cost(m, g);
    if (g)
        update_joined_cost(m, g - 1);
}

/* Finds the group that is cheapest to join with the next group. *loss: growth of the total cost;
 * negative if joining saves bits. */
static unsigned best_to_join(const struct gcb_gap_codes *m, int64_t *loss)
{
    unsigned best = 0;

    *loss = INT64_MAX;
    for (unsigned g = 0; g + 1 < m->groups; g++) {
        const int64_t more =
            (int64_t)(m->group[g].joined_cost - m->group[g].cost - m->group[g + 1].cost);

        if (more < *loss) {
            *loss = more;
            best = g;
        }
    }
    return best;
}

/* Makes a group for each sum that occurs. Then joins neighbouring groups as long as joining saves
 * bits or there are more groups than codes. */
static void make_groups(struct gcb_gap_codes *m)
{
    int64_t loss;

    m->groups = 0;
    for (unsigned sum = 0; sum < GCB_GAP_SUMS; sum++) {
        const uint32_t *c = m->count[sum];
        uint32_t any = 0;

        for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
            any |= c[s];
        if (any)
            m->group[m->groups++] = (struct gcb_gap_group){sum, m->count[sum], cost_of(c, NULL), 0};
    }
    for (unsigned g = 0; g < m->groups; g++)
        update_joined_cost(m, g);
    while (m->groups > 1) {
        const unsigned g = best_to_join(m, &loss);

        if (loss >= 0 && m->groups <= GCB_GAP_CODES)
            break;
        join_with_next(m, g);
    }
}

/* Makes a code for each group. Sets all members of *m that depend on the codes: length, word,
 * for_sum, head_bits and gap_bits. */
static void make_codes(struct gcb_gap_codes *m)
{
    uint16_t code[GCB_PREFIX_SYMBOLS];
    uint8_t bits[GCB_PREFIX_SYMBOLS];

    m->gap_bits = 0;
    m->head_bits = 8 + 6 * (m->groups - 1); /* the first byte, and where the later groups begin */
    for (unsigned g = 0; g < m->groups; g++) {
        const struct gcb_gap_group *group = &m->group[g];

        gcb_prefix_lengths(m->length[g], group->count);
        gcb_prefix_codes(code, bits, m->length[g]);
        m->head_bits += gcb_prefix_size(m->length[g]);
        for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++) {
            const unsigned low = s < 16 ? 0 : s - 12;
            const uint64_t lowest = s < 16 ? s : UINT64_C(1) << low;

            m->word[g][s] = (struct gcb_gap_word){code[s] - (lowest << bits[s]), bits[s],
                                                  (uint8_t)(bits[s] + low)};
            m->gap_bits += (uint64_t)group->count[s] * m->word[g][s].all;
        }
        /* the next group overwrites what belongs to it */
        for (unsigned sum = group->from; sum < GCB_GAP_SUMS; sum++)
            m->for_sum[sum] = m->word[g];
    }
}

void gcb_gap_codes_make(struct gcb_gap_codes *m, const uint32_t *pos, uint64_t kept, unsigned b)
{
    count_gaps(m, pos, kept, b);
    make_groups(m);
    make_codes(m);
}
