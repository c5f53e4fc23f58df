#ifndef SRC_TOOL_KERNEL_BENCH_KERNELS_H
#define SRC_TOOL_KERNEL_BENCH_KERNELS_H

#include "src/tool/rows/row.h"
#include "src/tool/timing/bandwidth.h"
#include "src/tool/timing/measure.h"

/*
 * Throughput of the kernels of kernels/, each variant on its own, on one thread. The table of cases covers
 * every function that kernels/kernels.h dispatches, and the transforms. docs/method.md says what is
 * counted.
 */
enum gcb_kernel_size {
    GCB_KERNEL_L1, /* 4096 floats: the tile that codecs work on */
    GCB_KERNEL_L2, /* 64 Ki */
    /* 16 Mi, or the first power of two of which an array is larger than the last-level cache, as long as four
     * arrays are at most a quarter of memory */
    GCB_KERNEL_MEMORY,
    GCB_KERNEL_SIZES
};
uint64_t gcb_kernels_floats(enum gcb_kernel_size size); /* on this machine */
extern const char *const gcb_kernel_size_names[];       /* "l1", "l2", "memory", NULL */

struct gcb_kernels_config {
    const char *const
        *globs; /* on "family/kernel", "family" or "kernel"; glob_count of them; 0: all */
    size_t glob_count;
    unsigned sizes; /* bits 1 << enum gcb_kernel_size */
    unsigned flags; /* variants that need more of these are left out (src/lib/base/cpu_flags.h) */
    struct gcb_timing timing;
    const struct gcb_bandwidth *bandwidth; /* of one thread; NULL: not measured */
};

/* One variant of one kernel at one size. */
struct gcb_kernel_result {
    const char *family, *kernel;
    const char *isa; /* "c", "avx2", ...; "fftw" for what is that library's */
    enum gcb_kernel_size size;
    uint64_t elements, bytes;          /* floats that a call stands for; read and written by it */
    uint64_t calls;                    /* in each sample */
    const struct gcb_samples *samples; /* seconds of one call; borrowed for the time of the call */
    double gbps;                       /* 4 elements / median / 1e9 */
    double spread;  /* half of the median's interval over the median; NAN without one */
    double speedup; /* over C, in the same run; NAN for C itself */
    /* least time that memory allows / median; NAN but for GCB_KERNEL_MEMORY */
    double bandwidth_share;
    bool agrees; /* with C, in every byte */
};

struct gcb_kernels_observer {
    int (*result)(void *ctx, const struct gcb_kernel_result *result, struct gcb_diag *diag);
    void (*progress)(void *ctx, double done); /* share of the work; may be NULL */
    bool (*stop)(void *ctx);                  /* asked often; may be NULL */
    void *ctx;
};

/* Cases that the globs take; a glob that takes none is GCB_E_INVALID, with words. */
int gcb_kernels_match(size_t *count, const struct gcb_kernels_config *config,
                      struct gcb_diag *diag);

/*
 * Runs the cases in the order of the table: kernel by kernel, size by size, C first. With
 * timing.min_time = 0 the work is fixed: no count depends on the clock. *interrupted says whether the
 * observer stopped it. Errors of the observer, GCB_E_NOMEM, GCB_E_INVALID (as gcb_kernels_match).
 */
int gcb_kernels_run(bool *interrupted, const struct gcb_kernels_config *config,
                    const struct gcb_kernels_observer *observer, struct gcb_diag *diag);

/* What the bandwidth that the largest cases are held against is to be measured with: as much as an array of theirs, 128 MiB
 * at least. */
uint64_t gcb_kernels_bandwidth_bytes(void);

/* Starts a `kernel` row (docs/rows.md); release it with gcb_row_fini. */
void gcb_kernels_row(struct gcb_row *row, const struct gcb_kernel_result *result, bool samples);

/* Name of case i, "family/kernel", and the offset of its function in struct gcb_kernels; false past the
 * end. */
bool gcb_kernels_case(size_t i, const char **family, const char **kernel, size_t *offset);

/* The offset of a case without variants: a library does the work. */
#define GCB_KERNEL_LIBRARY ((size_t)-1)

#endif
