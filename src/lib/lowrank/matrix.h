#ifndef SRC_LIB_LOWRANK_MATRIX_H
#define SRC_LIB_LOWRANK_MATRIX_H

#include "src/lib/codec/codec.h"

/*
 * A tensor M as a row-major matrix, and its products with two thin factors. The factors are stored
 * transposed, so that each of their vectors is contiguous: P has `rank` rows of `rows` elements,
 * and Q has `rank` rows of `cols` elements. Each call of OpenBLAS reads or writes a block of M in
 * place. The blocks depend only on the size of M, so threads do not change the result.
 */
struct gcb_matrix {
    uint64_t rows, cols;
    uint64_t tail; /* number of elements in the last row if it is not full; 0: it is full */
};

/* Returns the matrix of `count` elements with `cols` columns, 1 <= cols <= count. */
struct gcb_matrix gcb_matrix_of(uint64_t count, uint64_t cols);

/*
 * Returns the number of columns for a tensor: the product of all dimensions except the first. If
 * env->shape is NULL, returns the columns of the most square matrix; its last row may not be full.
 * Returns 0 if the tensor is no matrix (fewer than two dimensions, or no elements), or if a side is
 * too long for BLAS.
 */
uint64_t gcb_matrix_columns(const struct gcb_codec_env *env);

/* True if the sides fit an int, as BLAS requires. */
bool gcb_matrix_fits(const struct gcb_matrix *m);

/* The sizes of M, P and Q, and the threads for products. */
struct gcb_factors {
    struct gcb_matrix m;
    unsigned rank;
    const struct gcb_queue *queue;
};
/* The products must be between gcb_blas_begin and gcb_blas_end. */

/* P = weight Q M^T. */
void gcb_matrix_to_p(const struct gcb_factors *f, float *p, float weight, const float *m,
                     const float *q);
/* Q = weight P M. */
void gcb_matrix_to_q(const struct gcb_factors *f, float *q, float weight, const float *m,
                     const float *p);
/* M = P^T Q. */
void gcb_matrix_rebuild(const struct gcb_factors *f, float *m, const float *p, const float *q);

/*
 * Makes the rows of `a` (rank * n floats, all finite) orthonormal by the modified Gram-Schmidt
 * process, in double precision and in the order of the rows. A row that depends on earlier rows
 * (less than 1e-7 of its length is left), or is zero, becomes zero. `work` is scratch of rank * n
 * doubles.
 */
void gcb_orthonormalise(float *a, unsigned rank, uint64_t n, double *work);

#endif
