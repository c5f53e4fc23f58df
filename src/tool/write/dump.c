#include "src/tool/write/dump.h"

#include <string.h>

#include "kernels/convert/convert.h"
#include "src/lib/base/alloc.h"
#include "src/tool/write/h5out.h"

#define BLOCK ((size_t)16 << 10) /* number of elements that are converted at a time */

struct gcb_dump {
    struct gcb_h5out file;
    struct gcb_convert_fns convert;
    double block[BLOCK]; /* converted elements of any type; double is the widest */
};

int gcb_dump_create(struct gcb_dump **out, const char *path, bool force, const char *const *inputs,
                    size_t input_count, struct gcb_diag *diag)
{
    struct gcb_dump *dump = gcb_alloc_zero(1, sizeof(*dump));
    int err;

    if (!dump)
        return gcb_diag_nomem(diag, sizeof(*dump), "writing a dump");
    gcb_convert_init(&dump->convert, 0);
    err = gcb_h5out_init(&dump->file, path, force, inputs, input_count, diag);
    if (err) {
        gcb_free(dump);
        return err;
    }
    *out = dump;
    return 0;
}

/* Converts n floats to the type that the file stores for `dtype`. Returns the converted bytes. */
static const void *convert_block(struct gcb_dump *dump, enum gcb_dtype dtype, const float *x,
                                 size_t n)
{
    uint8_t *bytes = (uint8_t *)dump->block;
    uint8_t *half = bytes + BLOCK * sizeof(float); /* the second half of the block */

    switch (dtype) {
    case GCB_F16:
        dump->convert.to_fp16(bytes, x, n);
        return bytes;
    case GCB_BF16:
        dump->convert.to_bf16(half, x, n);
        dump->convert.from_bf16((float *)dump->block, half, n);
        return bytes;
    case GCB_F64:
        for (size_t i = 0; i < n; i++)
            dump->block[i] = (double)x[i];
        return bytes;
    default:
        return x;
    }
}

static int put_values(struct gcb_dump *dump, struct gcb_h5set *set, enum gcb_dtype dtype,
                      const float *data, struct gcb_diag *diag)
{
    const size_t size = dtype == GCB_BF16 ? sizeof(float) : gcb_dtype_size(dtype);
    const uint64_t count = set->left / size;
    int err = 0;

    for (uint64_t i = 0; i < count && !err; i += BLOCK) {
        const size_t n = count - i < BLOCK ? (size_t)(count - i) : BLOCK;

        err = gcb_h5set_append(&dump->file, set, convert_block(dump, dtype, data + i, n), n * size,
                               diag);
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

int gcb_dump_put(struct gcb_dump *dump, const struct gcb_dump_tensor *tensor, const float *data,
                 struct gcb_diag *diag)
{
    const hid_t type = create_type(tensor->dtype);
    struct gcb_h5set set = {0};
    int err;

    if (type < 0)
        return gcb_diag_set(diag, GCB_E_INTERNAL, "HDF5 cannot make a float type");
    err = gcb_h5set_create(&dump->file, &set, tensor->dataset, type, tensor->rank, tensor->dims,
                           diag);
    if (err)
        goto out;
    err = put_values(dump, &set, tensor->dtype, data, diag);
    if (!err && tensor->index >= 0)
        err = gcb_h5out_value(&dump->file, set.id, "index", H5T_STD_I64LE, H5T_NATIVE_INT64,
                              &tensor->index, diag);
    if (!err && tensor->dtype == GCB_BF16)
        err = gcb_h5out_text(&dump->file, set.id, "source_dtype", "bfloat16", diag);
out:
    gcb_h5set_close(&set);
    H5Tclose(type);
    return err;
}

static int open_group(struct gcb_dump *dump, hid_t *out, const char *group, struct gcb_diag *diag)
{
    *out = H5Gopen2(dump->file.file, group, H5P_DEFAULT);
    if (*out < 0)
        return gcb_diag_set(diag, GCB_E_INVALID, "%s: the group for an attribute does not exist",
                            dump->file.shown);
    return 0;
}

int gcb_dump_note(struct gcb_dump *dump, const char *group, const char *name, const char *text,
                  struct gcb_diag *diag)
{
    hid_t id;
    int err = open_group(dump, &id, group, diag);

    if (err)
        return err;
    err = gcb_h5out_text(&dump->file, id, name, text, diag);
    H5Gclose(id);
    return err;
}

int gcb_dump_value(struct gcb_dump *dump, const char *group, const char *name, double value,
                   struct gcb_diag *diag)
{
    hid_t id;
    int err = open_group(dump, &id, group, diag);

    if (err)
        return err;
    err = gcb_h5out_value(&dump->file, id, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value, diag);
    H5Gclose(id);
    return err;
}

int gcb_dump_commit(struct gcb_dump *dump, struct gcb_diag *diag)
{
    return gcb_h5out_commit(&dump->file, diag);
}

void gcb_dump_destroy(struct gcb_dump *dump)
{
    if (dump)
        gcb_h5out_fini(&dump->file);
    gcb_free(dump);
}
