#include <stdio.h>
#include <zlib.h>

#include "src/lib/base/alloc.h"
#include "src/tool/read/hdf5.h"

enum {
    CHECKSUM = 4,    /* bytes that fletcher32 appends */
    SCRATCH = 16384, /* bytes that are inflated at a time */
};

int gcb_h5dataset_open(struct gcb_h5dataset *out, const struct gcb_h5file *file, hid_t at,
                       const char *link, const char *shown, struct gcb_diag *diag)
{
    int err;

    *out = (struct gcb_h5dataset){0};
    gcb_infile_trace(file->in, shown);
    out->id = H5Dopen2(at, link, file->access);
    if (out->id > 0)
        out->type = H5Dget_type(out->id);
    if (out->type > 0) {
        out->kind = H5Tget_class(out->type);
        out->type_size = H5Tget_size(out->type);
    }
    if (out->type_size > 0 && out->kind >= 0 && gcb_h5attr_sound(out->id))
        return 0;
    err = gcb_h5file_damaged(file->in, shown, "cannot be opened", diag);
    gcb_h5dataset_close(out);
    return err;
}

void gcb_h5dataset_close(struct gcb_h5dataset *dataset)
{
    H5Tclose(dataset->type);
    H5Dclose(dataset->id);
    *dataset = (struct gcb_h5dataset){0};
}

/*
 * The state while a dataset is read chunk by chunk. HDF5 (1.10.8, seen under AddressSanitizer)
 * trusts that a filtered chunk unpacks to the chunk's size. If the data is shorter, HDF5 reads past
 * its buffer; if it is longer, HDF5 allocates as much memory as the data needs. So the reader first
 * unpacks each filtered chunk only to count its bytes. That doubles the time of unpacking, but no
 * result contains that time.
 */
struct chunk_reader {
    const struct gcb_h5dataset *dataset;
    const struct gcb_infile *file;
    uint8_t *stored; /* one chunk as stored in the file; NULL without filters */
    uint64_t cap;    /* bytes of `stored`; a longer chunk is refused */
    uint64_t bytes;  /* bytes of an unpacked chunk */
    char cause[160]; /* why reading failed */
};

/* Returns 0 or GCB_E_NOMEM. The caller frees r->stored. */
static int reader_init(struct chunk_reader *r, const struct gcb_h5dataset *dataset,
                       const struct gcb_infile *file)
{
    *r = (struct chunk_reader){.dataset = dataset, .file = file, .bytes = dataset->type_size};
    for (unsigned i = 0; i < dataset->chunk_rank; i++)
        r->bytes *= dataset->chunk[i]; /* vetted: at most 256 MiB */
    if (dataset->filter_count == 0)
        return 0;
    /* deflate adds fewer than n / 64 + 1024 bytes to n bytes that it cannot shrink */
    r->cap = r->bytes + r->bytes / 64 + 1024;
    r->stored = gcb_alloc(r->cap);
    return r->stored ? 0 : GCB_E_NOMEM;
}

/* Returns the number of bytes to which the n bytes of `stored` inflate. Returns limit + 1 if they
 * inflate to more than `limit` bytes, or if inflating them fails. */
static uint64_t inflated_size(uint8_t *stored, uint64_t n, uint64_t limit)
{
    uint8_t scratch[SCRATCH];
    z_stream z = {.next_in = stored, .avail_in = (uInt)n};
    uint64_t total = 0;
    int state = Z_OK;

    if (inflateInit(&z) != Z_OK)
        return limit + 1;
    while (state == Z_OK && total <= limit) {
        z.next_out = scratch;
        z.avail_out = SCRATCH;
        state = inflate(&z, Z_NO_FLUSH);
        total += SCRATCH - z.avail_out;
    }
    inflateEnd(&z);
    return state == Z_STREAM_END && total <= limit ? total : limit + 1;
}

/* True if the n bytes of r->stored unpack to the size of a chunk. Bit i of `mask` is set if filter
 * i was not applied to this chunk. */
static bool unpacks(const struct chunk_reader *r, uint64_t n, uint32_t mask)
{
    const struct gcb_h5dataset *d = r->dataset;

    for (unsigned i = d->filter_count; i-- > 0;) {
        if (mask & 1u << i)
            continue;
        if (d->filters[i] == H5Z_FILTER_FLETCHER32 && n < CHECKSUM)
            return false;
        if (d->filters[i] == H5Z_FILTER_FLETCHER32)
            n -= CHECKSUM;
        else if (d->filters[i] == H5Z_FILTER_DEFLATE)
            n = inflated_size(r->stored, n, r->bytes + CHECKSUM);
        else if (d->filters[i] == GCB_H5_LZF)
            n = gcb_h5lzf_unpack(r->stored, n, NULL, r->bytes + CHECKSUM);
        else if (d->plugin && d->filters[i] == d->plugin->id)
            n = gcb_h5plugin_unpacked(d, r->stored, n);
    }
    return n == r->bytes;
}

/* True if HDF5 may read the chunk that begins at index `at`: it unpacks to its size, or reading it
 * is safe without that check. */
static bool is_safe_chunk(struct chunk_reader *r, const hsize_t *at)
{
    const struct gcb_h5dataset *d = r->dataset;
    hsize_t n = 0;
    uint32_t mask = 0;

    if (d->filter_count == 0) /* HDF5 reads exactly the chunk's size (access_list in hdf5_file.c) */
        return true;
    if (H5Dget_chunk_storage_size(d->id, at, &n) < 0 || n == 0)
        return true; /* the chunk is not stored, or H5Dread will fail */
    return n <= r->cap && H5Dread_chunk(d->id, H5P_DEFAULT, at, &mask, r->stored) >= 0 &&
           unpacks(r, n, mask);
}

/* A part of the dataset that is one run of consecutive elements. */
struct region {
    hsize_t start[GCB_MAX_RANK];
    hsize_t count[GCB_MAX_RANK];
};

/*
 * Finds the largest region that starts at element `from` and has at most `room` elements. If even
 * one row of chunks has more elements, the region is that row. Returns the region's number of
 * elements; 0 if no region can start at `from`.
 */
static uint64_t find_region(const struct gcb_h5dataset *d, uint64_t from, uint64_t room,
                            struct region *r)
{
    const struct gcb_tensor *t = &d->tensor;
    uint64_t below = t->count; /* elements that share one index of dimension i */
    uint64_t unit;             /* indices of dimension i that a chunk has, or 1 */
    uint64_t rows; /* indices of dimension i that `room` has room for, then those that are taken */
    uint64_t left; /* indices of dimension i from the start of the region on */
    unsigned i = 0;

    for (;; i++) {
        unit = d->chunk_rank ? d->chunk[i] : 1;
        below /= t->dims[i];
        r->start[i] = from / below;
        from %= below;
        rows = room / below;
        if (rows > 0 || unit > 1 || i + 1 == t->rank)
            break;
        r->count[i] = 1; /* one row has more than `room` elements, so take a part of the row */
    }
    left = t->dims[i] - r->start[i];
    if (rows < left) /* whole rows of chunks, at least one */
        rows = rows < unit ? unit : rows - rows % unit;
    r->count[i] = rows < left ? rows : left;
    /* `from` is now the number of elements before the region in its row */
    if (from || r->start[i] % unit || r->start[0] >= t->dims[0])
        return 0;
    for (unsigned k = i + 1; k < t->rank; k++) {
        r->start[k] = 0;
        r->count[k] = t->dims[k];
    }
    return r->count[i] * below;
}

/* Moves `at` from the start of a box to the start of the next. The boxes of shape `box` divide the
 * region, and the last dimension runs fastest. Returns false after the last box. */
static bool next_box(const struct region *region, unsigned rank, const hsize_t *box, hsize_t *at)
{
    for (unsigned i = rank; i-- > 0;) {
        if (box[i] < region->start[i] + region->count[i] - at[i]) {
            at[i] += box[i];
            return true;
        }
        at[i] = region->start[i];
    }
    return false;
}

/* Reads a region chunk by chunk or, if the dataset is not chunked, at once. `file` is the dataspace
 * of the dataset, and `memory` that of `out`, which has the region's shape. On failure returns
 * false and sets r->cause. */
static bool read_region(struct chunk_reader *r, const struct region *region, hid_t file,
                        hid_t memory, hid_t type, void *out)
{
    const struct gcb_h5dataset *d = r->dataset;
    hsize_t box[GCB_MAX_RANK], at[GCB_MAX_RANK], to[GCB_MAX_RANK], count[GCB_MAX_RANK];

    for (unsigned i = 0; i < d->tensor.rank; i++) {
        box[i] = d->chunk_rank ? d->chunk[i] : region->count[i];
        at[i] = region->start[i];
    }
    do {
        gcb_infile_trace(r->file, NULL);
        for (unsigned i = 0; i < d->tensor.rank; i++) {
            const hsize_t left = region->start[i] + region->count[i] - at[i];

            to[i] = at[i] - region->start[i];
            count[i] = box[i] < left ? box[i] : left;
        }
        if (!is_safe_chunk(r, at)) {
            snprintf(r->cause, sizeof(r->cause), "a chunk does not unpack to its size");
            return false;
        }
        if ((d->tensor.rank &&
             (H5Sselect_hyperslab(file, H5S_SELECT_SET, at, NULL, count, NULL) < 0 ||
              H5Sselect_hyperslab(memory, H5S_SELECT_SET, to, NULL, count, NULL) < 0)) ||
            H5Dread(d->id, type, memory, file, H5P_DEFAULT, out) < 0) {
            gcb_h5file_cause(r->cause, sizeof(r->cause));
            return false;
        }
    } while (next_box(region, d->tensor.rank, box, at));
    return true;
}

uint64_t gcb_h5dataset_piece(const struct gcb_h5dataset *dataset, uint64_t from, uint64_t room)
{
    struct region region;

    if (dataset->tensor.rank == 0 || dataset->tensor.count == 0)
        return from ? 0 : dataset->tensor.count;
    return find_region(dataset, from, room, &region);
}

int gcb_h5dataset_read(const struct gcb_h5dataset *dataset, const struct gcb_infile *file,
                       const char *shown, hid_t mem_type, uint64_t from, uint64_t count, void *out,
                       struct gcb_diag *diag)
{
    hsize_t dims[GCB_MAX_RANK];
    struct region region;
    hid_t space, memory;
    struct chunk_reader r;
    bool ok;

    if (dataset->tensor.rank && dataset->tensor.count &&
        find_region(dataset, from, count, &region) != count)
        return gcb_infile_fail(file, shown, GCB_E_INTERNAL, diag,
                               "is read in a piece of another size");
    if (count == 0)
        return 0;
    if (reader_init(&r, dataset, file))
        return gcb_infile_fail(file, shown, GCB_E_NOMEM, diag, "out of memory for a chunk");
    for (unsigned i = 0; i < dataset->tensor.rank; i++)
        dims[i] = dataset->tensor.dims[i];
    space = H5Screate_simple((int)dataset->tensor.rank, dims, NULL);
    memory = H5Screate_simple((int)dataset->tensor.rank, region.count, NULL);
    ok = read_region(&r, &region, space, memory, mem_type, out);
    H5Sclose(space);
    H5Sclose(memory);
    gcb_free(r.stored);
    return ok ? 0
              : gcb_infile_fail(file, shown, GCB_E_CORRUPT, diag, "cannot be read (%s)", r.cause);
}
