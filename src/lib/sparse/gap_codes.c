#include "src/lib/sparse/gap_codes.h"

#include <string.h>

#include "src/lib/codec/codec.h" /* GCB_TILE */

/* Counts the gaps by sum and symbol. Sets golomb_bits, and in gap_bits the low bits that follow the
 * symbols. */
static void count_gaps(struct gcb_gap_codes *m, const uint32_t *pos, uint64_t kept, unsigned b)
{
    struct gcb_gap_past past = {0, 0};
    uint32_t next = 0;

    memset(m->count, 0, sizeof(m->count));
    m->golomb_bits = kept * (b + 1);
    m->gap_bits = 0;
    for (uint64_t i = 0; i < kept; i++) {
        const uint32_t gap = pos[i] - next;
        unsigned low, symbol = gcb_gap_symbol(gap, &low);

        if (i % GCB_TILE == 0)
            past = (struct gcb_gap_past){0, 0};
        m->count[past.sum][symbol]++;
        m->golomb_bits += gap >> b;
        m->gap_bits += low;
        gcb_gap_update_past(&past, symbol);
        next = pos[i] + 1;
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

/* Makes a code for each group. Adds the bits of all symbols to gap_bits. */
static void make_codes(struct gcb_gap_codes *m)
{
    m->head_bits = 8 + 6 * (m->groups - 1); /* the first byte, and where the later groups begin */
    for (unsigned g = 0; g < m->groups; g++) {
        const struct gcb_gap_group *group = &m->group[g];

        gcb_prefix_lengths(m->length[g], group->count);
        gcb_prefix_codes(m->code[g], m->bits[g], m->length[g]);
        m->head_bits += gcb_prefix_size(m->length[g]);
        for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
            m->gap_bits += (uint64_t)group->count[s] * m->bits[g][s];
        /* the next group overwrites what belongs to it */
        memset(m->code_for_sum + group->from, (int)g, GCB_GAP_SUMS - group->from);
    }
}

void gcb_gap_codes_make(struct gcb_gap_codes *m, const uint32_t *pos, uint64_t kept, unsigned b)
{
    count_gaps(m, pos, kept, b);
    make_groups(m);
    make_codes(m);
}
