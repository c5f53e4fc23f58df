#include "kernels/index/layout_elem.h"
#include "src/lib/sparse/index.h"
#include "src/lib/wire/bits.h"

/*
 * Block-local positions, as systems that sparsify language models send them. The segment is cut
 * into blocks of 2^width positions. A position takes `width` bits within its block. The width is 12
 * or 16, whichever gives the shorter stream (12 if equal).
 *
 * Stream: the width (1 byte); the number of kept positions in each block, in 16 bits for width 12
 * and in 32 bits for width 16, because 65536 does not fit 16 bits; all local positions; zero bits
 * up to a whole byte. The numbers tell where the positions of a block are, so no directory is
 * needed.
 */

static uint64_t block_bound(uint64_t n, uint64_t kept)
{
    return gcb_block_bytes(n, kept, gcb_block_width(n, kept)) + GCB_BITS_SLACK;
}

static void put_count(uint8_t *counts, uint64_t b, unsigned width, uint64_t count)
{
    if (width == 16) {
        gcb_store_u32(counts + 4 * b, (uint32_t)count);
        return;
    }
    counts[2 * b] = (uint8_t)count;
    counts[2 * b + 1] = (uint8_t)(count >> 8);
}

static uint64_t get_count(const uint8_t *counts, uint64_t b, unsigned width)
{
    if (width == 16)
        return gcb_load_u32(counts + 4 * b);
    return counts[2 * b] | (uint64_t)counts[2 * b + 1] << 8;
}

static void block_encode(struct gcb_wbuf *out, const uint32_t *pos, uint64_t kept, uint64_t n)
{
    const unsigned width = gcb_block_width(n, kept);
    const uint64_t blocks = (n + (UINT64_C(1) << width) - 1) >> width;
    uint8_t *head = gcb_wbuf_take(out, block_bound(n, kept));
    struct gcb_bitw w;
    uint64_t i = 0;

    if (!head)
        return;
    *head = (uint8_t)width;
    w = (struct gcb_bitw){.p = head + gcb_block_bytes(n, 0, width)};
    for (uint64_t b = 0; b < blocks; b++) {
        const uint64_t first = i;

        for (; i < kept && pos[i] >> width == b; i++)
            gcb_bitw_put(&w, pos[i] & ((1u << width) - 1), width);
        put_count(head + 1, b, width, i - first);
    }
    gcb_bitw_finish(&w);
    out->len -= GCB_BITS_SLACK;
}

static int block_open(struct gcb_index_cursor *c, struct gcb_rbuf *in)
{
    uint64_t local;

    c->param = gcb_get_u8(in);
    if (c->param != 12 && c->param != 16)
        return GCB_E_CORRUPT;
    local = (c->kept * c->param + 7) / 8;
    c->directory = gcb_rbuf_take(in, gcb_block_bytes(c->n, 0, c->param) - 1);
    c->body = gcb_rbuf_take(in, local);
    if (!c->body || !c->directory)
        return GCB_E_CORRUPT;
    c->end = c->body + local;
    c->block = 0;
    c->block_left = c->n ? get_count(c->directory, 0, c->param) : 0;
    return 0;
}

/* Goes to the next block that has positions, unless the current block has some left. Returns false
 * if there is none. */
static bool next_block(struct gcb_index_cursor *c)
{
    while (c->block_left == 0) {
        if ((c->block + 1) << c->param >= c->n)
            return false;
        c->block_left = get_count(c->directory, ++c->block, c->param);
    }
    return true;
}

static int block_next(struct gcb_index_cursor *c, uint32_t *pos, size_t m)
{
    /* GCB_TILE positions of 12 or 16 bits fill whole bytes */
    struct gcb_bitr r = {.p = c->body + c->done * c->param / 8, .end = c->end};

    for (size_t i = 0; i < m; i++) {
        uint64_t at;

        if (!next_block(c))
            return GCB_E_CORRUPT;
        at = c->block << c->param | gcb_bitr_get(&r, c->param);
        if (at < c->next || at >= c->n)
            return GCB_E_CORRUPT;
        pos[i] = (uint32_t)at;
        c->next = at + 1;
        c->block_left--;
    }
    c->done += m;
    if (c->done < c->kept)
        return 0;
    return next_block(c) || !gcb_bitr_is_done(&r) ? GCB_E_CORRUPT : 0;
}

const struct gcb_index gcb_index_block = {
    .bound = block_bound,
    .encode = block_encode,
    .open = block_open,
    .next = block_next,
};
