#include "src/lib/lowrank/blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/fork.h"
#include "src/lib/base/text.h"

#define LIBRARY "libopenblas.so.0"
/* Address space that OpenBLAS takes when it is loaded, and for the buffer of each thread that calls it. If it does not get
 * it, it tries for ever. */
#define LOADED_BYTES ((size_t)64 << 20)
#define THREAD_BYTES ((size_t)160 << 20)

static struct {
    pthread_mutex_t lock;
    void *library;
    int threads; /* the largest number that had room for its buffers */
    __typeof__(&cblas_sgemm) sgemm;
    __typeof__(&openblas_set_num_threads) set_threads;
    __typeof__(&openblas_get_num_threads) get_threads;
    unsigned inside;    /* calls of gcb_blas_begin without gcb_blas_end */
    int threads_before; /* OpenBLAS's number of threads before the first of them */
} blas = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A function of the library. A pointer to void becomes a pointer to a function by POSIX. */
static bool find(const char *name, void *function)
{
    void *symbol = dlsym(blas.library, name);

    *(void **)function = symbol;
    return symbol;
}

/* OpenBLAS's threads inherit the signal mask: no signal handler of the program should run in them. */
static void load(void)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    blas.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int open_library(struct gcb_diag *diag)
{
    char shown[240];
    const char *why;

    load();
    if (blas.library && find("cblas_sgemm", &blas.sgemm) &&
        find("openblas_set_num_threads", &blas.set_threads) &&
        find("openblas_get_num_threads", &blas.get_threads)) {
        gcb_fork_watch(); /* OpenBLAS has fork handlers */
        return 0;
    }
    why = dlerror();
    gcb_diag_set(diag, GCB_E_BACKEND,
                 "low-rank methods need OpenBLAS (Debian package libopenblas0): %s",
                 gcb_escape(shown, sizeof(shown), why ? why : LIBRARY " lacks functions"));
    if (blas.library)
        dlclose(blas.library);
    blas.library = NULL;
    return GCB_E_BACKEND;
}

int gcb_blas_open(int threads, struct gcb_diag *diag)
{
    const size_t bytes = LOADED_BYTES + (size_t)threads * THREAD_BYTES;
    int err = 0;

    gcb_fork_hold();
    pthread_mutex_lock(&blas.lock);
    if (threads > blas.threads && !gcb_has_room(1, bytes))
        err = gcb_diag_nomem(diag, bytes, "OpenBLAS's buffers");
    if (!err && !blas.library)
        err = open_library(diag);
    if (!err && threads > blas.threads)
        blas.threads = threads;
    pthread_mutex_unlock(&blas.lock);
    gcb_fork_release();
    return err;
}

/* A fork waits until gcb_blas_end: OpenBLAS has a lock of its own around its buffers. */
void gcb_blas_begin(void)
{
    gcb_fork_hold();
    pthread_mutex_lock(&blas.lock);
    if (blas.inside++ == 0) {
        blas.threads_before = blas.get_threads();
        if (blas.threads_before != 1)
            blas.set_threads(1);
    }
    pthread_mutex_unlock(&blas.lock);
}

void gcb_blas_end(void)
{
    pthread_mutex_lock(&blas.lock);
    if (--blas.inside == 0 && blas.threads_before != 1)
        blas.set_threads(blas.threads_before);
    pthread_mutex_unlock(&blas.lock);
    gcb_fork_release();
}

void gcb_blas_multiply(const struct gcb_product *p)
{
    blas.sgemm(CblasRowMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
               p->transpose_b ? CblasTrans : CblasNoTrans, p->m, p->n, p->k, p->alpha, p->a, p->lda,
               p->b, p->ldb, p->beta, p->c, p->ldc);
}
