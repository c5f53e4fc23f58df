#include "src/tool/hdf5/h5type.h"

#include <string.h>

#include "src/tool/hdf5/h5attr.h"

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

hid_t gcb_h5type_create(enum gcb_dtype dtype)
{
    if (dtype == GCB_F16)
        return create_half();
    return H5Tcopy(dtype == GCB_F64 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE);
}

/*
 * Recognises the IEEE formats in either byte order, and the upper half of a float32. HDF5 would convert other
 * formats bit by bit, and a message could not restore them, so they are not tensors.
 */
static bool format_of(enum gcb_dtype *out, const struct gcb_h5dataset *d)
{
    size_t sign, exp_at, exp_bits, man_at, man_bits;

    if (d->kind != H5T_FLOAT)
        return false;
    *out = d->type_size == 4 ? GCB_F32 : GCB_F64;
    if (d->type_size == 4)
        return H5Tequal(d->type, H5T_IEEE_F32LE) > 0 || H5Tequal(d->type, H5T_IEEE_F32BE) > 0;
    if (d->type_size == 8)
        return H5Tequal(d->type, H5T_IEEE_F64LE) > 0 || H5Tequal(d->type, H5T_IEEE_F64BE) > 0;
    if (d->type_size != 2 ||
        H5Tget_fields(d->type, &sign, &exp_at, &exp_bits, &man_at, &man_bits) < 0)
        return false;
    *out = exp_bits == 8 ? GCB_BF16 : GCB_F16;
    return H5Tget_precision(d->type) == 16 && H5Tget_offset(d->type) == 0 && sign == 15 &&
           man_at == 0 && exp_at == man_bits &&
           ((exp_bits == 5 && man_bits == 10 && H5Tget_ebias(d->type) == 15) ||
            (exp_bits == 8 && man_bits == 7 && H5Tget_ebias(d->type) == 127)) &&
           H5Tget_norm(d->type) == H5T_NORM_IMPLIED && H5Tget_order(d->type) <= H5T_ORDER_BE;
}

bool gcb_h5type_of(enum gcb_dtype *out, const struct gcb_h5dataset *dataset)
{
    char text[32];

    if (!format_of(out, dataset))
        return false;
    if (*out == GCB_F32 && gcb_h5attr_text(dataset->id, "source_dtype", text, sizeof(text)) &&
        strcmp(text, "bfloat16") == 0)
        *out = GCB_BF16;
    return true;
}
