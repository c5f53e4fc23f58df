/* The reader of HDF5: lists the datasets of a file that are tensors, and reads their elements. */
#include "src/tool/read/hdf5.h"

#include <string.h>

/* ---- types ---- */

/*
 * Returns the format of a dataset of floats, or GCB_ELEMENT_NONE. Knows the IEEE formats in either
 * byte order, bf16 and fp8. Datasets of other floats are not tensors, because a message could not
 * restore their type.
 */
static enum gcb_element float_element(const struct gcb_h5dataset *d)
{
    static const struct {
        size_t size, exp_bits, bias;
        enum gcb_element is;
    } small[] = {
        {2, 5, 15, GCB_ELEMENT_FP16},
        {2, 8, 127, GCB_ELEMENT_BF16},
        {1, 4, 7, GCB_ELEMENT_E4M3},
        {1, 5, 15, GCB_ELEMENT_E5M2},
    };
    const size_t bits = 8 * d->type_size;
    size_t sign, exp_at, exp_bits, man_at, man_bits;

    if (H5Tequal(d->type, H5T_IEEE_F32LE) > 0 || H5Tequal(d->type, H5T_IEEE_F32BE) > 0)
        return GCB_ELEMENT_FP32;
    if (H5Tequal(d->type, H5T_IEEE_F64LE) > 0 || H5Tequal(d->type, H5T_IEEE_F64BE) > 0)
        return GCB_ELEMENT_FP64;
    if (d->type_size > 2 ||
        H5Tget_fields(d->type, &sign, &exp_at, &exp_bits, &man_at, &man_bits) < 0 ||
        H5Tget_precision(d->type) != bits || H5Tget_offset(d->type) != 0 || sign != bits - 1 ||
        man_at != 0 || exp_at != man_bits || exp_bits + man_bits + 1 != bits ||
        H5Tget_norm(d->type) != H5T_NORM_IMPLIED || H5Tget_order(d->type) > H5T_ORDER_BE)
        return GCB_ELEMENT_NONE;
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
        if (d->type_size == small[i].size && exp_bits == small[i].exp_bits &&
            H5Tget_ebias(d->type) == small[i].bias)
            return small[i].is;
    return GCB_ELEMENT_NONE;
}

/* True if the elements are integers, bit fields or opaque bytes that could hold a float of 1 or 2
 * bytes. */
static bool could_hold_floats(const struct gcb_h5dataset *d)
{
    if (d->type_size > 2)
        return false;
    if (d->kind == H5T_OPAQUE)
        return true;
    return (d->kind == H5T_INTEGER || d->kind == H5T_BITFIELD) &&
           H5Tget_precision(d->type) == 8 * d->type_size && H5Tget_offset(d->type) == 0;
}

/* Returns the format that the attribute source_dtype names, or GCB_ELEMENT_NONE. */
static enum gcb_element source_element(const struct gcb_h5dataset *d)
{
    char text[32];

    return gcb_h5attr_text(d->id, "source_dtype", text, sizeof(text)) ? gcb_element_of(text)
                                                                      : GCB_ELEMENT_NONE;
}

/*
 * Sets the element and dtype of an open dataset. A float32 may count as the smaller type that its
 * attribute source_dtype names. Integers, bit fields and opaque bytes are in the format that
 * source_dtype names if that format has their size, and otherwise in the format of `reading`.
 * Returns false if the dataset is not a tensor.
 */
static bool find_type(struct gcb_h5dataset *d, const struct gcb_reading *reading)
{
    struct gcb_tensor *t = &d->tensor;
    enum gcb_element source = GCB_ELEMENT_NONE;

    t->element = GCB_ELEMENT_NONE;
    if (d->kind == H5T_FLOAT) {
        t->element = float_element(d);
        if (t->element == GCB_ELEMENT_FP32)
            source = source_element(d);
    } else if (could_hold_floats(d)) {
        t->element = source_element(d);
        if (gcb_element_size(t->element) != d->type_size)
            t->element = d->type_size == 2 ? reading->words : reading->bytes;
    }
    /* A float16 gradient that was divided by the loss scale is stored as float32 and counts as
     * float32, because float16 cannot hold its values. */
    if (source == GCB_ELEMENT_NONE || source == GCB_ELEMENT_FP16)
        source = t->element;
    t->dtype = gcb_element_dtype(source);
    return t->element != GCB_ELEMENT_NONE;
}

/* ---- listing ---- */

/* The context of the functions that the walk calls. */
struct visit {
    struct gcb_listing *listing;
    const struct gcb_h5file *file;
};

/* True if the dataset only stands for a netCDF-4 dimension that has no values. netCDF makes a
 * dataset of floats for each such dimension, and never writes the floats. */
static bool is_dimension(const struct gcb_h5dataset *d)
{
    static const char words[] = "This is a netCDF dimension but not a netCDF variable";
    char text[128];

    return gcb_h5attr_text(d->id, "CLASS", text, sizeof(text)) &&
           strcmp(text, "DIMENSION_SCALE") == 0 &&
           gcb_h5attr_text(d->id, "NAME", text, sizeof(text)) &&
           strncmp(text, words, sizeof(words) - 1) == 0;
}

/* Returns the remark for a dataset that is not a tensor. */
static enum gcb_remark remark_for(const struct gcb_h5dataset *d)
{
    if (d->kind == H5T_FLOAT)
        return GCB_REMARK_FLOATS;
    if (!could_hold_floats(d))
        return GCB_REMARK_OTHERS;
    return d->type_size == 2 ? GCB_REMARK_WORDS : GCB_REMARK_BYTES;
}

/* Lists a dataset of the walk, or says why it is not a tensor. */
static int on_dataset(void *ctx, struct gcb_h5dataset *d, const char *path, struct gcb_diag *diag)
{
    struct gcb_tensor *t = &d->tensor;
    const struct visit *v = ctx;
    const bool selected = gcb_listing_selects(v->listing, path, t->linked);
    const bool dimension = is_dimension(d);
    int err = 0;

    if (dimension || !find_type(d, gcb_listing_reading(v->listing)))
        return gcb_listing_remark(v->listing, dimension ? GCB_REMARK_DIMENSIONS : remark_for(d),
                                  path, selected, diag);
    if (selected)
        err = gcb_h5dataset_vet(d, v->file, path, diag);
    if (!gcb_h5attr_integer(d->id, "index", &t->index) || t->index < 0)
        t->index = -1;
    t->dataset = path;
    if (!err)
        err = gcb_listing_tensor(v->listing, t, diag);
    if (!err && d->unwritten)
        err = gcb_listing_remark(v->listing, GCB_REMARK_UNWRITTEN, path, true, diag);
    return err;
}

/* Says that an object was left out. The user is told of each unreadable object, although the walk
 * leaves out only unreadable objects that are not wanted. */
static int on_left_out(void *ctx, enum gcb_remark why, const char *path, struct gcb_diag *diag)
{
    struct gcb_listing *l = ((const struct visit *)ctx)->listing;

    return gcb_listing_remark(
        l, why, path, why == GCB_REMARK_UNREADABLE || gcb_listing_wants(l, path, true), diag);
}

static bool is_wanted(void *ctx, const char *path, bool below)
{
    return gcb_listing_wants(((const struct visit *)ctx)->listing, path, below);
}

static int list(void *state, struct gcb_listing *listing, struct gcb_diag *diag)
{
    struct visit v = {listing, state};
    const struct gcb_h5visitor visitor = {
        .ctx = &v, .dataset = on_dataset, .wanted = is_wanted, .left_out = on_left_out};
    char version[16], what[64];
    int err = 0;

    if (gcb_h5attr_text(v.file->id, "gcbench_container", version, sizeof(version)))
        err = gcb_listing_remark(listing, GCB_REMARK_MESSAGES, "/", true, diag);
    if (!err && gcb_h5attr_text(v.file->id, "what", what, sizeof(what)))
        err = gcb_listing_what(listing, what, diag);
    return err ? err : gcb_h5walk(v.file, &visitor, diag);
}

/* ---- reading ---- */

/* Checks that the dataset still has the type and shape that it had when the file was listed. */
static int check_same(const struct gcb_infile *file, const struct gcb_tensor *t,
                      struct gcb_h5dataset *d, struct gcb_diag *diag)
{
    const struct gcb_reading reading = {t->element, t->element};
    bool same;

    if (t->element == GCB_ELEMENT_BYTE) /* bytes of messages (container.c in src/tool/write) */
        same = d->kind == H5T_INTEGER && d->type_size == 1;
    else
        same = find_type(d, &reading) && d->tensor.element == t->element &&
               gcb_element_size(t->element) == d->type_size;
    if (same && d->tensor.rank == t->rank && d->tensor.count == t->count &&
        memcmp(d->tensor.dims, t->dims, d->tensor.rank * sizeof(*d->tensor.dims)) == 0)
        return 0;
    return gcb_infile_fail(
        file, t->dataset, GCB_E_CORRUPT, diag,
        "changed since it was listed; do not write to the file while gcbench reads it");
}

/* Returns the dataset's own type in little-endian order, so that HDF5 only swaps bytes. The caller
 * closes the type. */
static hid_t little_endian(const struct gcb_h5dataset *d)
{
    const hid_t type = H5Tcopy(d->type);

    if (type > 0 && d->kind != H5T_OPAQUE && H5Tset_order(type, H5T_ORDER_LE) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

/* Reads elements of a tensor, as `read` of struct gcb_reader. */
static int read_tensor(void *state, const struct gcb_tensor *t, uint64_t from, uint64_t *count,
                       void *out, struct gcb_diag *diag)
{
    const struct gcb_h5file *file = state;
    const uint64_t room = *count;
    struct gcb_h5dataset d;
    hid_t type = H5I_INVALID_HID;
    int err = gcb_h5dataset_open(&d, file, file->id, t->dataset, t->dataset, diag);

    if (!err)
        err = gcb_h5dataset_vet(&d, file, t->dataset, diag);
    if (!err)
        err = check_same(file->in, t, &d, diag);
    if (err)
        goto out;
    *count = gcb_h5dataset_piece(&d, from, room);
    if (*count > room)
        goto out;
    type = little_endian(&d);
    if (type < 0)
        err = gcb_infile_fail(file->in, t->dataset, GCB_E_NOMEM, diag,
                              "HDF5 cannot make a type for its elements");
    else
        err = gcb_h5dataset_read(&d, file->in, t->dataset, type, from, *count, out, diag);
out:
    H5Tclose(type);
    gcb_h5dataset_close(&d);
    return err;
}

/* ---- the table of the reader ---- */

static bool probe(int descriptor, uint64_t size)
{
    uint64_t begin;

    return gcb_filekind_hdf5(descriptor, size, &begin);
}

const struct gcb_reader gcb_hdf5 = {
    .name = "HDF5",
    .summary = "each dataset of 16, 32 or 64-bit floats is a tensor; groups such as `step_100`, "
               "`iter100` and `worker_0`, `rank0` give step and worker. A note says how many other "
               "datasets were skipped; `--as` reads bfloat16 and fp8 in integers.",
    .endings = {".h5", ".hdf5", ".nc"},
    .library = "the HDF5 library",
    /* 1 GiB for up to four buffers that unpack a chunk of 256 MiB (hdf5_vet.c), and 1 GiB for other
     * data */
    .address_space = UINT64_C(2) << 30,
    .opens_files = true,
    .probe = probe,
    .prepare = gcb_h5file_prepare,
    .load = gcb_h5plugin_load,
    .open = gcb_h5file_open,
    .list = list,
    .read = read_tensor,
    .close = gcb_h5file_close,
};
