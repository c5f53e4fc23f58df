#include "src/tool/write/dump.h"

#include "kernels/convert/convert.h"
#include "src/tool/write/dump_private.h"

enum { BLOCK = 2048 }; /* number of elements that are converted at a time */

/* Converts n floats to the type that the file stores for `dtype`, which is not GCB_F32. Values for
 * GCB_BF16 are rounded to bfloat16 and stored as float32. `out` has room for BLOCK elements of any
 * type. */
static void convert_block(double out[BLOCK], enum gcb_dtype dtype, const float *x, size_t n)
{
    uint8_t half[BLOCK * sizeof(uint16_t)];
    struct gcb_convert_fns convert;

    gcb_convert_init(&convert, 0);
    if (dtype == GCB_F16)
        convert.to_fp16((uint8_t *)out, x, n);
    for (size_t i = 0; i < n && dtype == GCB_F64; i++)
        out[i] = (double)x[i];
    if (dtype == GCB_BF16) {
        convert.to_bf16(half, x, n);
        convert.from_bf16((float *)out, half, n);
    }
}

/* Writes the elements of the last dataset, converted to `dtype`. */
static int put_values(struct gcb_h5out *f, enum gcb_dtype dtype, const float *data,
                      struct gcb_diag *diag)
{
    const size_t size = dtype == GCB_BF16 ? sizeof(float) : gcb_dtype_size(dtype);
    const uint64_t count = f->left / size;
    double block[BLOCK];
    int err = 0;

    if (dtype == GCB_F32)
        return gcb_h5out_append(f, data, count * size, diag);
    for (uint64_t i = 0; i < count && !err; i += BLOCK) {
        const size_t n = count - i < BLOCK ? (size_t)(count - i) : BLOCK;

        convert_block(block, dtype, data + i, n);
        err = gcb_h5out_append(f, block, n * size, diag);
    }
    return err;
}

/* Makes the HDF5 type of IEEE binary16, which HDF5 1.10 does not define: bit 15 is the sign, bits
 * 10 to 14 the exponent with bias 15, and bits 0 to 9 the fraction. Returns a negative id on
 * failure. */
static hid_t create_half(void)
{
    const hid_t type = H5Tcopy(H5T_IEEE_F32LE);

    if (type >= 0 && (H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 || H5Tset_size(type, 2) < 0 ||
                      H5Tset_ebias(type, 15) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

/*
 * Makes the little-endian HDF5 type for elements of `dtype`. bfloat16 is stored as float32, because
 * other readers do not know bfloat16. Returns a negative id on failure. The caller closes the type.
 */
static hid_t create_type(enum gcb_dtype dtype)
{
    if (dtype == GCB_F16)
        return create_half();
    return H5Tcopy(dtype == GCB_F64 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE);
}

int gcb_dump_put(struct gcb_h5out *f, const struct gcb_tensor *t, const float *data,
                 struct gcb_diag *diag)
{
    const hid_t type = create_type(t->dtype);
    int err;

    if (type < 0)
        return gcb_diag_set(diag, GCB_E_INTERNAL, "HDF5 cannot make a float type");
    err = gcb_h5out_set(f, t->dataset, type, t->rank, t->dims, diag);
    H5Tclose(type);
    if (!err)
        err = put_values(f, t->dtype, data, diag);
    if (!err && t->index >= 0)
        err = gcb_h5out_value(f, t->dataset, "index", H5T_STD_I64LE, H5T_NATIVE_INT64, &t->index,
                              diag);
    if (!err && t->dtype == GCB_BF16)
        err = gcb_h5out_note(f, t->dataset, "source_dtype", "bfloat16", diag);
    return err;
}
