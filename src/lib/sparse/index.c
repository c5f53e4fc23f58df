#include "src/lib/sparse/index.h"

static const struct gcb_index *const indices[] = {
    &gcb_index_u32,      &gcb_index_bitmap,    &gcb_index_varint, &gcb_index_golomb,
    &gcb_index_adaptive, &gcb_index_eliasfano, &gcb_index_block,
};

const char *const gcb_index_names[] = {"u32",      "bitmap",     "varint", "golomb",
                                       "adaptive", "elias-fano", "block",  NULL};

const struct gcb_index *gcb_index_at(int id)
{
    return indices[id];
}

uint64_t gcb_directory_bytes(uint64_t kept)
{
    return kept ? (kept - 1) / GCB_TILE * GCB_DIRECTORY_ENTRY : 0;
}

void gcb_directory_put(uint8_t *directory, uint64_t b, uint32_t before, uint64_t offset)
{
    gcb_store_u32(directory + (b - 1) * GCB_DIRECTORY_ENTRY, before);
    gcb_store_u32(directory + (b - 1) * GCB_DIRECTORY_ENTRY + 4, (uint32_t)offset);
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
    return b ? gcb_load_u32(c->directory + (b - 1) * GCB_DIRECTORY_ENTRY + 4) : 0;
}

int gcb_blocks_next(const struct gcb_index_cursor *c, const uint8_t **p, const uint8_t **end)
{
    const uint64_t b = c->done / GCB_TILE, blocks = (c->kept + GCB_TILE - 1) / GCB_TILE;
    const uint64_t length = (uint64_t)(c->end - c->body), from = block_offset(c, b);
    const uint64_t to = b + 1 < blocks ? block_offset(c, b + 1) : length;

    if (from > to || to > length)
        return GCB_E_CORRUPT;
    if (b && gcb_load_u32(c->directory + (b - 1) * GCB_DIRECTORY_ENTRY) != c->next - 1)
        return GCB_E_CORRUPT;
    *p = c->body + from;
    *end = c->body + to;
    return 0;
}
