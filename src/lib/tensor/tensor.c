#include "src/lib/tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
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

size_t gcb_raw_size(enum gcb_dtype source)
{
    return source == GCB_F64 ? 4 : gcb_dtype_size(source);
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

void gcb_shape_text(char out[GCB_SHAPE_TEXT], unsigned rank, const uint64_t *dims)
{
    size_t used = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < rank; i++)
        used += (size_t)snprintf(out + used, GCB_SHAPE_TEXT - used, "%s%" PRIu64, i ? "x" : "",
                                 dims[i]);
}

/* Parses a decimal number without leading zeros, and moves *s after it. Returns 0 or
 * GCB_E_CORRUPT. */
static int parse_dim(const char **s, uint64_t *out)
{
    const char *p = *s;
    uint64_t v = 0;

    if (p[0] == '0' && p[1] >= '0' && p[1] <= '9')
        return GCB_E_CORRUPT;
    while (*p >= '0' && *p <= '9') {
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return GCB_E_CORRUPT;
        p++;
    }
    if (p == *s)
        return GCB_E_CORRUPT;
    *s = p;
    *out = v;
    return 0;
}

int gcb_shape_parse(const char *text, unsigned *rank, uint64_t dims[GCB_MAX_RANK], uint64_t *count)
{
    unsigned n = 0;
    uint64_t product = 1;

    while (*text) {
        if (n == GCB_MAX_RANK || (n && *text++ != 'x') || parse_dim(&text, &dims[n]))
            return GCB_E_CORRUPT;
        if (__builtin_mul_overflow(product, dims[n++], &product))
            return GCB_E_CORRUPT;
    }
    *rank = n;
    *count = product;
    return 0;
}
