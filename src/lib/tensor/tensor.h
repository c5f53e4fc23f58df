#ifndef SRC_LIB_TENSOR_TENSOR_H
#define SRC_LIB_TENSOR_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/status.h"

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

#define GCB_SHAPE_TEXT (GCB_MAX_RANK * 21)

/* "64x3x7x7"; "" for a scalar. */
void gcb_shape_text(char out[GCB_SHAPE_TEXT], unsigned rank, const uint64_t *dims);
/* The inverse: 0 or GCB_E_CORRUPT, also when the product of the dims does not fit. */
int gcb_shape_parse(const char *text, unsigned *rank, uint64_t dims[GCB_MAX_RANK], uint64_t *count);

#endif
