#ifndef SRC_TENSOR_TENSOR_H
#define SRC_TENSOR_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"

#define GCB_MAX_RANK 32 /* as in HDF5 */

/* A view borrows: it never owns or frees. Row-major and dense, so a tensor is its flat array. */
struct gcb_view {
    const float *data;
    uint64_t count;
};

/* The same, for writing. */
struct gcb_mview {
    float *data;
    uint64_t count;
};

/* Bytes of an element: 4, 2, 2, 8. */
size_t gcb_dtype_size(enum gcb_dtype dtype);
/* "fp32", "fp16", "bf16", "fp64". */
const char *gcb_dtype_name(enum gcb_dtype dtype);
/* The inverse; returns 0 or GCB_E_INVALID. */
int gcb_dtype_parse(enum gcb_dtype *out, const char *name);

#endif
