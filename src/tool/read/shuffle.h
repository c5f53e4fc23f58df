#ifndef SRC_TOOL_READ_SHUFFLE_H
#define SRC_TOOL_READ_SHUFFLE_H

#include "src/tool/read/reader.h"

/*
 * Random permutations of a tensor's elements. They take away what a transform may gain from the
 * order of elements. All modes except GCB_SHUFFLE_NONE permute all elements of a tensor with fewer
 * than two dimensions, or with one element in each row.
 */
enum gcb_shuffle {
    GCB_SHUFFLE_NONE,
    GCB_SHUFFLE_ELEMENTS, /* all elements of a tensor */
    GCB_SHUFFLE_ROWS,     /* the first dimension */
    GCB_SHUFFLE_COLUMNS,  /* the dimensions after the first, flattened */
    GCB_SHUFFLE_ROWCOL,   /* the first dimension, and the others flattened */
    GCB_SHUFFLE_CHANNELS, /* the first two dimensions: convolution kernels stay whole */
    GCB_SHUFFLES
};
extern const char *const gcb_shuffles[]; /* names of the modes, in their order; ends with NULL */

/* Permutes x, the elements of t. With one `seed`, tensors of the same shape are permuted alike, so
 * steps and workers still fit together. */
void gcb_shuffle(float *x, const struct gcb_tensor *t, enum gcb_shuffle how, uint64_t seed);

#endif
