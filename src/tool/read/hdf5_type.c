#include "src/tool/read/hdf5_type.h"

#include <string.h>

#include "src/tool/read/hdf5_attr.h"

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
 * Recognises the IEEE formats in either byte order, the upper half of a float32, and fp8. HDF5 would convert other
 * formats bit by bit, and a message could not restore them, so they are not tensors.
 */
static bool own_format(struct gcb_h5element *out, const struct gcb_h5dataset *d)
{
    static const struct {
        size_t size, exp_bits, bias;
        struct gcb_h5element is;
    } small[] = {
        {2, 5, 15, {GCB_F16, GCB_H5_OWN}},
        {2, 8, 127, {GCB_BF16, GCB_H5_OWN}},
        {1, 4, 7, {GCB_F16, GCB_H5_E4M3}},
        {1, 5, 15, {GCB_F16, GCB_H5_E5M2}},
    };
    const size_t bits = 8 * d->type_size;
    size_t sign, exp_at, exp_bits, man_at, man_bits;

    *out = (struct gcb_h5element){d->type_size == 4 ? GCB_F32 : GCB_F64, GCB_H5_OWN};
    if (d->type_size == 4)
        return H5Tequal(d->type, H5T_IEEE_F32LE) > 0 || H5Tequal(d->type, H5T_IEEE_F32BE) > 0;
    if (d->type_size == 8)
        return H5Tequal(d->type, H5T_IEEE_F64LE) > 0 || H5Tequal(d->type, H5T_IEEE_F64BE) > 0;
    if (d->type_size > 2 ||
        H5Tget_fields(d->type, &sign, &exp_at, &exp_bits, &man_at, &man_bits) < 0 ||
        H5Tget_precision(d->type) != bits || H5Tget_offset(d->type) != 0 || sign != bits - 1 ||
        man_at != 0 || exp_at != man_bits || exp_bits + man_bits + 1 != bits ||
        H5Tget_norm(d->type) != H5T_NORM_IMPLIED || H5Tget_order(d->type) > H5T_ORDER_BE)
        return false;
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
        if (d->type_size == small[i].size && exp_bits == small[i].exp_bits &&
            H5Tget_ebias(d->type) == small[i].bias) {
            *out = small[i].is;
            return true;
        }
    return false;
}

bool gcb_h5type_plain(const struct gcb_h5dataset *d)
{
    if (d->type_size > 2)
        return false;
    if (d->kind == H5T_OPAQUE)
        return true;
    return (d->kind == H5T_INTEGER || d->kind == H5T_BITFIELD) &&
           H5Tget_precision(d->type) == 8 * d->type_size && H5Tget_offset(d->type) == 0;
}

/* The format that the dataset's attribute source_dtype names, if any. */
static enum gcb_h5format named_format(const struct gcb_h5dataset *d)
{
    enum gcb_h5format format = GCB_H5_OWN;
    char text[32];

    if (gcb_h5attr_text(d->id, "source_dtype", text, sizeof(text)))
        (void)gcb_h5format_parse(&format, text);
    return format;
}

bool gcb_h5type_of(struct gcb_h5element *out, const struct gcb_h5dataset *d,
                   const struct gcb_h5reading *reading)
{
    enum gcb_h5format format;

    if (d->kind == H5T_FLOAT) {
        if (!own_format(out, d))
            return false;
        format = out->dtype == GCB_F32 ? named_format(d) : GCB_H5_OWN;
        if (format != GCB_H5_OWN && format != GCB_H5_FP16)
            out->dtype = gcb_h5format_dtype(format);
        return true;
    }
    if (!gcb_h5type_plain(d))
        return false;
    format = named_format(d);
    if (format == GCB_H5_OWN || gcb_h5format_size(format) != d->type_size)
        format = d->type_size == 2 ? reading->words : reading->bytes;
    if (format == GCB_H5_OWN)
        return false;
    *out = (struct gcb_h5element){gcb_h5format_dtype(format), format};
    return true;
}
