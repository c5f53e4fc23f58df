#include "src/tool/hdf5/h5chunk.h"

#include <stdio.h>
#include <zlib.h>

#include "src/lib/base/alloc.h"

enum {
    CHECKSUM = 4, /* bytes that fletcher32 appends */
    SCRATCH = 16384,
    BOX_CHUNKS = 1024, /* chunks in one read: HDF5 keeps about a KiB for each */
};

struct check {
    const struct gcb_h5dataset *dataset;
    uint8_t *stored; /* one chunk as it stands in the file; NULL without filters */
    uint64_t cap;    /* of stored: no honest chunk is longer */
    uint64_t bytes;  /* of a chunk, unpacked */
};

/* Takes memory only if there are filters. */
static int check_init(struct check *c, const struct gcb_h5dataset *dataset)
{
    *c = (struct check){.dataset = dataset, .bytes = dataset->type_size};
    for (unsigned i = 0; i < dataset->chunk_rank; i++)
        c->bytes *= dataset->chunk[i]; /* vetted: at most 256 MiB */
    if (dataset->filter_count == 0)
        return 0;
    c->cap = c->bytes + c->bytes / 64 + 1024; /* deflate adds less to what it cannot shrink */
    c->stored = gcb_alloc(c->cap);
    return c->stored ? 0 : GCB_E_NOMEM;
}

static void check_fini(struct check *c)
{
    gcb_free(c->stored);
    *c = (struct check){0};
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
static bool unpacks(const struct check *c, uint64_t n, uint32_t mask)
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

static bool check_chunk(struct check *c, const hsize_t *at)
{
    const struct gcb_h5dataset *d = c->dataset;
    hsize_t n = 0;
    uint32_t mask = 0;

    if (H5Dget_chunk_storage_size(d->id, at, &n) < 0 || n == 0)
        return true; /* not there; if it is damaged, reading it says so */
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

/* Would every chunk in the box of `count` elements at `start`, a chunk's corner, unpack to its size? */
static bool check_box(struct check *c, const hsize_t *start, const hsize_t *count)
{
    const struct gcb_h5dataset *d = c->dataset;
    hsize_t at[GCB_MAX_RANK];
    bool ok;

    if (d->filter_count == 0) /* read by the chunk's size, whatever its length (h5file.c) */
        return true;
    for (unsigned i = 0; i < d->rank; i++)
        at[i] = start[i];
    do
        ok = check_chunk(c, at);
    while (ok && next_chunk(d, start, count, at));
    return ok;
}

/* A box of whole chunks that moves over the dataset like an odometer, the last dimension fastest. */
struct box {
    hsize_t start[GCB_MAX_RANK];
    hsize_t step[GCB_MAX_RANK]; /* elements, a multiple of the chunk's */
};

/* Whole rows of chunks from the last dimension upward, until BOX_CHUNKS would be passed. */
static void box_init(struct box *b, const struct gcb_h5dataset *d)
{
    uint64_t room = BOX_CHUNKS;

    for (unsigned i = d->rank; i-- > 0;) {
        const uint64_t chunks = d->dims[i] / d->chunk[i] + (d->dims[i] % d->chunk[i] != 0);
        const uint64_t take = chunks < room ? chunks : room;

        b->start[i] = 0;
        b->step[i] = take * d->chunk[i];
        room = take < chunks ? 1 : room / take;
    }
}

/* Moves on; false when all is covered. */
static bool box_next(struct box *b, const struct gcb_h5dataset *d)
{
    for (unsigned i = d->rank; i-- > 0;) {
        if (b->step[i] < d->dims[i] - b->start[i]) {
            b->start[i] += b->step[i];
            return true;
        }
        b->start[i] = 0;
    }
    return false;
}

enum outcome { READ, UNREADABLE, UNPACKABLE };

static enum outcome read_box(struct check *check, const struct box *b, hid_t space, hid_t mem_type,
                             void *out)
{
    const struct gcb_h5dataset *d = check->dataset;
    hsize_t count[GCB_MAX_RANK];

    for (unsigned i = 0; i < d->rank; i++) {
        const hsize_t left = d->dims[i] - b->start[i];

        count[i] = b->step[i] < left ? b->step[i] : left;
    }
    if (!check_box(check, b->start, count))
        return UNPACKABLE;
    /* The same selection on both sides, for `out` has the dataset's shape. */
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, b->start, NULL, count, NULL) >= 0 &&
        H5Dread(d->id, mem_type, space, space, H5P_DEFAULT, out) >= 0)
        return READ;
    return UNREADABLE;
}

/* `cause` is filled on failure, before anything else is asked of HDF5. */
static bool read_boxes(struct check *check, hid_t mem_type, void *out, char *cause, size_t size)
{
    const struct gcb_h5dataset *d = check->dataset;
    hsize_t dims[GCB_MAX_RANK];
    enum outcome outcome;
    struct box b;
    hid_t space;

    for (unsigned i = 0; i < d->rank; i++)
        dims[i] = d->dims[i];
    box_init(&b, d);
    space = H5Screate_simple((int)d->rank, dims, NULL);
    do
        outcome = space > 0 ? read_box(check, &b, space, mem_type, out) : UNREADABLE;
    while (outcome == READ && box_next(&b, d));
    if (outcome == UNREADABLE)
        gcb_h5file_cause(cause, size);
    else if (outcome == UNPACKABLE)
        snprintf(cause, size, "a chunk does not unpack to its size");
    if (space > 0)
        H5Sclose(space);
    return outcome == READ;
}

int gcb_h5chunk_read(const struct gcb_h5dataset *dataset, hid_t mem_type, void *out, bool *ok,
                     char *cause, size_t size)
{
    struct check check;
    const int err = check_init(&check, dataset);

    if (!err)
        *ok = read_boxes(&check, mem_type, out, cause, size);
    check_fini(&check);
    return err;
}
