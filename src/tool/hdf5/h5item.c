#include "src/tool/hdf5/h5item.h"

#include <string.h>

#include "kernels/convert/convert.h"
#include "src/lib/base/cpu_flags.h"
#include "src/tool/hdf5/h5type.h"

enum { BOUNCE = 4096 }; /* 2-byte floats widened at a time */

size_t gcb_h5item_size(const struct gcb_h5item *item)
{
    return item->bytes ? 1 : sizeof(float);
}

/* Has the dataset still the type and shape that it was listed with? */
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

/* The dataset's own type in little-endian order, so that HDF5 only swaps bytes. The caller closes the type. */
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

/* HDF5's own conversion of 2-byte floats is slow and takes memory, so they are widened here. */
static int read_half(const struct gcb_h5file *file, const struct gcb_h5item *item,
                     const struct gcb_h5dataset *d, uint64_t from, uint64_t count, float *out,
                     struct gcb_diag *diag)
{
    const hid_t type = little_endian(d);
    struct gcb_convert_fns convert;
    int err;

    if (type < 0)
        return gcb_h5file_fail(file, item->path, GCB_E_NOMEM, diag,
                               "HDF5 cannot make a float type");
    err = gcb_h5dataset_read(d, file, item->path, type, from, count, (uint8_t *)out + 2 * count,
                             diag);
    H5Tclose(type);
    gcb_convert_init(&convert, gcb_cpu_detect());
    if (!err)
        widen_in_place(item->dtype == GCB_BF16 ? convert.from_bf16 : convert.from_fp16, out, count);
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
