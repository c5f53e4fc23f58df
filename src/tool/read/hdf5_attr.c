#include "src/tool/read/hdf5_attr.h"

#include <string.h>

#include "src/tool/read/hdf5_heap.h"

enum { MAX_ATTRIBUTES = 256 };

/* An open attribute, with its type and shape. */
struct attribute {
    hid_t id, type;
    H5T_class_t kind;
    hssize_t count;
};

static void attribute_close(struct attribute *a)
{
    if (a->type > 0)
        H5Tclose(a->type);
    if (a->id > 0)
        H5Aclose(a->id);
}

static bool read_count(struct attribute *a)
{
    const hid_t space = H5Aget_space(a->id);

    if (space < 0)
        return false;
    a->count =
        H5Sget_simple_extent_type(space) == H5S_NULL ? -1 : H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    return a->count >= 0;
}

/* Opens an attribute with its type and shape. On failure, nothing stays open. */
static bool attribute_open(struct attribute *a, hid_t object, const char *name)
{
    *a = (struct attribute){0};
    if (H5Aexists(object, name) <= 0)
        return false;
    a->id = H5Aopen(object, name, H5P_DEFAULT);
    if (a->id > 0)
        a->type = H5Aget_type(a->id);
    if (a->type > 0)
        a->kind = H5Tget_class(a->type);
    if (a->type > 0 && a->kind >= 0 && read_count(a))
        return true;
    attribute_close(a);
    return false;
}

/* Is the attribute a number in a common format? HDF5 converts other formats with code that is little tested. */
static bool is_plain_number(const struct attribute *a)
{
    const size_t size = H5Tget_size(a->type);

    if (a->kind == H5T_INTEGER)
        return size <= 8 && H5Tget_precision(a->type) == 8 * size && H5Tget_offset(a->type) == 0;
    return a->kind == H5T_FLOAT &&
           (H5Tequal(a->type, H5T_IEEE_F64LE) > 0 || H5Tequal(a->type, H5T_IEEE_F32LE) > 0 ||
            H5Tequal(a->type, H5T_IEEE_F64BE) > 0 || H5Tequal(a->type, H5T_IEEE_F32BE) > 0);
}

bool gcb_h5attr_number(hid_t object, const char *name, double *value)
{
    struct attribute a;
    double v;
    bool ok;

    if (!attribute_open(&a, object, name))
        return false;
    ok = a.count == 1 && is_plain_number(&a) && H5Aread(a.id, H5T_NATIVE_DOUBLE, &v) >= 0;
    if (ok)
        *value = v;
    attribute_close(&a);
    return ok;
}

static bool read_integer(const struct attribute *a, int64_t *value)
{
    return a->kind == H5T_INTEGER && is_plain_number(a) &&
           H5Aread(a->id, H5T_NATIVE_INT64, value) >= 0;
}

bool gcb_h5attr_integer(hid_t object, const char *name, int64_t *value)
{
    struct attribute a;
    int64_t v = 0;
    bool ok;

    if (!attribute_open(&a, object, name))
        return false;
    /* HDF5 clips numbers that int64_t cannot hold, so a number at the limit counts as too large */
    ok = a.count == 1 && read_integer(&a, &v) && v != INT64_MAX && v != INT64_MIN;
    if (ok)
        *value = v;
    attribute_close(&a);
    return ok;
}

/* A text of fixed length is padded with zeros or blanks and need not be terminated. */
static bool read_fixed(const struct attribute *a, char *out, size_t size)
{
    const size_t n = H5Tget_size(a->type);

    if (n == 0 || n >= size || H5Aread(a->id, a->type, out) < 0)
        return false;
    out[n] = '\0';
    for (size_t i = strlen(out); H5Tget_strpad(a->type) == H5T_STR_SPACEPAD && i > 0; i--) {
        if (out[i - 1] != ' ')
            break;
        out[i - 1] = '\0';
    }
    return true;
}

bool gcb_h5attr_text(hid_t object, const char *name, char *out, size_t size)
{
    struct attribute a;
    bool ok = false;

    if (!attribute_open(&a, object, name))
        return false;
    if (a.kind == H5T_STRING && a.count == 1) {
        if (H5Tis_variable_str(a.type) > 0)
            ok = gcb_h5heap_text(a.id, out, size);
        else
            ok = read_fixed(&a, out, size);
    }
    attribute_close(&a);
    return ok;
}

struct visitor {
    void (*visit)(void *ctx, hid_t object, const char *name);
    void *ctx;
    int left;
};

static herr_t on_attribute(hid_t object, const char *name, const H5A_info_t *info, void *ctx)
{
    struct visitor *v = ctx;

    (void)info;
    if (v->left-- == 0)
        return 1;
    v->visit(v->ctx, object, name);
    return 0;
}

bool gcb_h5attr_sound(hid_t object)
{
    H5O_info_t info;

    return H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS) >= 0 &&
           (info.num_attrs == 0 || H5Aexists(object, "gcbench: no such attribute") >= 0);
}

void gcb_h5attr_each(hid_t object, void (*visit)(void *ctx, hid_t object, const char *name),
                     void *ctx)
{
    struct visitor v = {visit, ctx, MAX_ATTRIBUTES};
    hsize_t at = 0;

    (void)H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &at, on_attribute, &v);
}
