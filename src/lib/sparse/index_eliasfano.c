#include "kernels/index/layout_elem.h"
#include "src/lib/sparse/index.h"
#include "src/lib/wire/bits.h"

/*
 * Elias-Fano: the l low bits of each position as they are, the rest in unary.
 *
 * In a block, positions count from the end of the previous block (in the first block, from 0). A
 * block has: a byte with l; the l low bits of each position; in unary, the growth of position >> l
 * from position to position, as ones and then a zero; zero bits up to a whole byte. l is chosen for
 * the shortest block. So a stream takes at most 2 + ceil(log2(n / kept)) bits per position and 15
 * bits per block.
 */

/* A block with the best l for its own positions is not longer than with the best l for all
 * positions. So the best l for all positions gives a bound. Each block also takes the byte with l
 * and up to 7 bits of padding; the first 4 bytes are the stream's length. */
static uint64_t eliasfano_bound(uint64_t n, uint64_t kept)
{
    const unsigned l = kept ? gcb_eliasfano_low_bits(n, kept) : 0;
    const uint64_t bits = kept ? kept * (l + 1) + (n >> l) : 0;

    return 4 + gcb_directory_bytes(kept) + bits / 8 + 1 + (kept / GCB_TILE + 1) * 2 +
           GCB_BITS_SLACK;
}

static uint8_t *put_block(uint8_t *p, const uint32_t *pos, uint64_t m, uint32_t next,
                          const void *code)
{
    const unsigned l = gcb_eliasfano_low_bits(pos[m - 1] - next, m);
    const uint32_t mask = (UINT32_C(1) << l) - 1;
    struct gcb_bitw w = {.p = p};
    uint32_t high = 0;

    gcb_bitw_put(&w, l, 8);
    for (uint64_t i = 0; i < m; i++)
        gcb_bitw_put(&w, (pos[i] - next) & mask, l);
    for (uint64_t i = 0; i < m; i++) {
        const uint32_t ones = ((pos[i] - next) >> l) - high;

        gcb_bitw_ones(&w, ones);
        gcb_bitw_put(&w, 0, 1);
        high += ones;
    }
    return gcb_bitw_finish(&w);
}

static void eliasfano_encode(struct gcb_wbuf *out, const uint32_t *pos, uint64_t kept, uint64_t n)
{
    gcb_blocks_put(out, eliasfano_bound(n, kept), pos, kept, put_block, NULL);
}

/* Returns a reader of the unary part, which begins after `bits` low bits, maybe within a byte. */
static struct gcb_bitr after_low_bits(const uint8_t *p, const uint8_t *end, uint64_t bits)
{
    struct gcb_bitr r = {.p = p + bits / 8, .end = end};

    gcb_bitr_get(&r, bits % 8);
    return r;
}

static int eliasfano_next(struct gcb_index_cursor *c, uint32_t *pos, size_t m)
{
    struct gcb_bitr low = {.p = NULL}, high;
    const uint64_t base = c->next;
    uint64_t above = 0;
    unsigned l;

    if (gcb_blocks_next(c, &low.p, &low.end) || low.p == low.end)
        return GCB_E_CORRUPT;
    l = *low.p++;
    if (l > 31 || (uint64_t)(low.end - low.p) < (m * l + 7) / 8)
        return GCB_E_CORRUPT;
    high = after_low_bits(low.p, low.end, m * l);
    for (size_t i = 0; i < m; i++) {
        uint64_t at;

        above += gcb_bitr_ones(&high, c->n >> l);
        at = base + (above << l | gcb_bitr_get(&low, l));
        if (high.failed || at < c->next || at >= c->n)
            return GCB_E_CORRUPT;
        pos[i] = (uint32_t)at;
        c->next = at + 1;
    }
    c->done += m;
    return gcb_bitr_is_done(&high) ? 0 : GCB_E_CORRUPT;
}

const struct gcb_index gcb_index_eliasfano = {
    .bound = eliasfano_bound,
    .encode = eliasfano_encode,
    .open = gcb_blocks_open,
    .next = eliasfano_next,
};
