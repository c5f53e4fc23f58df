#include "src/tool/read/hdf5_item.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "kernels/convert/convert.h"
#include "src/lib/base/cpu_flags.h"
#include "src/tool/read/hdf5_type.h"

enum { BOUNCE = 4096 }; /* number of elements that are converted at a time */

size_t gcb_h5item_size(const struct gcb_h5item *item)
{
    return item->bytes ? 1 : item->dtype == GCB_F64 ? sizeof(double) : sizeof(float);
}

/* Checks that the dataset still has the type and shape that it had when the file was listed. */
static int check_same(const struct gcb_h5file *file, const struct gcb_h5item *item,
                      const struct gcb_h5dataset *d, struct gcb_diag *diag)
{
    struct gcb_h5reading reading = {GCB_H5_OWN, GCB_H5_OWN};
    struct gcb_h5element e;
    bool same;

    if (item->format != GCB_H5_OWN)
        gcb_h5format_use(&reading, item->format);
    same = item->bytes ? d->kind == H5T_INTEGER && d->type_size == 1
                       : gcb_h5type_of(&e, d, &reading) && e.dtype == item->dtype &&
                             e.format == item->format;
    if (same && d->rank == item->rank && d->count == item->count &&
        memcmp(d->dims, item->dims, d->rank * sizeof(*d->dims)) == 0)
        return 0;
    return gcb_h5file_fail(
        file, item->path, GCB_E_CORRUPT, diag,
        "changed since it was listed; do not write to the file while gcbench reads it");
}

/* Returns the dataset's own type in little-endian order, so that HDF5 only swaps bytes. The caller closes the type. */
static hid_t little_endian(const struct gcb_h5dataset *d)
{
    const hid_t type = H5Tcopy(d->type);

    if (type > 0 && d->kind != H5T_OPAQUE && H5Tset_order(type, H5T_ORDER_LE) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

/* Converts n elements of `size` bytes, 1 or 2, to float32. */
static void widen(const struct gcb_convert_fns *convert, const struct gcb_h5item *item, size_t size,
                  float *out, const uint8_t *in, size_t n)
{
    if (size == 1)
        gcb_h5format_widen(out, in, n, item->format);
    else if (item->dtype == GCB_BF16)
        convert->from_bf16(out, in, n);
    else
        convert->from_fp16(out, in, n);
}

/*
 * Widens n elements of 1 or 2 bytes, at the end of `out`, to n floats that fill `out`. Each block is copied away before it
 * is widened, so writing never overtakes reading.
 */
static void widen_in_place(const struct gcb_h5item *item, size_t size, float *out, uint64_t n)
{
    const uint8_t *in = (const uint8_t *)out + (sizeof(float) - size) * n;
    struct gcb_convert_fns convert;
    uint8_t bounce[2 * BOUNCE];

    gcb_convert_init(&convert, gcb_cpu_detect());
    for (uint64_t i = 0; i < n; i += BOUNCE) {
        const size_t m = n - i < BOUNCE ? (size_t)(n - i) : BOUNCE;

        memcpy(bounce, in + size * i, size * m);
        widen(&convert, item, size, out + i, bounce, m);
    }
}

/*
 * Reads elements without a conversion by HDF5, which is slow and takes memory: those of 1 or 2 bytes are widened here,
 * those of 8 bytes are left to gcb_h5item_take.
 */
static int read_unconverted(const struct gcb_h5file *file, const struct gcb_h5item *item,
                            const struct gcb_h5dataset *d, uint64_t from, uint64_t count, void *out,
                            struct gcb_diag *diag)
{
    const size_t size = d->type_size;
    const hid_t type = little_endian(d);
    uint8_t *to = out;
    int err;

    if (type < 0)
        return gcb_h5file_fail(file, item->path, GCB_E_NOMEM, diag,
                               "HDF5 cannot make a type for its elements");
    if (size < sizeof(float))
        to += (sizeof(float) - size) * count;
    err = gcb_h5dataset_read(d, file, item->path, type, from, count, to, diag);
    H5Tclose(type);
    if (!err && size < sizeof(float))
        widen_in_place(item, size, out, count);
    return err;
}

int gcb_h5item_read(const struct gcb_h5file *file, const struct gcb_h5item *item, uint64_t from,
                    uint64_t *count, void *out, struct gcb_diag *diag)
{
    const uint64_t room = *count;
    struct gcb_h5dataset d;
    int err = gcb_h5dataset_open(&d, file, file->id, item->path, item->path, diag);

    if (!err)
        err = gcb_h5dataset_vet(&d, file, item->path, diag);
    if (!err)
        err = check_same(file, item, &d, diag);
    if (err)
        goto out;
    *count = gcb_h5dataset_piece(&d, from, room);
    if (*count > room)
        goto out;
    if (!item->bytes && d.type_size != sizeof(float))
        err = read_unconverted(file, item, &d, from, *count, out, diag);
    else
        err = gcb_h5dataset_read(&d, file, item->path,
                                 item->bytes ? H5T_NATIVE_UINT8 : H5T_NATIVE_FLOAT, from, *count,
                                 out, diag);
out:
    gcb_h5dataset_close(&d);
    return err;
}

/* ---- without HDF5 ---- */

/* Converts n doubles, which are the elements from number `from` on. */
static int narrow(const struct gcb_h5file *file, const struct gcb_h5item *item, uint64_t from,
                  const double *in, size_t n, float *out, struct gcb_diag *diag)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (float)in[i];
        if (isinf(out[i]) && !isinf(in[i]))
            return gcb_h5file_fail(file, item->path, GCB_E_CORRUPT, diag,
                                   "element %" PRIu64 " is %g, but methods work in float32, which "
                                   "ends at %g; --exclude leaves the tensor out",
                                   from + i, in[i], (double)FLT_MAX);
    }
    return 0;
}

int gcb_h5item_take(const struct gcb_h5file *file, const struct gcb_h5item *item, uint64_t from,
                    const void *data, uint64_t count, void *out, struct gcb_diag *diag)
{
    if (!item->bytes && item->dtype == GCB_F64)
        return narrow(file, item, from, data, count, out, diag);
    memcpy(out, data, count * gcb_h5item_size(item));
    return 0;
}

void gcb_h5item_locate(struct gcb_h5item *item, const struct gcb_h5dataset *dataset)
{
    const bool in_place =
        dataset->in_place && (dataset->type_size == 1 || dataset->kind == H5T_OPAQUE ||
                              H5Tget_order(dataset->type) == H5T_ORDER_LE);

    item->stored = in_place ? (unsigned)dataset->type_size : 0;
    item->offset = in_place ? dataset->offset : 0;
}

bool gcb_h5item_plausible(const struct gcb_h5item *item, const struct gcb_h5file *file)
{
    const bool own = !item->bytes && item->format == GCB_H5_OWN; /* else, 1 or 2 bytes */
    const size_t size = own           ? gcb_dtype_size(item->dtype)
                        : item->bytes ? 1
                                      : gcb_h5format_size(item->format);

    if (item->stored == 0)
        return true;
    /* a float32 with the attribute source_dtype counts as a type of 2 bytes */
    return (item->stored == size || (own && size == 2 && item->stored == sizeof(float))) &&
           !file->limits.allow_external && item->offset <= file->size &&
           item->count <= (file->size - item->offset) / item->stored;
}

static int read_bytes(const struct gcb_h5file *file, int descriptor, const struct gcb_h5item *item,
                      uint64_t from, void *out, uint64_t size, struct gcb_diag *diag)
{
    uint64_t done = 0;

    while (done < size) {
        const ssize_t n = pread(descriptor, (uint8_t *)out + done, size - done,
                                (off_t)(item->offset + from + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return gcb_h5file_fail(file, item->path, GCB_E_IO, diag, "%s", strerror(errno));
        if (n == 0)
            return gcb_h5file_fail(file, item->path, GCB_E_CORRUPT, diag, "the file was cut short");
        done += (uint64_t)n;
    }
    return 0;
}

static int read_double(const struct gcb_h5file *file, int descriptor, const struct gcb_h5item *item,
                       uint64_t from, uint64_t count, float *out, struct gcb_diag *diag)
{
    double bounce[BOUNCE];
    int err = 0;

    for (uint64_t i = 0; i < count && !err; i += BOUNCE) {
        const size_t n = count - i < BOUNCE ? (size_t)(count - i) : BOUNCE;

        err = read_bytes(file, descriptor, item, (from + i) * sizeof(double), bounce,
                         n * sizeof(double), diag);
        if (!err)
            err = narrow(file, item, from + i, bounce, n, out + i, diag);
    }
    return err;
}

int gcb_h5item_read_stored(const struct gcb_h5file *file, int descriptor,
                           const struct gcb_h5item *item, uint64_t from, uint64_t count, void *out,
                           struct gcb_diag *diag)
{
    const uint64_t begin = from * item->stored, size = count * item->stored;
    uint8_t *to = out;
    int err = gcb_h5file_check(file, descriptor, item->path, diag);

    if (err)
        return err;
    if (item->stored == 8)
        return read_double(file, descriptor, item, from, count, out, diag);
    if (item->bytes || item->stored == sizeof(float))
        return read_bytes(file, descriptor, item, begin, out, size, diag);
    err = read_bytes(file, descriptor, item, begin, to + count * sizeof(float) - size, size, diag);
    if (!err)
        widen_in_place(item, item->stored, out, count);
    return err;
}
