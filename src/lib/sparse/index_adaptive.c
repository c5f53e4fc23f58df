#include "kernels/index/golomb_elem.h"
#include "src/lib/sparse/gap_codes.h"
#include "src/lib/sparse/index.h"

/*
 * Gaps in prefix codes that are made for the message. src/lib/sparse/gap_codes.h defines the
 * symbols, their sums, and which code writes which symbol.
 *
 * Stream: a byte, the codes, the blocks. If Golomb's stream is not longer, the byte is Golomb's
 * parameter (below 32), and Golomb's stream follows instead. Otherwise the byte is 31 + the number
 * of codes. Each code is for an interval of sums. For each code except the first, 6 bits give the
 * lowest sum. Then come the lengths of all codes (src/lib/sparse/prefix.h) and zero bits up to a
 * whole byte. At the beginning of a block the sum is 0.
 */

/* ---- encoding ---- */

static uint64_t adaptive_bound(uint64_t n, uint64_t kept)
{
    return gcb_index_golomb.bound(n, kept);
}

static void put_codes(struct gcb_bitw *w, const struct gcb_gap_codes *m)
{
    gcb_bitw_put(w, GCB_GAP_MARK + m->groups - 1, 8);
    for (unsigned g = 1; g < m->groups; g++)
        gcb_bitw_put(w, m->group[g].from, 6);
    for (unsigned g = 0; g < m->groups; g++)
        gcb_prefix_put(w, m->length[g]);
    gcb_bitw_finish(w);
}

static uint8_t *put_block(uint8_t *p, const uint32_t *pos, uint64_t n, uint32_t next,
                          const void *codes)
{
    const struct gcb_gap_codes *m = codes;
    struct gcb_gap_past past = {0, 0};
    struct gcb_bitw w = {.p = p};

    if (next == 0) /* the first block */
        put_codes(&w, m);
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t gap = pos[i] - next;
        const unsigned code = m->code_for_sum[past.sum];
        unsigned low, symbol = gcb_gap_symbol(gap, &low), bits = m->bits[code][symbol];
        const uint64_t low_bits = gap & ((UINT32_C(1) << low) - 1);

        gcb_bitw_put(&w, m->code[code][symbol] | low_bits << bits, bits + low);
        gcb_gap_update_past(&past, symbol);
        next = pos[i] + 1;
    }
    return gcb_bitw_finish(&w);
}

static void adaptive_encode(struct gcb_wbuf *out, const uint32_t *pos, uint64_t kept, uint64_t n)
{
    const uint64_t blocks = (kept + GCB_TILE - 1) / GCB_TILE;
    struct gcb_gap_codes m;

    gcb_gap_codes_make(&m, pos, kept, gcb_golomb_parameter(kept, n));
    /* The left side assumes the most padding, the right side the least. So the stream is never
     * longer than Golomb's. */
    if (m.head_bits / 8 + 1 + (m.gap_bits + 7 * blocks) / 8 < 1 + m.golomb_bits / 8)
        gcb_blocks_put(out, gcb_index_golomb.bound(n, kept), pos, kept, put_block, &m);
    else
        gcb_index_golomb.encode(out, pos, kept, n);
}

/* ---- decoding ---- */

struct tables {
    uint16_t entry[GCB_GAP_CODES][GCB_PREFIX_ENTRIES]; /* each row as gcb_prefix_table fills it */
    const uint16_t *for_sum[GCB_GAP_SUMS];             /* the row for each sum */
};

static int adaptive_open(struct gcb_index_cursor *c, struct gcb_rbuf *in)
{
    if (gcb_blocks_open(c, in) || c->body == c->end)
        return GCB_E_CORRUPT;
    c->param = *c->body;
    return c->param < GCB_GAP_MARK + GCB_GAP_CODES ? 0 : GCB_E_CORRUPT;
}

/* Reads `codes` codes. Afterwards *r is at the byte after them. Returns 0 or GCB_E_CORRUPT. */
static int get_tables(struct tables *t, struct gcb_bitr *r, unsigned codes)
{
    uint8_t length[GCB_PREFIX_SYMBOLS];
    unsigned from = 0;

    for (unsigned sum = 0; sum < GCB_GAP_SUMS; sum++)
        t->for_sum[sum] = t->entry[0];
    for (unsigned g = 1; g < codes; g++) {
        const unsigned start = (unsigned)gcb_bitr_get(r, 6);

        if (start <= from || start >= GCB_GAP_SUMS)
            return GCB_E_CORRUPT;
        for (unsigned sum = start; sum < GCB_GAP_SUMS; sum++)
            t->for_sum[sum] = t->entry[g];
        from = start;
    }
    for (unsigned g = 0; g < codes; g++)
        if (gcb_prefix_get(r, length) || gcb_prefix_table(t->entry[g], length))
            return GCB_E_CORRUPT;
    return gcb_bitr_get(r, r->fill % 8) || r->failed ? GCB_E_CORRUPT : 0;
}

/* The address of the first block, after the codes. The reader may have loaded bytes of the block in
 * advance. */
static const uint8_t *after_tables(const struct gcb_bitr *r)
{
    return r->p - r->fill / 8;
}

/* Reads the `count` positions of a block; positions are below n. Returns the last position plus 1,
 * or n + 1 if the block is damaged. */
static uint64_t get_gaps(const struct tables *t, struct gcb_bitr *r, uint32_t *pos, size_t count,
                         uint64_t next, uint64_t n)
{
    struct gcb_gap_past past = {0, 0};

    for (size_t i = 0; i < count; i++) {
        unsigned entry, symbol;
        uint32_t gap;

        gcb_bitr_refill(r); /* one refill is enough: a code and its low bits have at most 40 bits */
        entry = t->for_sum[past.sum][r->acc % GCB_PREFIX_ENTRIES];
        symbol = entry >> 4;
        gcb_bitr_skip(r, entry & 15);
        gap = symbol; /* the inverse of gcb_gap_symbol */
        if (symbol >= 16)
            gap = UINT32_C(1) << (symbol - 12) | (uint32_t)gcb_bitr_get(r, symbol - 12);
        next += gap;
        if (r->failed || next >= n)
            return n + 1;
        pos[i] = (uint32_t)next++;
        gcb_gap_update_past(&past, symbol);
    }
    return next;
}

/* Each call reads the codes again, because a cursor does not keep their tables. */
static int adaptive_next(struct gcb_index_cursor *c, uint32_t *pos, size_t n)
{
    struct gcb_bitr head = {.p = c->body + 1, .end = c->end}, r = {.p = NULL};
    struct tables own, *t = c->tables ? c->tables : &own;

    if (c->param < GCB_GAP_MARK)
        return gcb_index_golomb.next(c, pos, n);
    if (gcb_blocks_next(c, &r.p, &r.end))
        return GCB_E_CORRUPT;
    if ((c->done == 0 || t == &own) && get_tables(t, &head, c->param - GCB_GAP_MARK + 1))
        return GCB_E_CORRUPT;
    if (c->done == 0)
        r.p = after_tables(&head);
    if (r.p > r.end)
        return GCB_E_CORRUPT;
    c->next = get_gaps(t, &r, pos, n, c->next, c->n);
    c->done += n;
    return c->next <= c->n && gcb_bitr_is_done(&r) ? 0 : GCB_E_CORRUPT;
}

const struct gcb_index gcb_index_adaptive = {
    .table_bytes = sizeof(struct tables),
    .bound = adaptive_bound,
    .encode = adaptive_encode,
    .open = adaptive_open,
    .next = adaptive_next,
};
