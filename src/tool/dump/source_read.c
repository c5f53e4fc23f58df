/* Reading one tensor, widened to float32 in place. */
#include <string.h>

#include "src/tool/dump/source_private.h"

enum { BOUNCE = 4096 }; /* halves widened at a time */

/* The file may have changed since it was listed. */
static int check_same(const struct gcb_h5file *file, const struct gcb_tensor *t,
                      const struct gcb_h5dataset *d, struct gcb_diag *diag)
{
    enum gcb_dtype dtype;

    if (gcb_source_dtype(&dtype, d) && dtype == t->dtype && d->rank == t->rank &&
        d->count == t->count && memcmp(d->dims, t->dims, sizeof(t->dims)) == 0)
        return 0;
    return gcb_h5file_fail(file, t->dataset, GCB_E_CORRUPT, diag, "changed while it was read");
}

/* The type in which HDF5 hands over 2-byte floats untouched, but for the byte order; the caller closes it. */
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
 * n 2-byte floats that fill the second half of `out` become the n floats of `out`. What is written never
 * overtakes what is unread, because a piece is lifted out first.
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

/* HDF5's own conversion of 2-byte floats is slow and takes memory; ours takes neither. */
static int read_half(const struct gcb_source *s, const struct gcb_tensor *t,
                     const struct gcb_h5dataset *d, float *out, struct gcb_diag *diag)
{
    const hid_t type = little_endian(d);
    uint8_t *tail = (uint8_t *)out + 2 * t->count;
    int err;

    if (type < 0)
        return gcb_h5file_fail(&s->file, t->dataset, GCB_E_NOMEM, diag, "no type");
    err = gcb_h5dataset_read(d, &s->file, t->dataset, type, tail, diag);
    H5Tclose(type);
    if (!err)
        widen_in_place(t->dtype == GCB_BF16 ? s->convert.from_bf16 : s->convert.from_fp16, out,
                       t->count);
    return err;
}

int gcb_source_read(struct gcb_source *source, size_t i, float *out, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = &source->tensors[i];
    struct gcb_h5dataset d = {0};
    int err;

    if (source->synthetic) {
        gcb_synthetic_fill(&source->synthetic[i], out, t->count, source->seed, i);
        return 0;
    }
    err = gcb_source_use(source, t->file, diag);
    if (err)
        return err;
    err = gcb_h5dataset_open(&d, &source->file, source->file.id, t->dataset, t->dataset, diag);
    if (!err)
        err = gcb_h5dataset_vet(&d, &source->file, t->dataset, diag);
    if (!err)
        err = check_same(&source->file, t, &d, diag);
    if (!err && d.type_size == 2)
        err = read_half(source, t, &d, out, diag);
    else if (!err)
        err = gcb_h5dataset_read(&d, &source->file, t->dataset, H5T_NATIVE_FLOAT, out, diag);
    gcb_h5dataset_close(&d);
    return err;
}
