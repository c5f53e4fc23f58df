#ifndef SRC_LIB_TENSOR_TENSOR_H
#define SRC_LIB_TENSOR_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/status.h"

#define GCB_MAX_RANK 32               /* as in HDF5 */
#define GCB_DTYPE_COUNT (GCB_F64 + 1) /* number of element types */

/* A tensor to read, as a flat array (row-major, dense). The data is borrowed. */
struct gcb_view {
    const float *data;
    uint64_t count;
};

/* A tensor to write. The data is borrowed. */
struct gcb_mview {
    float *data;
    uint64_t count;
};

/* Bytes of an element. */
size_t gcb_dtype_size(enum gcb_dtype dtype);
/* Bytes of an element in a raw message: at most 4, because codecs work on float32. */
size_t gcb_raw_size(enum gcb_dtype source);
/* The type's name: "fp32", "fp16", "bf16" or "fp64". */
const char *gcb_dtype_name(enum gcb_dtype dtype);
/* Parses a type's name. Returns 0 or GCB_E_INVALID. */
int gcb_dtype_parse(enum gcb_dtype *out, const char *name);

#define GCB_SHAPE_TEXT (GCB_MAX_RANK * 21) /* a uint64_t has up to 20 digits, and an 'x' */

/* Writes a shape as text: "64x3x7x7", or "" for a scalar. rank <= GCB_MAX_RANK. */
void gcb_shape_text(char out[GCB_SHAPE_TEXT], unsigned rank, const uint64_t *dims);
/* Parses a text that gcb_shape_text wrote. *count becomes the product of the dimensions, 1 for a
 * scalar. Returns 0, or GCB_E_CORRUPT if the text is malformed or the product overflows. */
int gcb_shape_parse(const char *text, unsigned *rank, uint64_t dims[GCB_MAX_RANK], uint64_t *count);

#endif
