#include "src/lib/sparse/index.h"

/* The first position is written as it is, each other one as its gap to the position before, minus
 * one: seven bits per byte, low bits first. The top bit of a byte means "more bytes follow". */

/* A gap g takes a byte, and at most g / 128 more bytes. The gaps add up to at most n, so n / 64 + 5
 * more bytes are more than enough. */
static uint64_t varint_bound(uint64_t n, uint64_t kept)
{
    return sizeof(uint32_t) + gcb_directory_bytes(kept) + kept + n / 64 + 5;
}

static uint8_t *put_block(uint8_t *p, const uint32_t *pos, uint64_t m, uint32_t next,
                          const void *code)
{
    for (uint64_t i = 0; i < m; i++) {
        uint32_t gap = pos[i] - next;

        for (; gap >= 128; gap >>= 7)
            *p++ = (uint8_t)(gap | 128);
        *p++ = (uint8_t)gap;
        next = pos[i] + 1;
    }
    return p;
}

static void varint_encode(struct gcb_wbuf *out, const uint32_t *pos, uint64_t kept, uint64_t n)
{
    gcb_blocks_put(out, varint_bound(n, kept), pos, kept, put_block, NULL);
}

static int varint_next(struct gcb_index_cursor *c, uint32_t *pos, size_t n)
{
    const uint8_t *p, *end;
    uint64_t next = c->next;

    if (gcb_blocks_next(c, &p, &end))
        return GCB_E_CORRUPT;
    for (size_t i = 0; i < n; i++) {
        uint64_t gap = 0;
        unsigned shift = 0;

        do {
            if (p == end || shift > 28) /* five bytes hold any 32-bit gap */
                return GCB_E_CORRUPT;
            gap |= (uint64_t)(*p & 127) << shift;
            shift += 7;
        } while (*p++ & 128);
        next += gap;
        if (next >= c->n)
            return GCB_E_CORRUPT;
        pos[i] = (uint32_t)next++;
    }
    c->next = next;
    c->done += n;
    return p == end ? 0 : GCB_E_CORRUPT;
}

const struct gcb_index gcb_index_varint = {
    .bound = varint_bound,
    .encode = varint_encode,
    .open = gcb_blocks_open,
    .next = varint_next,
};
