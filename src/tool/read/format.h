#ifndef SRC_TOOL_READ_FORMAT_H
#define SRC_TOOL_READ_FORMAT_H

#include <stdbool.h>

#include "src/lib/tensor/tensor.h"

/*
 * Formats of floats that a dataset may hold in integers or opaque bytes, because NumPy and HDF5 have no type for them. The
 * user names the format with --as, or the dataset with its attribute source_dtype. This header is free of HDF5.
 */
enum gcb_h5format {
    GCB_H5_OWN, /* the dataset's own type is the format */
    GCB_H5_BF16,
    GCB_H5_FP16,
    GCB_H5_E4M3, /* the 8-bit format of the OCP: largest number 448, no infinity */
    GCB_H5_E5M2, /* the upper byte of an fp16 */
    GCB_H5_FORMATS,
};

/* The formats of 2-byte and of 1-byte datasets that are not floats. GCB_H5_OWN: such datasets are not read. */
struct gcb_h5reading {
    enum gcb_h5format words, bytes;
};

/* The names that --as takes, in the order of enum gcb_h5format from GCB_H5_BF16 on; ends with NULL. */
extern const char *const gcb_h5format_names[];

/* Finds a format by a name that --as, NumPy, ml_dtypes or PyTorch gives it. */
bool gcb_h5format_parse(enum gcb_h5format *out, const char *name);

/* Sets the format for datasets of its size. */
void gcb_h5format_use(struct gcb_h5reading *reading, enum gcb_h5format format);

/* Bytes of an element. The format is not GCB_H5_OWN. */
size_t gcb_h5format_size(enum gcb_h5format format);
/* The type that elements count as. fp8 counts as fp16, the smallest type that has all its values. */
enum gcb_dtype gcb_h5format_dtype(enum gcb_h5format format);

/* Converts n elements of a 1-byte format. */
void gcb_h5format_widen(float *out, const uint8_t *in, size_t n, enum gcb_h5format format);

#endif
