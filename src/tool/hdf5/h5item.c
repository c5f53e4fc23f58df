#include "src/tool/hdf5/h5item.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kernels/convert/convert.h"
#include "src/lib/base/cpu_flags.h"
#include "src/tool/hdf5/h5type.h"

enum { BOUNCE = 4096 }; /* number of elements that are converted at a time */

size_t gcb_h5item_size(const struct gcb_h5item *item)
{
    return item->bytes ? 1 : sizeof(float);
}

/* Checks that the dataset still has the type and shape that it had when the file was listed. */
static int check_same(const struct gcb_h5file *file, const struct gcb_h5item *item,
                      const struct gcb_h5dataset *d, struct gcb_diag *diag)
{
    enum gcb_dtype dtype = item->dtype;
    const bool type = item->bytes ? d->kind == H5T_INTEGER && d->type_size == 1
                                  : gcb_h5type_of(&dtype, d) && dtype == item->dtype;

    if (type && d->rank == item->rank && d->count == item->count &&
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

    if (type > 0 && H5Tset_order(type, H5T_ORDER_LE) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

/*
 * Widens the n 2-byte floats in the second half of `out` to n floats that fill `out`. Each block is copied away
 * before it is widened, so writing never overtakes reading.
 */
static void widen_in_place(gcb_convert_widen_fn *widen, float *out, uint64_t n)
{
    const uint8_t *in = (const uint8_t *)out + 2 * n;
    uint8_t bounce[2 * BOUNCE];

    for (uint64_t i = 0; i < n; i += BOUNCE) {
        const size_t m = n - i < BOUNCE ? (size_t)(n - i) : BOUNCE;

        memcpy(bounce, in + 2 * i, 2 * m);
        widen(out + i, bounce, m);
    }
}

/* Chooses the conversion for the item's type and widens the n 2-byte floats in the second half of `out`. */
static void widen_item(const struct gcb_h5item *item, float *out, uint64_t n)
{
    struct gcb_convert_fns convert;

    gcb_convert_init(&convert, gcb_cpu_detect());
    widen_in_place(item->dtype == GCB_BF16 ? convert.from_bf16 : convert.from_fp16, out, n);
}

/* Reads 2-byte floats as they are and widens them here, because HDF5's own conversion is slow and takes memory. */
static int read_half(const struct gcb_h5file *file, const struct gcb_h5item *item,
                     const struct gcb_h5dataset *d, uint64_t from, uint64_t count, float *out,
                     struct gcb_diag *diag)
{
    const hid_t type = little_endian(d);
    int err;

    if (type < 0)
        return gcb_h5file_fail(file, item->path, GCB_E_NOMEM, diag,
                               "HDF5 cannot make a float type");
    err = gcb_h5dataset_read(d, file, item->path, type, from, count, (uint8_t *)out + 2 * count,
                             diag);
    H5Tclose(type);
    if (!err)
        widen_item(item, out, count);
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
    if (d.type_size == 2)
        err = read_half(file, item, &d, from, *count, out, diag);
    else
        err = gcb_h5dataset_read(&d, file, item->path,
                                 item->bytes ? H5T_NATIVE_UINT8 : H5T_NATIVE_FLOAT, from, *count,
                                 out, diag);
out:
    gcb_h5dataset_close(&d);
    return err;
}

/* ---- without HDF5 ---- */

void gcb_h5item_locate(struct gcb_h5item *item, const struct gcb_h5dataset *dataset)
{
    const bool in_place =
        dataset->in_place && (item->bytes || H5Tget_order(dataset->type) == H5T_ORDER_LE);

    item->stored = in_place ? (unsigned)dataset->type_size : 0;
    item->offset = in_place ? dataset->offset : 0;
}

bool gcb_h5item_plausible(const struct gcb_h5item *item, const struct gcb_h5file *file)
{
    const size_t size = item->bytes ? 1 : gcb_dtype_size(item->dtype);

    if (item->stored == 0)
        return true;
    return (item->stored == size || (item->dtype == GCB_BF16 && item->stored == 4)) &&
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
        for (size_t k = 0; k < n && !err; k++)
            out[i + k] = (float)bounce[k];
    }
    return err;
}

int gcb_h5item_read_stored(const struct gcb_h5file *file, int descriptor,
                           const struct gcb_h5item *item, uint64_t from, uint64_t count, void *out,
                           struct gcb_diag *diag)
{
    const uint64_t begin = from * item->stored, size = count * item->stored;
    int err = gcb_h5file_check(file, descriptor, item->path, diag);

    if (err)
        return err;
    if (item->stored == 8)
        return read_double(file, descriptor, item, from, count, out, diag);
    if (item->stored != 2)
        return read_bytes(file, descriptor, item, begin, out, size, diag);
    err = read_bytes(file, descriptor, item, begin, (uint8_t *)out + size, size, diag);
    if (!err)
        widen_item(item, out, count);
    return err;
}
