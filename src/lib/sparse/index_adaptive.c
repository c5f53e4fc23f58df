#include <string.h>

#include "kernels/index/golomb_elem.h"
#include "src/lib/sparse/gap_codes.h"
#include "src/lib/sparse/index.h"

/*
 * Gaps in prefix codes that are made for the message. src/lib/sparse/gap_codes.h defines the
 * symbols, their sums, and which code writes which symbol.
 *
 * Stream: a byte, the codes, the blocks. Unless that is certainly shorter than Golomb's stream, the
 * segment has Golomb's stream instead, whose first byte is below 32 (index_golomb.c). Otherwise the
 * byte is 31 + the number of codes. Each code is for an interval of sums. For each code except the
 * first, 6 bits give the lowest sum. Then come the lengths of all codes (src/lib/sparse/prefix.h)
 * and zero bits up to a whole byte. At the beginning of a block the sum is 0.
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
    struct gcb_bitw w = {.p = p};
    struct gcb_gap_block block;
    uint64_t held = 0; /* bits that wait for more, so that several codes are written at once */
    unsigned holds = 0;

    if (next == 0) /* the first block */
        put_codes(&w, m);
    gcb_gap_block_fill(&block, pos, n, next);
    for (uint64_t i = 0; i < n; i++) {
        const struct gcb_gap_word word = m->for_sum[block.sum[i]][block.symbol[i]];

        if (holds + word.all > 56) {
            gcb_bitw_put(&w, held, holds);
            held = holds = 0;
        }
        held |= (((uint64_t)block.gap[i] << word.bits) + word.add) << holds;
        holds += word.all;
    }
    gcb_bitw_put(&w, held, holds);
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

/*
 * The codes and, if they stay between calls, a block that was read ahead: two blocks that are read
 * at the same time take little longer than one. An entry has, from its lowest bit on:
 *   6 bits  number of bits of a code and of the low bits that follow it
 *   5 bits  the symbol's magnitude m
 *   4 bits  the lowest gap of the symbol, less 2^m - 1
 *   1 bit   1 if m low bits follow the code
 */
struct tables {
    uint16_t entry[GCB_GAP_CODES][GCB_PREFIX_ENTRIES];
    const uint16_t *for_sum[GCB_GAP_SUMS]; /* the row for each sum */
    /* c->done at the block in `ahead` (0: no block was read ahead), and c->next after the block */
    uint64_t ahead_at, ahead_next;
    uint32_t ahead[GCB_TILE];
};

static uint16_t entry_of(unsigned symbol)
{
    struct gcb_gap_past past = {0, 0};

    gcb_gap_update_past(&past, symbol);
    if (symbol < 16)
        return (uint16_t)(past.last << 6 | (symbol + 1 - (1u << past.last)) << 11);
    return (uint16_t)(past.last | past.last << 6 | 1u << 11 | 1u << 15);
}

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
    uint16_t value[GCB_PREFIX_SYMBOLS];
    unsigned from = 0;

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        value[s] = entry_of(s);
    t->ahead_at = 0;
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
        if (gcb_prefix_get(r, length) || gcb_prefix_table(t->entry[g], length, value))
            return GCB_E_CORRUPT;
    return gcb_bitr_get(r, r->fill % 8) || r->failed ? GCB_E_CORRUPT : 0;
}

/* A block that is being read. */
struct block {
    struct gcb_bitr r;
    const uint16_t *row; /* the table of the next code */
    unsigned last;       /* magnitude of the last gap */
    uint64_t next;
};

static inline uint32_t get_position(const struct tables *t, struct block *b)
{
    unsigned entry, magnitude, low;

    gcb_bitr_refill(&b->r); /* one refill is enough: a code and its low bits have at most 40 bits */
    entry = b->row[b->r.acc % GCB_PREFIX_ENTRIES];
    magnitude = entry >> 6 & 31;
    low = magnitude & -(entry >> 15);
    b->next += (1u << magnitude) - 1 + (entry >> 11 & 15) +
               (b->r.acc >> ((entry & 63) - low) & ((1u << low) - 1));
    gcb_bitr_skip(&b->r, entry & 63);
    b->row = t->for_sum[b->last + magnitude];
    b->last = magnitude;
    return (uint32_t)b->next++;
}

/* Reads the n positions of block b, and the m <= n positions of the next block, `also`, to `ahead`.
 * m = 0: the next block is not read. Positions ascend, so it is enough that the caller checks the
 * last one. */
static void get_positions(const struct tables *t, struct block *b, uint32_t *pos, size_t n,
                          struct block *also, uint32_t *ahead, size_t m)
{
    struct block x = *b, y = *also;
    size_t i = 0;

    for (; i < m; i++) {
        pos[i] = get_position(t, &x);
        ahead[i] = get_position(t, &y);
    }
    for (; i < n; i++)
        pos[i] = get_position(t, &x);
    *b = x;
    *also = y;
}

/* Prepares to read the block that begins with position number c->done. The bytes of the first block
 * still begin with the codes, which the caller skips. Returns 0 or GCB_E_CORRUPT. */
static int open_block(struct block *b, const struct tables *t, const struct gcb_index_cursor *c)
{
    *b = (struct block){.row = t->for_sum[0], .next = c->next};
    return gcb_blocks_next(c, &b->r.p, &b->r.end);
}

/* Returns the lowest position that may follow a block that was read, or n + 1 if it is damaged. */
static uint64_t close_block(const struct block *b, uint64_t n)
{
    return gcb_bitr_is_done(&b->r) && b->next <= n ? b->next : n + 1;
}

/* Takes the block that was read ahead, if there is one. Otherwise reads the block and, if the
 * tables stay between calls, the next one too. Without c->tables, each call reads the codes
 * again. */
static int adaptive_next(struct gcb_index_cursor *c, uint32_t *pos, size_t n)
{
    struct gcb_bitr head = {.p = c->body + 1, .end = c->end};
    struct tables own, *t = c->tables ? c->tables : &own;
    struct gcb_index_cursor after = *c;
    struct block b, also = {.row = NULL};
    size_t m = 0;

    if (c->param < GCB_GAP_MARK)
        return gcb_index_golomb.next(c, pos, n);
    if ((c->done == 0 || t == &own) && get_tables(t, &head, c->param - GCB_GAP_MARK + 1))
        return GCB_E_CORRUPT;
    if (open_block(&b, t, c))
        return GCB_E_CORRUPT;
    if (c->done == 0) /* `head` may have loaded bytes of the block after the codes */
        b.r.p = head.p - head.fill / 8;
    if (b.r.p > b.r.end)
        return GCB_E_CORRUPT;
    after.done += n;
    if (c->done && t->ahead_at == c->done && t != &own) {
        memcpy(pos, t->ahead, n * sizeof(*pos));
        c->next = t->ahead_next;
    } else {
        if (t != &own && after.done < c->kept) {
            after.next = gcb_block_first(c, after.done);
            m = gcb_tile_length(c->kept, after.done);
            if (open_block(&also, t, &after))
                return GCB_E_CORRUPT;
        }
        get_positions(t, &b, pos, n, &also, t->ahead, m);
        c->next = close_block(&b, c->n);
        t->ahead_next = close_block(&also, c->n);
        t->ahead_at = after.done;
    }
    c->done += n;
    return c->next <= c->n ? 0 : GCB_E_CORRUPT;
}

const struct gcb_index gcb_index_adaptive = {
    .table_bytes = sizeof(struct tables),
    .bound = adaptive_bound,
    .encode = adaptive_encode,
    .open = adaptive_open,
    .next = adaptive_next,
};
