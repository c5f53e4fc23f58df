/* Vets a dataset: decides whether its data may be read. */
#include <inttypes.h>
#include <string.h>

#include "src/tool/read/hdf5.h"

enum { MAX_CHUNK = 256 << 20 }; /* most bytes of a chunk: HDF5 unpacks a chunk in its own memory */

/* The result of a check. gcb_h5dataset_vet adds the names of file and dataset to the text. */
struct finding {
    int status; /* 0: nothing was found wrong */
    const char *text;
    const char *advice; /* what to do, or "" */
};

static const struct finding fine = {0};

static struct finding damaged(const char *text)
{
    return (struct finding){GCB_E_CORRUPT, text, ""};
}

static struct finding refused(const char *text)
{
    return (struct finding){GCB_E_UNSUPPORTED, text, ""};
}

/* Refuses data that gcbench cannot read, but another program can rewrite. */
static struct finding unread(const char *text)
{
    return (struct finding){GCB_E_UNSUPPORTED, text, "; rewrite the file: " GCB_CONVERT};
}

/* Refuses a filter that gcbench does not read. The text names a common filter. */
static struct finding unread_filter(const struct gcb_infile *file, H5Z_filter_t id)
{
    struct finding found =
        unread("it has a filter other than deflate, lzf, shuffle and fletcher32");

#define NAMED(name) "it is compressed with " name ", which gcbench does not read"
    static const struct {
        int id;
        const char *text;
    } known[] = {
        {H5Z_FILTER_SZIP, NAMED("szip")},
        {H5Z_FILTER_SCALEOFFSET, NAMED("scale-offset")},
        {H5Z_FILTER_NBIT, NAMED("n-bit")},
        /* numbers of The HDF Group's list of registered filters */
        {32001, NAMED("blosc")},
        {32004, NAMED("lz4")},
        {32008, NAMED("bitshuffle")},
        {32013, NAMED("zfp")},
        {32015, NAMED("zstd")},
        {32026, NAMED("blosc2")},
    };
#undef NAMED

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].id == id)
            found.text = known[i].text;
    if (id > H5Z_FILTER_RESERVED)
        found.advice = file->limits.hdf5_plugins
                           ? "; no file in the folder of --hdf5-plugins reads it; rewrite the "
                             "file: " GCB_CONVERT
                           : "; --hdf5-plugins DIR reads it with HDF5's plug-ins in DIR, if you "
                             "trust them; or rewrite the file: " GCB_CONVERT;
    return found;
}

/* Checks a filter, and appends it to d->filters. */
static struct finding vet_filter(struct gcb_h5dataset *d, const struct gcb_infile *file,
                                 H5Z_filter_t id)
{
    const H5Z_class2_t *plugin = gcb_h5plugin_find(id);
    const bool packs = id == H5Z_FILTER_DEFLATE || id == GCB_H5_LZF || plugin;
    bool packed = false;

    if (!packs && id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_FLETCHER32)
        return unread_filter(file, id);
    /* Data that is packed twice could grow by a larger factor than gcb_infile_check_size allows. */
    for (unsigned i = 0; i < d->filter_count; i++) {
        if (d->filters[i] == id)
            return damaged("a filter is applied twice");
        packed |= d->filters[i] == H5Z_FILTER_DEFLATE || d->filters[i] == GCB_H5_LZF || d->plugin;
    }
    d->plugin = plugin ? plugin : d->plugin;
    /* The reader unpacks chunks to count their bytes. Of the filters that come after packing, it
     * can undo only a checksum. */
    if (packed && id != H5Z_FILTER_FLETCHER32)
        return unread("it is packed twice, or shuffled after packing, which gcbench does not read");
    if (H5Zfilter_avail(id) <= 0)
        return refused("this build of HDF5 lacks the dataset's filter");
    d->filters[d->filter_count++] = id;
    return fine;
}

static struct finding vet_filters(struct gcb_h5dataset *d, const struct gcb_infile *file,
                                  hid_t dcpl)
{
    const int n = H5Pget_nfilters(dcpl);
    struct finding found = fine;

    if (n < 0 || n > GCB_H5_FILTERS)
        return damaged("it has more than 4 filters");
    for (int i = 0; i < n && !found.status; i++) {
        const bool had_plugin = d->plugin;
        size_t n_values = GCB_H5_VALUES;
        unsigned values[GCB_H5_VALUES], flags, config;

        found = vet_filter(
            d, file,
            H5Pget_filter2(dcpl, (unsigned)i, &flags, &n_values, values, 0, NULL, &config));
        if (found.status || had_plugin || !d->plugin)
            continue;
        if (n_values > GCB_H5_VALUES)
            return refused("its filter has more than 64 parameters");
        memcpy(d->values, values, n_values * sizeof(*values));
        d->value_count = n_values;
    }
    return found;
}

/* Checks chunks and filters, and sets the members of *d that describe them. */
static struct finding vet_chunks(struct gcb_h5dataset *d, const struct gcb_infile *file, hid_t dcpl)
{
    hsize_t chunk[GCB_MAX_RANK];
    const int rank = H5Pget_chunk(dcpl, GCB_MAX_RANK, chunk);
    uint64_t bytes = d->type_size;

    if (rank < 1 || (unsigned)rank != d->tensor.rank)
        return damaged("its chunks have another rank than its shape");
    for (int i = 0; i < rank; i++) {
        if (chunk[i] == 0)
            return damaged("the shape of its chunks has a zero");
        if (__builtin_mul_overflow(bytes, chunk[i], &bytes) || bytes > MAX_CHUNK)
            return unread("its chunks are larger than 256 MiB");
        d->chunk[i] = chunk[i];
    }
    d->chunk_rank = d->tensor.rank;
    return vet_filters(d, file, dcpl);
}

/* Sets the dataset's shape and number of elements. */
static struct finding vet_shape(struct gcb_h5dataset *d)
{
    const hid_t space = H5Dget_space(d->id);
    const H5S_class_t kind = H5Sget_simple_extent_type(space);
    const int rank = kind == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;
    const bool known = kind != H5S_NO_CLASS && rank >= 0 && rank <= GCB_MAX_RANK;
    hsize_t dims[GCB_MAX_RANK];
    const int got = known && rank ? H5Sget_simple_extent_dims(space, dims, NULL) : 0;
    uint64_t bytes = d->type_size;
    bool empty = kind == H5S_NULL;

    H5Sclose(space);
    if (!known || got != rank)
        return damaged("its shape cannot be read");
    d->tensor.rank = (unsigned)rank;
    for (int i = 0; i < rank; i++) {
        d->tensor.dims[i] = dims[i];
        empty |= dims[i] == 0;
    }
    for (int i = 0; i < rank && !empty; i++)
        if (__builtin_mul_overflow(bytes, dims[i], &bytes))
            return damaged("its shape is larger than any memory");
    d->tensor.count = empty ? 0 : bytes / d->type_size;
    return fine;
}

/*
 * Checks that the data is in this file, or that external storage is allowed. Sets *outside if the
 * data is in other files. Call this had_plugin vet_shape, because HDF5 opens the source files of a
 * virtual dataset to find its shape.
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
    if (*outside && !file->in->limits.allow_external)
        return refused(
            external > 0 ? "its data is in another file; --allow-external lets it be read"
                         : "it is virtual: its data is in other files; --allow-external lets it be "
                           "read");
    return fine;
}

/* Checks how many bytes the file stores of a dataset that has `bytes`. Sets d->unwritten. */
static int vet_stored(struct gcb_h5dataset *d, const struct gcb_infile *in, const char *shown,
                      uint64_t bytes, struct gcb_diag *diag)
{
    const uint64_t stored = H5Dget_storage_size(d->id);

    if (stored > in->size)
        return gcb_infile_fail(in, shown, GCB_E_CORRUPT, diag,
                               "says it stores %" PRIu64 " bytes, but the file has %" PRIu64,
                               stored, in->size);
    d->unwritten = stored == 0 && bytes > 0;
    if (bytes > GCB_READ_SMALL && d->unwritten)
        return gcb_infile_fail(in, shown, GCB_E_CORRUPT, diag,
                               "was never written: it declares %" PRIu64
                               " bytes and stores 0; --exclude leaves it out",
                               bytes);
    return gcb_infile_check_size(in, shown, bytes, d->plugin ? bytes : stored, diag);
}

/* True if the dataset's own object is in this file. An external link may lead to another file. */
static bool in_this_file(const struct gcb_h5dataset *d, const struct gcb_h5file *file)
{
    H5O_info_t here, root;

    if (!file->in->limits.allow_external)
        return true;
    return H5Oget_info2(d->id, &here, H5O_INFO_BASIC) >= 0 &&
           H5Oget_info2(file->id, &root, H5O_INFO_BASIC) >= 0 && here.fileno == root.fileno;
}

/* Checks storage, shape, chunks and filters, but not the size. Sets *outside if the data is in
 * other files. Sets the tensor's offset if the parent process may read the elements without
 * HDF5. */
static struct finding vet_kind(struct gcb_h5dataset *d, const struct gcb_h5file *file,
                               bool *outside)
{
    struct finding found;
    haddr_t at;
    hid_t dcpl;

    /* Data with an address is contiguous in the dataset's own file. Most datasets are like this and
     * need no property list, which is slow to get. */
    at = H5Dget_offset(d->id);
    if (at != HADDR_UNDEF) {
        found = vet_shape(d);
        /* with one byte for each element, or opaque ones, there is no order of bytes */
        if ((d->type_size == 1 || d->kind == H5T_OPAQUE || H5Tget_order(d->type) == H5T_ORDER_LE) &&
            !file->in->limits.allow_external && d->tensor.count > 0 && at <= file->in->size &&
            d->tensor.count <= (file->in->size - at) / d->type_size)
            d->tensor.offset = at;
        return found;
    }
    dcpl = H5Dget_create_plist(d->id);
    if (dcpl < 0)
        return damaged("its properties cannot be read");
    found = vet_storage(file, dcpl, outside);
    if (!found.status)
        found = vet_shape(d);
    if (!found.status && H5Pget_layout(dcpl) == H5D_CHUNKED)
        found = vet_chunks(d, file->in, dcpl);
    H5Pclose(dcpl);
    return found;
}

int gcb_h5dataset_vet(struct gcb_h5dataset *dataset, const struct gcb_h5file *file,
                      const char *shown, struct gcb_diag *diag)
{
    const struct gcb_infile *in = file->in;
    bool outside = false;
    const struct finding found = vet_kind(dataset, file, &outside);
    const uint64_t bytes = dataset->tensor.count * dataset->type_size;

    if (found.status)
        return gcb_infile_fail(in, shown, found.status, diag, "%s%s", found.text, found.advice);
    return !outside && in_this_file(dataset, file)
               ? vet_stored(dataset, in, shown, bytes, diag)
               : gcb_infile_check_size(in, shown, bytes, bytes, diag);
}
