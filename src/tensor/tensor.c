#include "src/tensor/tensor.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[GCB_DTYPE_COUNT] = {
    [GCB_F32] = {"fp32", 4},
    [GCB_F16] = {"fp16", 2},
    [GCB_BF16] = {"bf16", 2},
    [GCB_F64] = {"fp64", 8},
};

size_t gcb_dtype_size(enum gcb_dtype dtype)
{
    return dtypes[dtype].size;
}

const char *gcb_dtype_name(enum gcb_dtype dtype)
{
    return dtypes[dtype].name;
}

int gcb_dtype_parse(enum gcb_dtype *out, const char *name)
{
    for (int i = 0; i < GCB_DTYPE_COUNT; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            *out = (enum gcb_dtype)i;
            return 0;
        }
    }
    return GCB_E_INVALID;
}
