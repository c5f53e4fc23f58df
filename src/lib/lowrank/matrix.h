#ifndef SRC_LIB_LOWRANK_MATRIX_H
#define SRC_LIB_LOWRANK_MATRIX_H

#include "src/lib/codec/codec.h"

/*
 * A tensor M as a matrix, and its products with thin factors. P has `rank` rows of `rows` elements
 * and Q has `rank` rows of `cols` elements: the factors are stored transposed, so that each of
 * their vectors is contiguous. M is read and written in place, in blocks that depend only on its
 * size, each by one call of OpenBLAS: threads do not change the result.
 */
struct gcb_matrix {
    uint64_t rows, cols;
    uint64_t tail; /* elements of the last row, if it is not full; 0: it is full */
};

/* The matrix of `count` elements with `cols` columns, 1 <= cols <= count. */
struct gcb_matrix gcb_matrix_of(uint64_t count, uint64_t cols);

/*
 * The number of columns for a tensor: the product of all dimensions except the first; if the shape
 * is unknown (env->shape is NULL), those of the most square matrix, whose last row may not be full.
 * 0: the tensor is no matrix (fewer than two dimensions, no elements), or a side is too long for
 * BLAS.
 */
uint64_t gcb_matrix_columns(const struct gcb_codec_env *env);

/* True if BLAS may see this matrix: its sides fit into an int. */
bool gcb_matrix_fits(const struct gcb_matrix *m);

/* P = weight Q M^T; Q = weight P M; M = P^T Q. Between gcb_blas_begin and gcb_blas_end. */
struct gcb_factors {
    struct gcb_matrix m;
    unsigned rank;
    const struct gcb_queue *queue;
};
void gcb_matrix_to_p(const struct gcb_factors *f, float *p, float weight, const float *m,
                     const float *q);
void gcb_matrix_to_q(const struct gcb_factors *f, float *q, float weight, const float *m,
                     const float *p);
void gcb_matrix_rebuild(const struct gcb_factors *f, float *m, const float *p, const float *q);

/*
 * Makes `rank` vectors of n elements orthonormal by the modified Gram-Schmidt process, in double
 * precision and in the order of the vectors. A vector that depends on those before it (less than
 * 1e-7 of its length is left), or is zero, becomes zero. `work` has rank * n doubles.
 */
void gcb_orthonormalise(float *a, unsigned rank, uint64_t n, double *work);

#endif
