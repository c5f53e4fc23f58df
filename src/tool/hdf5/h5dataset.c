#include "src/tool/hdf5/h5dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <zlib.h>

#include "src/lib/base/alloc.h"
#include "src/tool/hdf5/h5attr.h"

enum {
    MAX_CHUNK = 256 << 20, /* most bytes of a chunk: HDF5 unpacks a chunk in its own memory */
    FILL_BYTES = 64 << 10, /* a dataset of up to this many bytes may consist of its fill value */
    MAX_INFLATION = 1100,  /* largest allowed ratio of a dataset's bytes to its stored bytes */
    CHECKSUM = 4,          /* bytes that fletcher32 appends */
    SCRATCH = 16384,
    BOX_CHUNKS = 1024, /* most chunks in one read: HDF5 needs about 1 KiB of memory for each */
};

int gcb_h5dataset_open(struct gcb_h5dataset *out, const struct gcb_h5file *file, hid_t at,
                       const char *link, const char *shown, struct gcb_diag *diag)
{
    int err;

    *out = (struct gcb_h5dataset){0};
    gcb_h5file_trace(file, shown);
    out->id = H5Dopen2(at, link, file->access);
    if (out->id > 0)
        out->type = H5Dget_type(out->id);
    if (out->type > 0) {
        out->kind = H5Tget_class(out->type);
        out->type_size = H5Tget_size(out->type);
    }
    if (out->type_size > 0 && out->kind >= 0 && gcb_h5attr_sound(out->id))
        return 0;
    err = gcb_h5file_damaged(file, shown, "cannot be opened", diag);
    gcb_h5dataset_close(out);
    return err;
}

void gcb_h5dataset_close(struct gcb_h5dataset *dataset)
{
    if (dataset->type > 0)
        H5Tclose(dataset->type);
    if (dataset->id > 0)
        H5Dclose(dataset->id);
    *dataset = (struct gcb_h5dataset){0};
}

/* ---- vetting ---- */

/* The result of a check, to which the caller adds the names of file and dataset. */
struct finding {
    int status;
    const char *text;
    bool rewrite; /* convert.py writes the data in a form that can be read */
};

static const struct finding fine = {0};

static struct finding damaged(const char *text)
{
    return (struct finding){GCB_E_CORRUPT, text, false};
}

static struct finding refused(const char *text)
{
    return (struct finding){GCB_E_UNSUPPORTED, text, false};
}

static struct finding unread(const char *text)
{
    return (struct finding){GCB_E_UNSUPPORTED, text, true};
}

/* For a filter that is not read: names those that are in use. */
static struct finding unread_filter(H5Z_filter_t id)
{
    static const struct {
        int id;
        const char *text;
    } known[] = {
        {H5Z_FILTER_SZIP, "it is compressed with szip, which gcbench does not read"},
        {H5Z_FILTER_NBIT, "it is packed with n-bit, which gcbench does not read"},
        {H5Z_FILTER_SCALEOFFSET, "it is packed with scale-offset, which gcbench does not read"},
        {32000, "it is compressed with lzf, which gcbench does not read"},
        {32001, "it is compressed with blosc, which gcbench does not read"},
        {32004, "it is compressed with lz4, which gcbench does not read"},
        {32008, "it is compressed with bitshuffle, which gcbench does not read"},
        {32013, "it is compressed with zfp, which gcbench does not read"},
        {32015, "it is compressed with zstd, which gcbench does not read"},
        {32026, "it is compressed with blosc2, which gcbench does not read"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].id == id)
            return unread(known[i].text);
    return unread("it has a filter other than deflate, shuffle and fletcher32");
}

static struct finding vet_filter(struct gcb_h5dataset *d, H5Z_filter_t id)
{
    bool deflated = false;

    if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_FLETCHER32)
        return unread_filter(id);
    /* Data that is deflated twice could inflate by more than MAX_INFLATION. */
    for (unsigned i = 0; i < d->filter_count; i++) {
        if (d->filters[i] == id)
            return damaged("a filter is applied twice");
        deflated |= d->filters[i] == H5Z_FILTER_DEFLATE;
    }
    /* The reader inflates chunks to count their bytes, but it cannot undo a shuffle that came after deflating. */
    if (id == H5Z_FILTER_SHUFFLE && deflated)
        return unread("it is shuffled after deflating, which gcbench does not read");
    if (H5Zfilter_avail(id) <= 0)
        return refused("this build of HDF5 lacks the dataset's filter");
    d->filters[d->filter_count++] = id;
    return fine;
}

static struct finding vet_filters(struct gcb_h5dataset *d, hid_t dcpl)
{
    const int n = H5Pget_nfilters(dcpl);
    struct finding found = fine;

    if (n < 0 || n > GCB_H5_FILTERS)
        return damaged("it has more than 4 filters");
    for (int i = 0; i < n && !found.status; i++) {
        size_t values = 0;
        unsigned flags, config;

        found = vet_filter(
            d, H5Pget_filter2(dcpl, (unsigned)i, &flags, &values, NULL, 0, NULL, &config));
    }
    return found;
}

static struct finding vet_chunks(struct gcb_h5dataset *d, hid_t dcpl)
{
    hsize_t chunk[GCB_MAX_RANK];
    const int rank = H5Pget_chunk(dcpl, GCB_MAX_RANK, chunk);
    uint64_t bytes = d->type_size;

    if (rank < 1 || (unsigned)rank != d->rank)
        return damaged("its chunks have another rank than its shape");
    for (int i = 0; i < rank; i++) {
        if (chunk[i] == 0)
            return damaged("the shape of its chunks has a zero");
        if (__builtin_mul_overflow(bytes, chunk[i], &bytes) || bytes > MAX_CHUNK)
            return unread("its chunks are larger than 256 MiB");
        d->chunk[i] = chunk[i];
    }
    d->chunk_rank = d->rank;
    return vet_filters(d, dcpl);
}

/* Fills the dataset's shape and number of elements. */
static struct finding vet_extent(struct gcb_h5dataset *d, hid_t space)
{
    const H5S_class_t kind = H5Sget_simple_extent_type(space);
    const int rank = kind == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;
    hsize_t dims[GCB_MAX_RANK];
    uint64_t bytes = d->type_size;
    bool empty = kind == H5S_NULL;

    if (kind == H5S_NO_CLASS || rank < 0 || rank > GCB_MAX_RANK ||
        (rank > 0 && H5Sget_simple_extent_dims(space, dims, NULL) != rank))
        return damaged("its shape cannot be read");
    d->rank = (unsigned)rank;
    for (int i = 0; i < rank; i++) {
        d->dims[i] = dims[i];
        empty |= dims[i] == 0;
    }
    for (int i = 0; i < rank && !empty; i++)
        if (__builtin_mul_overflow(bytes, dims[i], &bytes))
            return damaged("its shape is larger than any memory");
    d->count = empty ? 0 : bytes / d->type_size;
    return fine;
}

/*
 * Checks that the data is stored where it may be. Sets *outside if the data is in other files. Call this before asking
 * for the shape, because HDF5 opens the source files of a virtual dataset to find its shape.
 */
static struct finding vet_storage(const struct gcb_h5file *file, hid_t dcpl, bool *outside)
{
    const H5D_layout_t layout = H5Pget_layout(dcpl);
    const int external = H5Pget_external_count(dcpl);

    if (layout < 0 || external < 0)
        return damaged("its storage cannot be read");
    *outside = layout == H5D_VIRTUAL || external > 0;
    if (layout != H5D_VIRTUAL && layout != H5D_COMPACT && layout != H5D_CONTIGUOUS &&
        layout != H5D_CHUNKED)
        return refused("it has an unknown storage layout");
    if (*outside && !file->limits.allow_external)
        return refused(
            external > 0 ? "its data is in another file; --allow-external lets it be read"
                         : "it is virtual: its data is in other files; --allow-external lets it be "
                           "read");
    return fine;
}

/* Compares the declared size with the bytes stored in this file. */
static int vet_stored(struct gcb_h5dataset *d, const struct gcb_h5file *file, const char *shown,
                      struct gcb_diag *diag)
{
    const uint64_t bytes = d->count * d->type_size;
    const uint64_t stored = H5Dget_storage_size(d->id);

    if (stored > file->size)
        return gcb_h5file_fail(file, shown, GCB_E_CORRUPT, diag,
                               "says it stores %" PRIu64 " bytes, but the file has %" PRIu64,
                               stored, file->size);
    d->unwritten = stored == 0 && bytes > 0;
    if (bytes > FILL_BYTES && d->unwritten)
        return gcb_h5file_fail(file, shown, GCB_E_CORRUPT, diag,
                               "was never written: it declares %" PRIu64
                               " bytes and stores 0; --exclude leaves it out",
                               bytes);
    if (bytes > FILL_BYTES && bytes / MAX_INFLATION > stored)
        return gcb_h5file_fail(file, shown, GCB_E_CORRUPT, diag,
                               "declares %" PRIu64 " bytes but stores %" PRIu64, bytes, stored);
    return 0;
}

static int vet_size(struct gcb_h5dataset *d, const struct gcb_h5file *file, const char *shown,
                    bool outside, struct gcb_diag *diag)
{
    const uint64_t bytes = d->count * d->type_size;
    int err = 0;

    if (!outside)
        err = vet_stored(d, file, shown, diag);
    if (!err && bytes > file->limits.max_bytes)
        err = gcb_h5file_fail(file, shown, GCB_E_NOMEM, diag,
                              "%" PRIu64 " bytes, more than --max-bytes %" PRIu64, bytes,
                              file->limits.max_bytes);
    return err;
}

static bool in_this_file(const struct gcb_h5dataset *d, const struct gcb_h5file *file)
{
    H5O_info_t here, root;

    if (!file->limits.allow_external)
        return true;
    return H5Oget_info2(d->id, &here, H5O_INFO_BASIC) >= 0 &&
           H5Oget_info2(file->id, &root, H5O_INFO_BASIC) >= 0 && here.fileno == root.fileno;
}

static struct finding vet_shape(struct gcb_h5dataset *d)
{
    const hid_t space = H5Dget_space(d->id);
    struct finding found = damaged("its shape cannot be read");

    if (space > 0) {
        found = vet_extent(d, space);
        H5Sclose(space);
    }
    return found;
}

/* Checks everything except the size. */
static struct finding vet_kind(struct gcb_h5dataset *d, const struct gcb_h5file *file,
                               bool *outside)
{
    struct finding found;
    hid_t dcpl;

    /* Data with an address is contiguous in this file. Most datasets are like this and need no property list, which is
     * slow to get. */
    d->offset = H5Dget_offset(d->id);
    if (d->offset != HADDR_UNDEF) {
        found = vet_shape(d);
        d->in_place = !file->limits.allow_external && d->count > 0 && d->offset <= file->size &&
                      d->count <= (file->size - d->offset) / d->type_size;
        return found;
    }
    dcpl = H5Dget_create_plist(d->id);
    if (dcpl < 0)
        return damaged("its properties cannot be read");
    found = vet_storage(file, dcpl, outside);
    if (!found.status)
        found = vet_shape(d);
    if (!found.status && H5Pget_layout(dcpl) == H5D_CHUNKED)
        found = vet_chunks(d, dcpl);
    H5Pclose(dcpl);
    return found;
}

int gcb_h5dataset_vet(struct gcb_h5dataset *dataset, const struct gcb_h5file *file,
                      const char *shown, struct gcb_diag *diag)
{
    bool outside = false;
    const struct finding found = vet_kind(dataset, file, &outside);
    int err;

    if (found.status)
        return gcb_h5file_fail(file, shown, found.status, diag, "%s%s%s", found.text,
                               found.rewrite ? "; rewrite the file: " : "",
                               found.rewrite ? file->convert : "");
    err = vet_size(dataset, file, shown, outside || !in_this_file(dataset, file), diag);
    dataset->vetted = !err;
    return err;
}

/* ---- reading ---- */

/*
 * HDF5 (1.10.8, seen under AddressSanitizer) trusts that a filtered chunk unpacks to the chunk's size. If the data is
 * shorter, HDF5 reads past its buffer; if it is longer, HDF5 allocates as much memory as the data needs. So this code
 * first inflates each chunk only to count its bytes. That doubles the time of inflating, which no benchmark measures.
 */
struct reader {
    const struct gcb_h5dataset *dataset;
    const struct gcb_h5file *file;
    uint8_t *stored; /* one chunk as stored in the file; NULL without filters */
    uint64_t cap;    /* bytes of `stored`; a valid chunk is not longer */
    uint64_t bytes;  /* bytes of an unpacked chunk */
    char cause[160]; /* why reading failed */
};

static int reader_init(struct reader *r, const struct gcb_h5dataset *dataset,
                       const struct gcb_h5file *file)
{
    *r = (struct reader){.dataset = dataset, .file = file, .bytes = dataset->type_size};
    for (unsigned i = 0; i < dataset->chunk_rank; i++)
        r->bytes *= dataset->chunk[i]; /* vetted: at most 256 MiB */
    if (dataset->filter_count == 0)
        return 0;
    r->cap = r->bytes + r->bytes / 64 + 1024; /* deflate adds less to data that it cannot shrink */
    r->stored = gcb_alloc(r->cap);
    return r->stored ? 0 : GCB_E_NOMEM;
}

/* Returns the number of bytes to which the n bytes of `stored` inflate. Returns limit + 1 if they inflate to more than
 * `limit` bytes or are damaged. */
static uint64_t inflated(uint8_t *stored, uint64_t n, uint64_t limit)
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

/* Does a chunk of n stored bytes unpack to its size? Each bit in `mask` stands for a filter that was not applied to
 * this chunk. */
static bool unpacks(const struct reader *r, uint64_t n, uint32_t mask)
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
            n = inflated(r->stored, n, r->bytes + CHECKSUM);
    }
    return n == r->bytes;
}

static bool check_chunk(struct reader *r, const hsize_t *at)
{
    const struct gcb_h5dataset *d = r->dataset;
    hsize_t n = 0;
    uint32_t mask = 0;

    if (H5Dget_chunk_storage_size(d->id, at, &n) < 0 || n == 0)
        return true; /* the chunk is not stored, or is damaged: then H5Dread fails */
    return n <= r->cap && H5Dread_chunk(d->id, H5P_DEFAULT, at, &mask, r->stored) >= 0 &&
           unpacks(r, n, mask);
}

/* Moves `at` to the next chunk of the box, the last dimension fastest. Returns false after the last chunk. */
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

/* Checks all chunks of a box. `start` is the corner of a chunk; `count` is the number of elements in each dimension. */
static bool check_chunks(struct reader *r, const hsize_t *start, const hsize_t *count)
{
    const struct gcb_h5dataset *d = r->dataset;
    hsize_t at[GCB_MAX_RANK];
    bool ok;

    if (d->filter_count == 0) /* HDF5 reads exactly the chunk's size (access_list in h5file.c) */
        return true;
    for (unsigned i = 0; i < d->rank; i++)
        at[i] = start[i];
    do
        ok = check_chunk(r, at);
    while (ok && next_chunk(d, start, count, at));
    return ok;
}

/* A part of the dataset that is one run of consecutive elements. */
struct region {
    hsize_t start[GCB_MAX_RANK];
    hsize_t count[GCB_MAX_RANK];
};

/*
 * Finds the largest region that starts at element `from` and has at most `room` elements. If even one row of chunks has
 * more elements, the region is that row. Returns the region's number of elements; 0 if no region can start at `from`.
 */
static uint64_t find_region(const struct gcb_h5dataset *d, uint64_t from, uint64_t room,
                            struct region *r)
{
    uint64_t below = d->count; /* elements that share one index of dimension i */
    unsigned i = 0;

    for (;; i++) {
        const uint64_t unit = d->chunk_rank ? d->chunk[i] : 1;
        uint64_t rows, left;

        below /= d->dims[i];
        r->start[i] = from / below;
        from %= below;
        left = d->dims[i] - r->start[i];
        rows = room / below;
        if (rows < unit && unit == 1 && i + 1 < d->rank) { /* the region is part of one row */
            r->count[i] = 1;
            continue;
        }
        if (rows < left)
            rows = rows < unit ? unit : rows - rows % unit;
        r->count[i] = rows < left ? rows : left;
        if (from || r->start[i] % unit || r->start[0] >= d->dims[0])
            return 0;
        break;
    }
    for (unsigned k = i + 1; k < d->rank; k++) {
        r->start[k] = 0;
        r->count[k] = d->dims[k];
    }
    return r->count[i] * below;
}

/* A box of whole chunks that moves over a region, the last dimension fastest. */
struct box {
    hsize_t start[GCB_MAX_RANK];
    hsize_t step[GCB_MAX_RANK]; /* size in elements, a multiple of the chunk's size */
};

/* Makes the first box of a region. A box grows from the last dimension to the first, up to BOX_CHUNKS chunks. */
static void box_init(struct box *b, const struct gcb_h5dataset *d, const struct region *r)
{
    uint64_t room = BOX_CHUNKS;

    for (unsigned i = d->rank; i-- > 0;) {
        const uint64_t chunks = r->count[i] / d->chunk[i] + (r->count[i] % d->chunk[i] != 0);
        const uint64_t take = chunks < room ? chunks : room;

        b->start[i] = r->start[i];
        b->step[i] = take * d->chunk[i];
        room = take < chunks ? 1 : room / take;
    }
}

/* Moves to the next box. Returns false after the last box. */
static bool box_next(struct box *b, const struct gcb_h5dataset *d, const struct region *r)
{
    for (unsigned i = d->rank; i-- > 0;) {
        if (b->step[i] < r->start[i] + r->count[i] - b->start[i]) {
            b->start[i] += b->step[i];
            return true;
        }
        b->start[i] = r->start[i];
    }
    return false;
}

/* Describes a read: HDF5 copies a region of a dataset to memory that has the region's shape. */
struct transfer {
    const struct region *region;
    hid_t file, memory; /* dataspaces of the dataset and of the memory */
    hid_t type;         /* type of an element in memory */
    void *out;
};

static bool read_part(struct reader *r, const struct transfer *t, const hsize_t *start,
                      const hsize_t *count)
{
    hsize_t to[GCB_MAX_RANK];

    for (unsigned i = 0; i < r->dataset->rank; i++)
        to[i] = start[i] - t->region->start[i];
    if (H5Sselect_hyperslab(t->file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
        H5Sselect_hyperslab(t->memory, H5S_SELECT_SET, to, NULL, count, NULL) >= 0 &&
        H5Dread(r->dataset->id, t->type, t->memory, t->file, H5P_DEFAULT, t->out) >= 0)
        return true;
    gcb_h5file_cause(r->cause, sizeof(r->cause));
    return false;
}

static bool read_box(struct reader *r, const struct transfer *t, const struct box *b)
{
    const struct region *region = t->region;
    hsize_t count[GCB_MAX_RANK];

    gcb_h5file_trace(r->file, NULL);
    for (unsigned i = 0; i < r->dataset->rank; i++) {
        const hsize_t left = region->start[i] + region->count[i] - b->start[i];

        count[i] = b->step[i] < left ? b->step[i] : left;
    }
    if (check_chunks(r, b->start, count))
        return read_part(r, t, b->start, count);
    snprintf(r->cause, sizeof(r->cause), "a chunk does not unpack to its size");
    return false;
}

static bool read_region(struct reader *r, const struct transfer *t)
{
    struct box b;

    if (!r->dataset->chunk_rank)
        return read_part(r, t, t->region->start, t->region->count);
    box_init(&b, r->dataset, t->region);
    while (read_box(r, t, &b))
        if (!box_next(&b, r->dataset, t->region))
            return true;
    return false;
}

static bool read_spaces(struct reader *r, const struct region *region, hid_t mem_type, void *out)
{
    const struct gcb_h5dataset *d = r->dataset;
    struct transfer t = {.region = region, .type = mem_type, .out = out};
    hsize_t dims[GCB_MAX_RANK];
    bool ok = false;

    for (unsigned i = 0; i < d->rank; i++)
        dims[i] = d->dims[i];
    t.file = H5Screate_simple((int)d->rank, dims, NULL);
    t.memory = H5Screate_simple((int)d->rank, region->count, NULL);
    if (t.file > 0 && t.memory > 0)
        ok = read_region(r, &t);
    else
        gcb_h5file_cause(r->cause, sizeof(r->cause));
    if (t.file > 0)
        H5Sclose(t.file);
    if (t.memory > 0)
        H5Sclose(t.memory);
    return ok;
}

static bool read_whole(struct reader *r, hid_t mem_type, void *out)
{
    if (H5Dread(r->dataset->id, mem_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0)
        return true;
    gcb_h5file_cause(r->cause, sizeof(r->cause));
    return false;
}

uint64_t gcb_h5dataset_piece(const struct gcb_h5dataset *dataset, uint64_t from, uint64_t room)
{
    struct region region;

    if (dataset->rank == 0 || dataset->count == 0)
        return from ? 0 : dataset->count;
    return find_region(dataset, from, room, &region);
}

int gcb_h5dataset_read(const struct gcb_h5dataset *dataset, const struct gcb_h5file *file,
                       const char *shown, hid_t mem_type, uint64_t from, uint64_t count, void *out,
                       struct gcb_diag *diag)
{
    struct region region;
    struct reader r;
    bool ok;

    if (!dataset->vetted ||
        (dataset->rank && dataset->count && find_region(dataset, from, count, &region) != count))
        return gcb_h5file_fail(file, shown, GCB_E_INTERNAL, diag, "read before it was checked");
    if (count == 0)
        return 0;
    if (reader_init(&r, dataset, file))
        return gcb_h5file_fail(file, shown, GCB_E_NOMEM, diag, "out of memory for a chunk");
    if (dataset->chunk_rank || count != dataset->count)
        ok = read_spaces(&r, &region, mem_type, out);
    else
        ok = read_whole(&r, mem_type, out);
    gcb_free(r.stored);
    if (ok)
        return 0;
    return gcb_h5file_fail(file, shown, GCB_E_CORRUPT, diag, "cannot be read (%s)", r.cause);
}
