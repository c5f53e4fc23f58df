#include "src/tool/write/dump.h"

#include "kernels/convert/convert.h"
#include "src/tool/write/dump_private.h"

enum { BLOCK = 2048 }; /* number of elements that are converted at a time */

/* Converts n floats to the type that the file stores for `dtype`: a float32 for GCB_BF16. */
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

static int put_values(struct gcb_h5out *f, struct gcb_h5set *set, enum gcb_dtype dtype,
                      const float *data, struct gcb_diag *diag)
{
    const size_t size = dtype == GCB_BF16 ? sizeof(float) : gcb_dtype_size(dtype);
    const uint64_t count = set->left / size;
    double block[BLOCK];
    int err = 0;

    if (dtype == GCB_F32)
        return gcb_h5set_append(f, set, data, count * size, diag);
    for (uint64_t i = 0; i < count && !err; i += BLOCK) {
        const size_t n = count - i < BLOCK ? (size_t)(count - i) : BLOCK;

        convert_block(block, dtype, data + i, n);
        err = gcb_h5set_append(f, set, block, n * size, diag);
    }
    return err;
}

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
 * Makes the HDF5 type of elements of `dtype` in a file, little-endian. bfloat16 becomes float32,
 * because other readers know no bfloat16. Returns a negative id on failure; the caller closes the
 * type.
 */
static hid_t create_type(enum gcb_dtype dtype)
{
    if (dtype == GCB_F16)
        return create_half();
    return H5Tcopy(dtype == GCB_F64 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE);
}

int gcb_dump_put(struct gcb_h5out *f, const struct gcb_dump_tensor *tensor, const float *data,
                 struct gcb_diag *diag)
{
    const hid_t type = create_type(tensor->dtype);
    struct gcb_h5set set = {0};
    int err;

    if (type < 0)
        return gcb_diag_set(diag, GCB_E_INTERNAL, "HDF5 cannot make a float type");
    err = gcb_h5set_create(f, &set, tensor->dataset, type, tensor->rank, tensor->dims, diag);
    if (err)
        goto out;
    err = put_values(f, &set, tensor->dtype, data, diag);
    if (!err && tensor->index >= 0)
        err = gcb_h5out_value(f, set.id, "index", H5T_STD_I64LE, H5T_NATIVE_INT64, &tensor->index,
                              diag);
    if (!err && tensor->dtype == GCB_BF16)
        err = gcb_h5out_text(f, set.id, "source_dtype", "bfloat16", diag);
out:
    gcb_h5set_close(&set);
    H5Tclose(type);
    return err;
}
