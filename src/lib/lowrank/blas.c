#include "src/lib/lowrank/blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/fork.h"
#include "src/lib/base/text.h"

/* LAPACK's function for the eigenvalues of a symmetric matrix. Its last arguments are the lengths
 * of the texts. */
typedef void dsyev_fn(const char *job, const char *triangle, const int *n, double *a,
                      const int *lda, double *values, double *work, const int *length, int *info,
                      size_t, size_t);

#define LIBRARY "libopenblas.so.0"
/* Address space that OpenBLAS allocates when it is loaded, and for each thread that calls it. If an
 * allocation fails, OpenBLAS tries again for ever. */
#define LOADED_BYTES ((size_t)64 << 20)
#define THREAD_BYTES ((size_t)160 << 20)

static struct {
    pthread_mutex_t lock;
    void *library;
    int threads; /* the most threads for which there was address space */
    __typeof__(&cblas_sgemm) sgemm;
    __typeof__(&openblas_set_num_threads) set_threads;
    __typeof__(&openblas_get_num_threads) get_threads;
    /* NULL if this OpenBLAS lacks the function */
    __typeof__(&cblas_dsyrk) dsyrk;
    dsyev_fn *dsyev;
    __typeof__(&openblas_get_corename) get_kernel;
    __typeof__(&openblas_get_config) get_config;

    unsigned inside;    /* number of threads between gcb_blas_begin and gcb_blas_end */
    int threads_before; /* OpenBLAS's number of threads before the first of them began */
} blas = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- kernels ---- */

/* The instructions that a kernel needs. A kernel of a higher level is faster. */
enum level { SSE, AVX, AVX_FMA4, AVX2_FMA, AVX512 };

static const struct {
    const char *name;
    enum level level;
} kernels[] = {
    {"Prescott", SSE},       {"Core2", SSE},           {"Penryn", SSE},
    {"Dunnington", SSE},     {"Nehalem", SSE},         {"Atom", SSE},
    {"Nano", SSE},           {"Opteron", SSE},         {"Opteron_SSE3", SSE},
    {"Barcelona", SSE},      {"Bobcat", SSE},          {"Sandybridge", AVX},
    {"Bulldozer", AVX_FMA4}, {"Piledriver", AVX_FMA4}, {"Steamroller", AVX_FMA4},
    {"Excavator", AVX_FMA4}, {"Haswell", AVX2_FMA},    {"Zen", AVX2_FMA},
    {"SkylakeX", AVX512},    {"Cooperlake", AVX512},   {"SapphireRapids", AVX512},
};

static bool runs_here(enum level level)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    switch (level) {
    case AVX:
        return __builtin_cpu_supports("avx");
    case AVX_FMA4:
        return __builtin_cpu_supports("avx") && __builtin_cpu_supports("fma4");
    case AVX2_FMA:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    default:
        return true;
    }
#else
    return level == SSE;
#endif
}

const char *gcb_blas_fastest(void)
{
    if (runs_here(AVX512))
        return "SkylakeX";
    return runs_here(AVX2_FMA) ? "Haswell" : NULL;
}

/* True if the processor can run this kernel, or the kernel is unknown. *faster becomes the name of
 * a faster kernel, or NULL. */
static bool judge_kernel(const char *name, const char **faster)
{
    *faster = NULL;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        const enum level level = kernels[i].level;

        if (strcmp(kernels[i].name, name) != 0)
            continue;
        /* kernels with fused multiply-add count as fast, unless AVX512 is available */
        if (level < AVX_FMA4 || (level < AVX512 && runs_here(AVX512)))
            *faster = gcb_blas_fastest();
        return runs_here(level);
    }
    return true;
}

/* Returns GCB_E_BACKEND if the processor lacks instructions of OpenBLAS's kernel, because then the
 * first product would end the process. */
static int check_kernel(struct gcb_diag *diag)
{
    const char *kernel = blas.get_kernel ? blas.get_kernel() : "", *faster;
    const char *fastest = gcb_blas_fastest();

    if (judge_kernel(kernel, &faster))
        return 0;
    return gcb_diag_set(diag, GCB_E_BACKEND,
                        "this processor cannot run OpenBLAS's kernel %s, which the environment "
                        "variable OPENBLAS_CORETYPE chooses; unset it%s%s",
                        kernel, fastest ? ", or set it to " : "", fastest ? fastest : "");
}

/* Copies word `i` of a text, counted from 0. */
static void copy_word(char out[32], const char *text, unsigned i)
{
    while (i--) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    snprintf(out, 32, "%.*s", (int)strcspn(text, " "), text);
}

bool gcb_blas_facts(struct gcb_blas_facts *out)
{
    bool open;

    memset(out, 0, sizeof(*out));
    gcb_fork_hold();
    pthread_mutex_lock(&blas.lock);
    open = blas.library;
    if (open && blas.get_config)
        copy_word(out->version, blas.get_config(), 1); /* of "OpenBLAS 0.3.21 ..." */
    if (open && blas.get_kernel) {
        copy_word(out->kernel, blas.get_kernel(), 0);
        (void)judge_kernel(out->kernel, &out->faster);
    }
    pthread_mutex_unlock(&blas.lock);
    gcb_fork_release();
    return open;
}

/* ---- opening ---- */

/* Stores the library's function of this name. `function` is the address of a function pointer.
 * Returns false if there is no such function. POSIX allows the conversion. */
static bool find_function(const char *name, void *function)
{
    void *symbol = dlsym(blas.library, name);

    *(void **)function = symbol;
    return symbol;
}

/* Loads OpenBLAS. Its threads inherit the signal mask, which blocks all signals, so that no signal
 * handler of the program runs in them. */
static void load_library(void)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    blas.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int find_functions(struct gcb_diag *diag)
{
    char shown[240];
    const char *why;

    if (blas.library && find_function("cblas_sgemm", &blas.sgemm) &&
        find_function("openblas_set_num_threads", &blas.set_threads) &&
        find_function("openblas_get_num_threads", &blas.get_threads)) {
        find_function("openblas_get_corename", &blas.get_kernel);
        find_function("openblas_get_config", &blas.get_config);
        find_function("cblas_dsyrk", &blas.dsyrk);
        find_function("dsyev_", &blas.dsyev);
        return 0;
    }
    why = dlerror();
    return gcb_diag_set(diag, GCB_E_BACKEND,
                        "low-rank methods need OpenBLAS (Debian package libopenblas0): %s",
                        gcb_escape(shown, sizeof(shown), why ? why : LIBRARY " lacks functions"));
}

static int open_library(struct gcb_diag *diag)
{
    int err;

    load_library();
    err = find_functions(diag);
    if (!err)
        err = check_kernel(diag);
    if (!err)
        gcb_fork_watch(); /* after OpenBLAS has registered its fork handlers */
    else if (blas.library)
        dlclose(blas.library);
    if (err)
        blas.library = NULL;
    return err;
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

/* ---- products ---- */

/* A fork waits until gcb_blas_end, because OpenBLAS has a lock of its own. */
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

int gcb_blas_singular_squares(double *out, const float *m, uint64_t rows, uint64_t cols)
{
    const bool tall = rows > cols;
    const uint64_t side = tall ? cols : rows;
    const bool fits = rows <= INT_MAX && cols <= INT_MAX && side < INT_MAX / 34;
    const int n = fits ? (int)side : 0, length = 34 * n; /* (32 + 2) n, for blocks of 32 */
    double *x = gcb_alloc_array(rows * cols, sizeof(*x));
    double *gram = gcb_alloc_array((uint64_t)n * (uint64_t)n, sizeof(*gram));
    double *work = gcb_alloc_array((uint64_t)length, sizeof(*work));
    int err = x && gram && work ? 0 : GCB_E_NOMEM, info = 0;

    if (!fits)
        err = GCB_E_INVALID;
    if (!err && (!blas.dsyrk || !blas.dsyev))
        err = GCB_E_BACKEND;
    for (size_t i = 0; !err && i < rows * cols; i++)
        x[i] = (double)m[i];
    if (!err) {
        blas.dsyrk(CblasRowMajor, CblasUpper, tall ? CblasTrans : CblasNoTrans, n,
                   (int)(tall ? rows : cols), 1.0, x, (int)cols, 0.0, gram, n);
        /* LAPACK stores columns, so the upper triangle is its lower one */
        blas.dsyev("N", "L", &n, gram, &n, out, work, &length, &info, 1, 1);
    }
    for (int i = 0; !err && i < n; i++)
        out[i] = out[i] > 0.0 ? out[i] : 0.0;
    gcb_free(x);
    gcb_free(gram);
    gcb_free(work);
    return info ? GCB_E_BACKEND : err;
}
