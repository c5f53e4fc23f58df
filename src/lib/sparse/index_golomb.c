#include "kernels/index/golomb_elem.h"
#include "src/lib/sparse/index.h"
#include "src/lib/wire/bits.h"

/*
 * Golomb's code with a power of two (Rice), as in SBC (Sattler et al., 2019). A gap d >= 1 becomes
 * (d - 1) >> b ones, a zero, and the b low bits of d - 1. The first gap is counted from -1. The
 * byte before the codes is b.
 */

/* Bits: b + 1 for each gap, at most n >> b for all quotients together, and up to 7 of padding for
 * each block. Five more bytes: the stream's length, and b. */
static uint64_t golomb_bound(uint64_t n, uint64_t kept)
{
    const unsigned b = gcb_golomb_parameter(kept, n);
    const uint64_t bits = kept * (b + 1) + (n >> b) + (kept / GCB_TILE + 1) * 7;

    return 5 + gcb_directory_bytes(kept) + bits / 8 + 1 + GCB_BITS_SLACK;
}

/* Most ones that put_gap writes in one call with the zero and up to 31 low bits: gcb_bitw_put takes
 * at most 56 bits. */
#define MOST_ONES 20

/* Writes the code of a gap d. `less_one` is d - 1. If there are more than MOST_ONES ones, the
 * surplus is written first. */
static void put_gap(struct gcb_bitw *w, uint32_t less_one, unsigned b)
{
    uint32_t ones = less_one >> b;

    if (ones > MOST_ONES) {
        gcb_bitw_ones(w, ones - MOST_ONES);
        ones = MOST_ONES;
    }
    gcb_bitw_put(w, ((1u << ones) - 1) | (uint64_t)(less_one & ((1u << b) - 1)) << (ones + 1),
                 ones + 1 + b);
}

static uint8_t *put_block(uint8_t *p, const uint32_t *pos, uint64_t m, uint32_t next,
                          const void *code)
{
    const unsigned b = *(const unsigned *)code;
    struct gcb_bitw w = {.p = p};

    if (next == 0) /* the first block */
        gcb_bitw_put(&w, b, 8);
    for (uint64_t i = 0; i < m; i++) {
        put_gap(&w, pos[i] - next, b);
        next = pos[i] + 1;
    }
    return gcb_bitw_finish(&w);
}

static void golomb_encode(struct gcb_wbuf *out, const uint32_t *pos, uint64_t kept, uint64_t n)
{
    const unsigned b = gcb_golomb_parameter(kept, n);

    gcb_blocks_put(out, golomb_bound(n, kept), pos, kept, put_block, &b);
}

static int golomb_open(struct gcb_index_cursor *c, struct gcb_rbuf *in)
{
    if (gcb_blocks_open(c, in) || c->body == c->end)
        return GCB_E_CORRUPT;
    c->param = *c->body;
    return c->param < 32 ? 0 : GCB_E_CORRUPT; /* `param` shifts positions of 32 bits */
}

static int golomb_next(struct gcb_index_cursor *c, uint32_t *pos, size_t n)
{
    struct gcb_bitr r = {.p = NULL};
    uint64_t next = c->next;

    if (gcb_blocks_next(c, &r.p, &r.end))
        return GCB_E_CORRUPT;
    if (c->done == 0)
        r.p++; /* skips the parameter's byte */
    for (size_t i = 0; i < n; i++) {
        const uint64_t quotient = gcb_bitr_ones(&r, c->n >> c->param);

        next += quotient << c->param | gcb_bitr_get(&r, c->param);
        if (r.failed || next >= c->n)
            return GCB_E_CORRUPT;
        pos[i] = (uint32_t)next++;
    }
    c->next = next;
    c->done += n;
    return gcb_bitr_is_done(&r) ? 0 : GCB_E_CORRUPT;
}

const struct gcb_index gcb_index_golomb = {
    .bound = golomb_bound,
    .encode = golomb_encode,
    .open = golomb_open,
    .next = golomb_next,
};
