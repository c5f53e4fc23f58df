#ifndef SRC_TOOL_RUN_KERNELS_H
#define SRC_TOOL_RUN_KERNELS_H

#include "kernels/fft/fft.h"
#include "kernels/kernels.h"
#include "src/tool/base/watch.h"
#include "src/tool/measure/bandwidth.h"
#include "src/tool/measure/measure.h"
#include "src/tool/rows/row.h"

/*
 * Measures the throughput of the functions in kernels/ on one thread, each variant separately. The
 * cases cover every function in struct gcb_kernels; those of the FFT only as parts of whole
 * transforms. docs/method.md says which bytes count.
 */
enum gcb_kernel_size {
    GCB_KERNEL_L1, /* 4096 floats: the size of the blocks that codecs work on */
    GCB_KERNEL_L2, /* 64 Ki floats, 256 KiB for each array */
    /* 16 Mi floats, doubled until an array does not fit into the last-level cache, or four arrays
     * of twice the size would take more than a quarter of memory */
    GCB_KERNEL_MEMORY,
    GCB_KERNEL_SIZES
};
uint64_t gcb_kernels_floats(enum gcb_kernel_size size); /* number of floats on this machine */
extern const char *const gcb_kernel_size_names[];       /* "l1", "l2", "memory", NULL */

struct gcb_kernels_config {
    const char *const *globs; /* for "family/kernel", "family" or "kernel"; no globs: all kernels */
    size_t glob_count;
    unsigned sizes; /* set of sizes: bit 1 << size for each enum gcb_kernel_size */
    unsigned flags; /* instruction sets that may be used (src/lib/base/cpu_flags.h) */
    struct gcb_timing timing;
    const struct gcb_bandwidth *bandwidth; /* memory bandwidth of one thread; NULL: not measured */
};

/* One variant of one kernel at one size. */
struct gcb_kernel_result {
    const char *family, *kernel;
    const char *isa; /* "c", "avx2", ...; "fftw" for transforms of the library FFTW */
    enum gcb_kernel_size size;
    uint64_t elements;                 /* floats that the throughput counts for one call */
    uint64_t bytes;                    /* bytes that one call reads and writes */
    uint64_t calls;                    /* number of calls that each sample times */
    const struct gcb_samples *samples; /* seconds of one call; valid during `result` */
    double gbps;                       /* throughput: 4 bytes for each of `elements` */
    double spread;  /* half the width of the median's interval, divided by the median; may be NAN */
    double speedup; /* the C variant's median divided by this median; NAN for C and FFTW */
    /* least time that memory allows, divided by the median; NAN except for GCB_KERNEL_MEMORY with a
     * known bandwidth */
    double bandwidth_share;
    /* `out` and `number` (struct gcb_kernel_job) equal those of the C variant in every byte; true
     * for FFTW */
    bool agrees;
};

struct gcb_kernels_observer {
    int (*result)(void *ctx, const struct gcb_kernel_result *result, struct gcb_diag *diag);
    void *ctx; /* passed to `result` */
    struct gcb_watch watch;
};

/* Sets *count to the number of cases that the globs match, without cases whose library this build
 * lacks. GCB_E_INVALID: a glob matches no case. */
int gcb_kernels_match(size_t *count, const struct gcb_kernels_config *config,
                      struct gcb_diag *diag);

/*
 * Runs the cases in the order of the table: kernel by kernel, size by size, with the C variant
 * first. If min_time, max_time and precision of `timing` are 0, the number of calls does not depend
 * on the clock. Sets *interrupted to true if the watch stopped the run. Returns the observer's
 * errors, or GCB_E_INVALID if a glob matches no case.
 */
int gcb_kernels_run(bool *interrupted, const struct gcb_kernels_config *config,
                    const struct gcb_kernels_observer *observer, struct gcb_diag *diag);

/* Returns the bytes of the buffer with which to measure `bandwidth`: as large as an array of
 * GCB_KERNEL_MEMORY, at least 128 MiB. */
uint64_t gcb_kernels_bandwidth_bytes(void);

/* Makes a `kernel` row (docs/rows.md), with or without the samples. Release it with
 * gcb_row_fini. */
void gcb_kernels_row(struct gcb_row *row, const struct gcb_kernel_result *result, bool samples);

/*
 * The cases that `gcbench bench --kernels` times, and that tests/kernels/cases.c compares with C
 * for other sizes, inputs and parameters.
 */

#define GCB_KERNEL_ARRAYS 7 /* most arrays of a case */

/*
 * A case at one size, with its arrays. The caller sets the members up to `first`, and `elements` to
 * n. The others start at 0, and stay 0 unless `prepare` or `run` sets them.
 */
struct gcb_kernel_job {
    /* the variant that `run` calls; while `prepare` runs, the fastest variant for the bench, C for
     * tests */
    struct gcb_kernels kernels;
    size_t offset;  /* as in struct gcb_kernel_case */
    size_t n;       /* floats in one call; for the bench a power of two from 4096 on */
    unsigned param; /* parameter of the case; tests also use others */
    float norm;     /* norm of the levels, for the family dither */
    float weight;   /* weight of a message, for additions */
    /* fills an input; NULL: random floats between -1 and 1 */
    void (*fill)(float *x, size_t n, unsigned seed);
    size_t guard, tail; /* bytes in front of each array and after it, which are set to 0xa5 */
    uint64_t first;     /* index of the first random draw */

    uint64_t elements;      /* floats that the throughput counts; n unless `prepare` changes it */
    uint64_t read, written; /* bytes that one call reads and writes */
    /* an output that must be equal for all variants; NULL: none is compared */
    void *out;
    size_t out_bytes;

    const float *x; /* the kernel's input; the output of an inverse FFT */
    /* the kernel's output, or the array that it changes in place; the input of an inverse FFT */
    float *y;
    uint16_t *code;
    uint32_t *pos;
    uint8_t *bytes;
    uint8_t *random;
    /* dither: values of the levels, 2^param entries; block: 5 floats for each block, see
     * block_integers */
    float *step;
    struct gcb_fft *fft;
    struct gcb_dither dither;
    struct gcb_range_format format;
    struct gcb_compare compare;
    uint32_t count[256];
    uint64_t number; /* bits of the kernel's return value, if it has one */
    size_t kept;     /* number of positions in `pos` */

    /* all allocated arrays, with their guards; the job owns them */
    uint8_t *array[GCB_KERNEL_ARRAYS];
    size_t array_bytes[GCB_KERNEL_ARRAYS];
};

/* `offset` of a case that calls a library and so has no variants. */
#define GCB_KERNEL_LIBRARY ((size_t)-1)

struct gcb_kernel_case {
    const char *family, *name;
    size_t offset; /* where struct gcb_kernels has the function, or GCB_KERNEL_LIBRARY */
    unsigned param;
    /* allocates and fills the arrays; sets the bytes, and `out` if the output is compared */
    void (*prepare)(struct gcb_kernel_job *job);
    void (*run)(struct gcb_kernel_job *job); /* makes one call over all n floats */
};

/* The table of cases. A case whose name is NULL ends it. */
extern const struct gcb_kernel_case gcb_kernel_cases[];

/* Releases the arrays and the transform of a job. A zeroed job is allowed. */
void gcb_kernel_release(struct gcb_kernel_job *job);

#endif
