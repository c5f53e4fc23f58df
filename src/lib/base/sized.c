#include "src/lib/base/sized.h"

#include <string.h>

#include "src/lib/base/diag.h"

int gcb_struct_check_size(size_t size, const char *type, struct gcb_diag *diag)
{
    if (size >= sizeof(size) && size <= GCB_STRUCT_MOST)
        return 0;
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "struct %s has the size %zu; set its field `size` to sizeof(struct %s)",
                        type, size, type);
}

int gcb_struct_copy(void *out, size_t known, const void *in, const char *type,
                    struct gcb_diag *diag)
{
    size_t size;
    int err;

    memcpy(&size, in, sizeof(size));
    err = gcb_struct_check_size(size, type, diag);
    if (err)
        return err;
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)in)[i])
            return gcb_diag_set(diag, GCB_E_INVALID,
                                "struct %s has a field that this library is too old to know "
                                "(byte %zu of %zu); set it to 0, or install a newer library",
                                type, i, size);
    memset(out, 0, known);
    memcpy(out, in, size < known ? size : known);
    return 0;
}

void gcb_struct_fill(void *out, size_t size, const void *in, size_t known)
{
    memset(out, 0, size);
    memcpy(out, in, size < known ? size : known);
}
