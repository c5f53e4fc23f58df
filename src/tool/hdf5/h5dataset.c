/* Which data of an untrusted file may be read. */
#include <inttypes.h>

#include "src/tool/hdf5/h5chunk.h"

enum {
    MAX_CHUNK = 256 << 20, /* bytes: HDF5 unpacks a chunk in memory of its own */
    FREE_BYTES = 64 << 10,
    MAX_INFLATION = 1100,
};

int gcb_h5dataset_open(struct gcb_h5dataset *out, const struct gcb_h5file *file, hid_t at,
                       const char *link, const char *shown, struct gcb_diag *diag)
{
    char cause[160];

    *out = (struct gcb_h5dataset){0};
    out->id = H5Dopen2(at, link, file->access);
    if (out->id > 0)
        out->type = H5Dget_type(out->id);
    if (out->type > 0) {
        out->kind = H5Tget_class(out->type);
        out->type_size = H5Tget_size(out->type);
    }
    if (out->type_size > 0 && out->kind >= 0)
        return 0;
    gcb_h5file_cause(cause, sizeof(cause));
    gcb_h5dataset_close(out);
    return gcb_h5file_fail(file, shown, GCB_E_CORRUPT, diag, "cannot be opened (%s)", cause);
}

void gcb_h5dataset_close(struct gcb_h5dataset *dataset)
{
    if (dataset->type > 0)
        H5Tclose(dataset->type);
    if (dataset->id > 0)
        H5Dclose(dataset->id);
    *dataset = (struct gcb_h5dataset){0};
}

/* What a check below finds, before it is put into words with file and dataset. */
struct finding {
    int status;
    const char *text;
};

static const struct finding fine = {0, NULL};

static struct finding damaged(const char *text)
{
    return (struct finding){GCB_E_CORRUPT, text};
}

static struct finding refused(const char *text)
{
    return (struct finding){GCB_E_UNSUPPORTED, text};
}

static struct finding check_filter(struct gcb_h5dataset *d, H5Z_filter_t id)
{
    bool deflated = false;

    if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_FLETCHER32)
        return refused("its filter is none of deflate, shuffle, fletcher32; "
                       "h5repack -f GZIP=1 rewrites it");
    /* Deflate after deflate would multiply what the limit on inflation allows. */
    for (unsigned i = 0; i < d->filter_count; i++) {
        if (d->filters[i] == id)
            return damaged("a filter is applied twice");
        deflated |= d->filters[i] == H5Z_FILTER_DEFLATE;
    }
    /* Such a chunk could not be inflated for its length without undoing the shuffle first. */
    if (id == H5Z_FILTER_SHUFFLE && deflated)
        return refused("it is shuffled after deflating, not before");
    if (H5Zfilter_avail(id) <= 0)
        return refused("its filter is missing from this build of HDF5");
    d->filters[d->filter_count++] = id;
    return fine;
}

static struct finding check_filters(struct gcb_h5dataset *d, hid_t dcpl)
{
    const int n = H5Pget_nfilters(dcpl);
    struct finding found = fine;

    if (n < 0 || n > GCB_H5_FILTERS)
        return damaged("more filters than make sense");
    for (int i = 0; i < n && !found.status; i++) {
        size_t values = 0;
        unsigned flags, config;

        found = check_filter(
            d, H5Pget_filter2(dcpl, (unsigned)i, &flags, &values, NULL, 0, NULL, &config));
    }
    return found;
}

static struct finding check_chunk(struct gcb_h5dataset *d, hid_t dcpl)
{
    hsize_t chunk[GCB_MAX_RANK];
    const int rank = H5Pget_chunk(dcpl, GCB_MAX_RANK, chunk);
    uint64_t bytes = d->type_size;

    if (rank < 1 || (unsigned)rank != d->rank)
        return damaged("the rank of its chunks is not its own");
    for (int i = 0; i < rank; i++) {
        if (chunk[i] == 0)
            return damaged("a chunk is empty");
        if (__builtin_mul_overflow(bytes, chunk[i], &bytes) || bytes > MAX_CHUNK)
            return refused("a chunk is larger than 256 MiB");
        d->chunk[i] = chunk[i];
    }
    d->chunk_rank = d->rank;
    return check_filters(d, dcpl);
}

/* Shape and element count; sets d->count only when the product fits. */
static struct finding check_shape(struct gcb_h5dataset *d, hid_t space)
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
            return damaged("its shape is larger than memory can be");
    d->count = empty ? 0 : bytes / d->type_size;
    return fine;
}

/* Where the data lives; decided before its shape is asked for, which would open the sources of a virtual
 * dataset. Sets *outside where storage is not in this file and that is allowed. */
static struct finding check_storage(const struct gcb_h5file *file, hid_t dcpl, bool *outside)
{
    const H5D_layout_t layout = H5Pget_layout(dcpl);
    const int external = H5Pget_external_count(dcpl);

    if (layout < 0 || external < 0)
        return damaged("its storage cannot be read");
    *outside = layout == H5D_VIRTUAL || external > 0;
    if (layout != H5D_VIRTUAL && layout != H5D_COMPACT && layout != H5D_CONTIGUOUS &&
        layout != H5D_CHUNKED)
        return refused("its layout is unknown");
    if (*outside && !file->limits.allow_external)
        return refused(external > 0
                           ? "its data is in another file; --allow-external lets it be read"
                           : "it is virtual, its data in other files; --allow-external lets it be "
                             "read");
    return fine;
}

/* Against what is stored, unless that is `elsewhere`: in other files, whose size is not this one's. */
static int check_stored(const struct gcb_h5dataset *d, const struct gcb_h5file *file,
                        const char *shown, struct gcb_diag *diag)
{
    const uint64_t bytes = d->count * d->type_size;
    const uint64_t stored = H5Dget_storage_size(d->id);

    if (stored > file->size)
        return gcb_h5file_fail(file, shown, GCB_E_CORRUPT, diag,
                               "says it stores %" PRIu64 " bytes in a file of %" PRIu64, stored,
                               file->size);
    if (bytes > FREE_BYTES && bytes / MAX_INFLATION > stored)
        return gcb_h5file_fail(file, shown, GCB_E_CORRUPT, diag,
                               "declares %" PRIu64 " bytes but stores %" PRIu64, bytes, stored);
    return 0;
}

static int check_size(const struct gcb_h5dataset *d, const struct gcb_h5file *file,
                      const char *shown, bool elsewhere, struct gcb_diag *diag)
{
    const uint64_t bytes = d->count * d->type_size;
    int err = 0;

    if (!elsewhere)
        err = check_stored(d, file, shown, diag);
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
        found = check_shape(d, space);
        H5Sclose(space);
    }
    return found;
}

/* Everything but the size. */
static struct finding vet_kind(struct gcb_h5dataset *d, const struct gcb_h5file *file,
                               bool *outside)
{
    struct finding found;
    hid_t dcpl;

    /* An address means contiguous in the file at hand. Most are, and the list costs more than the rest. */
    if (H5Dget_offset(d->id) != HADDR_UNDEF)
        return vet_shape(d);
    dcpl = H5Dget_create_plist(d->id);
    if (dcpl < 0)
        return damaged("its properties cannot be read");
    found = check_storage(file, dcpl, outside);
    if (!found.status)
        found = vet_shape(d);
    if (!found.status && H5Pget_layout(dcpl) == H5D_CHUNKED)
        found = check_chunk(d, dcpl);
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
        return gcb_h5file_fail(file, shown, found.status, diag, "%s", found.text);
    err = check_size(dataset, file, shown, outside || !in_this_file(dataset, file), diag);
    dataset->vetted = !err;
    return err;
}

static bool read_whole(const struct gcb_h5dataset *d, hid_t mem_type, void *out, char *cause,
                       size_t size)
{
    if (H5Dread(d->id, mem_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0)
        return true;
    gcb_h5file_cause(cause, size);
    return false;
}

int gcb_h5dataset_read(const struct gcb_h5dataset *dataset, const struct gcb_h5file *file,
                       const char *shown, hid_t mem_type, void *out, struct gcb_diag *diag)
{
    char cause[160];
    bool ok = true;

    if (!dataset->vetted)
        return gcb_h5file_fail(file, shown, GCB_E_INTERNAL, diag, "read before it was vetted");
    if (dataset->count == 0)
        return 0;
    if (!dataset->chunk_rank)
        ok = read_whole(dataset, mem_type, out, cause, sizeof(cause));
    else if (gcb_h5chunk_read(dataset, mem_type, out, &ok, cause, sizeof(cause)) != 0)
        return gcb_h5file_fail(file, shown, GCB_E_NOMEM, diag, "out of memory for a chunk");
    if (ok)
        return 0;
    return gcb_h5file_fail(file, shown, GCB_E_CORRUPT, diag, "cannot be read (%s)", cause);
}
