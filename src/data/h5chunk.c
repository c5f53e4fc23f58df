#include "src/data/h5chunk.h"

#include <zlib.h>

#include "src/base/alloc.h"

enum {
    CHECKSUM = 4, /* bytes that fletcher32 appends */
    SCRATCH = 16384,
};

int gcb_h5chunk_check_init(struct gcb_h5chunk_check *c, const struct gcb_h5dataset *dataset)
{
    *c = (struct gcb_h5chunk_check){.dataset = dataset, .bytes = dataset->type_size};
    for (unsigned i = 0; i < dataset->chunk_rank; i++)
        c->bytes *= dataset->chunk[i]; /* vetted: at most 256 MiB */
    if (dataset->filter_count == 0)
        return 0;
    c->cap = c->bytes + c->bytes / 64 + 1024; /* deflate adds less to what it cannot shrink */
    c->stored = gcb_alloc(c->cap);
    return c->stored ? 0 : GCB_E_NOMEM;
}

void gcb_h5chunk_check_fini(struct gcb_h5chunk_check *c)
{
    gcb_free(c->stored);
    *c = (struct gcb_h5chunk_check){0};
}

/* Bytes that the first n of `stored` inflate to, or `most` + 1 if more or damaged. */
static uint64_t inflated(uint8_t *stored, uint64_t n, uint64_t most)
{
    uint8_t scratch[SCRATCH];
    z_stream z = {.next_in = stored, .avail_in = (uInt)n};
    uint64_t total = 0;
    int state = Z_OK;

    if (inflateInit(&z) != Z_OK)
        return most + 1;
    while (state == Z_OK && total <= most) {
        z.next_out = scratch;
        z.avail_out = SCRATCH;
        state = inflate(&z, Z_NO_FLUSH);
        total += SCRATCH - z.avail_out;
    }
    inflateEnd(&z);
    return state == Z_STREAM_END && total <= most ? total : most + 1;
}

/* Runs the lengths through the filters, last one first; `mask` names those left out for this chunk. */
static bool unpacks(const struct gcb_h5chunk_check *c, uint64_t n, uint32_t mask)
{
    const struct gcb_h5dataset *d = c->dataset;

    for (unsigned i = d->filter_count; i-- > 0;) {
        if (mask & 1u << i)
            continue;
        if (d->filters[i] == H5Z_FILTER_FLETCHER32 && n < CHECKSUM)
            return false;
        if (d->filters[i] == H5Z_FILTER_FLETCHER32)
            n -= CHECKSUM;
        else if (d->filters[i] == H5Z_FILTER_DEFLATE)
            n = inflated(c->stored, n, c->bytes + CHECKSUM);
    }
    return n == c->bytes;
}

static bool check_chunk(struct gcb_h5chunk_check *c, const hsize_t *at)
{
    const struct gcb_h5dataset *d = c->dataset;
    hsize_t n = 0;
    uint32_t mask = 0;

    if (H5Dget_chunk_storage_size(d->id, at, &n) < 0 || n == 0)
        return true; /* not there; if it is damaged, reading it says so */
    if (d->filter_count == 0)
        return n == c->bytes;
    return n <= c->cap && H5Dread_chunk(d->id, H5P_DEFAULT, at, &mask, c->stored) >= 0 &&
           unpacks(c, n, mask);
}

/* The next chunk's corner, the last dimension fastest; false behind the last. */
static bool next_chunk(const struct gcb_h5dataset *d, const hsize_t *start, const hsize_t *count,
                       hsize_t *at)
{
    for (unsigned i = d->rank; i-- > 0;) {
        if (d->chunk[i] < start[i] + count[i] - at[i]) {
            at[i] += d->chunk[i];
            return true;
        }
        at[i] = start[i];
    }
    return false;
}

bool gcb_h5chunk_check_box(struct gcb_h5chunk_check *c, const hsize_t *start, const hsize_t *count)
{
    const struct gcb_h5dataset *d = c->dataset;
    hsize_t at[GCB_MAX_RANK];
    bool ok;

    for (unsigned i = 0; i < d->rank; i++)
        at[i] = start[i];
    do
        ok = check_chunk(c, at);
    while (ok && next_chunk(d, start, count, at));
    return ok;
}
