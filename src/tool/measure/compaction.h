#ifndef SRC_TOOL_MEASURE_COMPACTION_H
#define SRC_TOOL_MEASURE_COMPACTION_H

#include "src/lib/sparse/stages.h"
#include "src/tool/read/source.h"
#include "src/tool/rows/row.h"

/*
 * Measures how much of the tensors' energy (sum of squares) lies in few coefficients: of the
 * tensors themselves, of transforms, of transforms of shuffled tensors, and of singular value
 * decompositions. The controls tell why a transform gains: a random orthogonal matrix gains what
 * any basis of tiles gains, and a shuffled tensor has lost its order.
 */

/* Groups of tensors, by shape and name (docs/method.md). */
enum gcb_tensor_group {
    GCB_GROUP_CONVOLUTION,
    GCB_GROUP_MATRIX,
    GCB_GROUP_EMBEDDING,
    GCB_GROUP_HEAD,
    GCB_GROUP_VECTOR,
    GCB_TENSOR_GROUPS
};
extern const char *const gcb_tensor_group_names[GCB_TENSOR_GROUPS];

#define GCB_COMPACTION_SVD GCB_TRANSFORMS /* a decomposition instead of a transform */
#define GCB_BASES 9 /* number of pairs of transform and tiles; the decomposition is one */
#define GCB_COMPACTION_DENSITIES 4
#define GCB_COMPACTION_VERDICT 1 /* index of the density at which verdicts are made */
/* Coefficients kept, as shares of the elements. A singular value counts as many coefficients as its
 * two vectors have elements. */
extern const double gcb_compaction_densities[GCB_COMPACTION_DENSITIES];

/* The figures of a group. In each step and worker, the coefficients of all its tensors
 * compete. Infinities and NaNs count as 0. */
struct gcb_compaction {
    enum gcb_tensor_group group;
    uint64_t tensors;   /* number of datasets */
    uint64_t elements;  /* of all datasets */
    uint64_t rows;      /* most rows in a step and worker; a tensor of rank 0 or 1 is one row */
    uint64_t untouched; /* rows that are zero in all steps and workers */
    double energy;
    /* energy kept, by basis, shuffle and density; 0: the group has no such figure, or only zeros */
    double kept[GCB_BASES][GCB_SHUFFLES][GCB_COMPACTION_DENSITIES];
};

/* Measures out->group; the rest of `out` must be zeroed. OpenBLAS must be open. Returns errors of
 * reading, GCB_E_NOMEM, GCB_E_INVALID: a matrix is too large for LAPACK, or GCB_E_BACKEND: OpenBLAS
 * lacks LAPACK, or LAPACK fails. */
int gcb_compaction_measure(struct gcb_compaction *out, struct gcb_source *source,
                           const struct gcb_kernels *kernels, const struct gcb_queue *queue,
                           struct gcb_diag *diag);

/* Returns the largest share of the energy that a transform (enum gcb_transform_id, or
 * GCB_COMPACTION_SVD) keeps at the density of verdicts; `shuffled`: of tensors whose elements, or
 * whose rows and columns, are shuffled. NAN if the group has no such figure, or only zeros. */
double gcb_compaction_best(const struct gcb_compaction *c, int transform, bool shuffled);

/* Returns "order matters", "mean only", "low rank" or "nothing" (docs/method.md). */
const char *gcb_compaction_verdict(const struct gcb_compaction *c);

/* Makes the `compaction` rows of a group and passes them to `put`, which must release each row.
 * Returns the first error of `put`. */
int gcb_compaction_rows(const struct gcb_compaction *c,
                        int (*put)(void *ctx, struct gcb_row *row, struct gcb_diag *diag),
                        void *ctx, struct gcb_diag *diag);

#endif
