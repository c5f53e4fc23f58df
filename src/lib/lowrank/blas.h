#ifndef SRC_LIB_LOWRANK_BLAS_H
#define SRC_LIB_LOWRANK_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/lib/base/diag.h"

/*
 * OpenBLAS, opened when it is first needed. It is not linked, so that programs without low-rank
 * methods do not load it. Loading starts a thread for each core, and never returns if there is no
 * memory.
 */

/* Opens OpenBLAS, for products on `threads` threads. Later calls are cheap. Returns 0,
 * GCB_E_BACKEND if OpenBLAS cannot be opened or uses a kernel that this processor cannot run, or
 * GCB_E_NOMEM if there is too little address space for its buffers. */
int gcb_blas_open(int threads, struct gcb_diag *diag);

/*
 * OpenBLAS has a kernel for each kind of processor. When it is loaded, it chooses the kernel that
 * the environment variable OPENBLAS_CORETYPE names; otherwise it chooses by the processor's model.
 * For a model that is newer than OpenBLAS, it chooses one of the oldest kernels, which is several
 * times slower.
 */
struct gcb_blas_facts {
    char version[32], kernel[32]; /* "" if unknown */
    const char *faster; /* a faster kernel that this processor can run; NULL: none is known */
};
/* Fills *out. Returns false, and leaves *out empty, if OpenBLAS is not open. */
bool gcb_blas_facts(struct gcb_blas_facts *out);

/* Returns the name, for OPENBLAS_CORETYPE, of the kernel for AVX-512 or for AVX2 and FMA, whichever
 * is the best that this processor can run; NULL: neither. */
const char *gcb_blas_fastest(void);

/*
 * Between begin and end, each product runs in its calling thread only. So the library's own threads
 * share the work, and their number does not change the result. OpenBLAS has one number of threads
 * for the whole process: if the program also calls OpenBLAS, its calls run in one thread meanwhile.
 * Several threads may be between begin and end at once. Between begin and end is a section
 * (src/lib/base/fork.h). OpenBLAS must be open.
 */
void gcb_blas_begin(void);
void gcb_blas_end(void);

/*
 * c = alpha op(a) op(b) + beta c, for row-major matrices: c has m rows of n elements, op(a) m rows
 * of k, op(b) k rows of n. op transposes if the flag is set. A row begins lda, ldb or ldc elements
 * after the previous row. If beta is 0, c is not read. Multiply only between begin and end.
 */
struct gcb_product {
    int m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int lda, ldb, ldc;
    bool transpose_a, transpose_b;
};
void gcb_blas_multiply(const struct gcb_product *p);

/* Writes the squares of the min(rows, cols) singular values of a row-major matrix, in double
 * precision and in ascending order. Call it between begin and end. Returns 0, GCB_E_NOMEM,
 * GCB_E_INVALID if a side is too long for BLAS or LAPACK, or GCB_E_BACKEND if this OpenBLAS has no
 * LAPACK or LAPACK fails. */
int gcb_blas_singular_squares(double *out, const float *m, uint64_t rows, uint64_t cols);

#endif
