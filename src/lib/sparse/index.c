#include "src/lib/sparse/index.h"

#define DIRECTORY_ENTRY 8 /* bytes */

uint64_t gcb_directory_bytes(uint64_t kept)
{
    return kept ? (kept - 1) / GCB_TILE * DIRECTORY_ENTRY : 0;
}

void gcb_blocks_put(struct gcb_wbuf *out, uint64_t bound, const uint32_t *pos, uint64_t kept,
                    gcb_put_block_fn *put, const void *code)
{
    uint8_t *head = gcb_wbuf_take(out, bound), *entry, *body, *p;

    if (!head)
        return;
    entry = head + sizeof(uint32_t);
    p = body = entry + gcb_directory_bytes(kept);
    for (uint64_t i = 0; i < kept; i += GCB_TILE) {
        const uint64_t m = gcb_tile_length(kept, i);

        if (i) {
            gcb_store_u32(entry, pos[i - 1]);
            gcb_store_u32(entry + 4, (uint32_t)(p - body));
            entry += DIRECTORY_ENTRY;
        }
        p = put(p, pos + i, m, i ? pos[i - 1] + 1 : 0, code);
    }
    gcb_store_u32(head, (uint32_t)(p - body));
    out->len -= bound - (uint64_t)(p - head); /* gives back what was not needed */
}

int gcb_blocks_open(struct gcb_index_cursor *c, struct gcb_rbuf *in)
{
    const uint32_t length = gcb_get_u32(in);

    c->directory = gcb_rbuf_take(in, gcb_directory_bytes(c->kept));
    c->body = gcb_rbuf_take(in, length);
    c->end = c->body ? c->body + length : NULL;
    return c->body ? 0 : GCB_E_CORRUPT;
}

/* Byte offset of block b in the stream. */
static uint64_t block_offset(const struct gcb_index_cursor *c, uint64_t b)
{
    return b ? gcb_load_u32(c->directory + (b - 1) * DIRECTORY_ENTRY + 4) : 0;
}

uint64_t gcb_block_first(const struct gcb_index_cursor *c, uint64_t done)
{
    return gcb_load_u32(c->directory + (done / GCB_TILE - 1) * DIRECTORY_ENTRY) + UINT64_C(1);
}

int gcb_blocks_next(const struct gcb_index_cursor *c, const uint8_t **p, const uint8_t **end)
{
    const uint64_t b = c->done / GCB_TILE, blocks = (c->kept + GCB_TILE - 1) / GCB_TILE;
    const uint64_t length = (uint64_t)(c->end - c->body), from = block_offset(c, b);
    const uint64_t to = b + 1 < blocks ? block_offset(c, b + 1) : length;

    if (from > to || to > length)
        return GCB_E_CORRUPT;
    if (b && gcb_block_first(c, c->done) != c->next)
        return GCB_E_CORRUPT;
    *p = c->body + from;
    *end = c->body + to;
    return 0;
}
