#include "src/tool/write/container_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static uint64_t mix(uint64_t salt, const char *text)
{
    return XXH3_64bits_withSeed(text, strlen(text), salt);
}

uint64_t gcb_container_salt(uint64_t salt, const char *path, enum gcb_dtype dtype,
                            const char *shape, int64_t index)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, index);
    salt = mix(salt, path);
    salt = mix(salt, gcb_dtype_name(dtype));
    salt = mix(salt, shape);
    return mix(salt, text);
}

uint64_t gcb_container_share(uint64_t salt, const char *path)
{
    return mix(salt, path);
}

void gcb_container_hex(char out[GCB_CONTAINER_HEX], uint64_t hash)
{
    snprintf(out, GCB_CONTAINER_HEX, "%016" PRIx64, hash);
}

static int insert_text(hid_t row, const char *name, size_t offset, size_t size)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    int err = GCB_E_INTERNAL;

    if (type >= 0 && H5Tset_size(type, size) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
        H5Tinsert(row, name, offset, type) >= 0)
        err = 0;
    if (type >= 0)
        H5Tclose(type);
    return err;
}

hid_t gcb_container_row_type(size_t path_size, size_t shape_size)
{
    const size_t dtype = path_size, shape = dtype + GCB_CONTAINER_DTYPE;
    const size_t offset = shape + shape_size, index = offset + 8;
    const hid_t row = H5Tcreate(H5T_COMPOUND, index + 8);

    if (row < 0)
        return row;
    if (insert_text(row, "path", 0, path_size) == 0 &&
        insert_text(row, "dtype", dtype, GCB_CONTAINER_DTYPE) == 0 &&
        insert_text(row, "shape", shape, shape_size) == 0 &&
        H5Tinsert(row, "offset", offset, H5T_STD_U64LE) >= 0 &&
        H5Tinsert(row, "index", index, H5T_STD_I64LE) >= 0)
        return row;
    H5Tclose(row);
    return -1;
}
