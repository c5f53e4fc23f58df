#ifndef SRC_LIB_LOWRANK_BLAS_H
#define SRC_LIB_LOWRANK_BLAS_H

#include <stdbool.h>

#include "src/lib/base/diag.h"

/*
 * OpenBLAS, opened when it is first needed. It is not linked, because it starts a thread for each
 * core as soon as it is loaded, and never returns from loading if it finds no memory: programs that
 * use no low-rank method should not pay for that.
 */

/* Opens OpenBLAS, for products on `threads` threads. Later calls are cheap. GCB_E_BACKEND: it
 * cannot be opened, or has chosen a kernel that this processor cannot run. GCB_E_NOMEM: there is
 * too little address space for its buffers. */
int gcb_blas_open(int threads, struct gcb_diag *diag);

/*
 * OpenBLAS has a kernel for each kind of processor, and chooses one when it is loaded: the one that
 * the environment variable OPENBLAS_CORETYPE names; otherwise by the processor's model. For a model
 * that is newer than OpenBLAS it takes one of the oldest kernels, which is several times slower.
 */
struct gcb_blas_facts {
    char version[32], kernel[32]; /* "" if unknown */
    /* a kernel that this processor can run and that is faster; NULL: none is known */
    const char *faster;
};
/* Returns false if OpenBLAS is not open. */
bool gcb_blas_facts(struct gcb_blas_facts *out);

/* The name of the fastest kernel that this processor can run, for OPENBLAS_CORETYPE. NULL: not
 * known. */
const char *gcb_blas_fastest(void);

/*
 * Between these two, products run in the calling thread only, so that the library's own threads can
 * share the work, and their number does not change the result. OpenBLAS has one number of threads
 * for the whole process: if the program also uses OpenBLAS itself, its calls run in one thread
 * meanwhile. Several threads may be between the two at once. This is a section
 * (src/lib/base/fork.h).
 */
void gcb_blas_begin(void);
void gcb_blas_end(void);

/*
 * c = alpha op(a) op(b) + beta c, for row-major matrices: c has m rows of n elements, op(a) m rows
 * of k, op(b) k rows of n. op transposes if the flag is set. A row begins lda, ldb or ldc elements
 * after the row before. Where beta is 0, c is not read. After gcb_blas_open only.
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

#endif
