#ifndef SRC_TOOL_RUN_KERNEL_CASES_H
#define SRC_TOOL_RUN_KERNEL_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/fft/fft.h"
#include "kernels/kernels.h"
#include "src/tool/run/kernels.h"

/* The cases that kernels.c times. */

#define GCB_KERNEL_ARRAYS 4 /* most arrays of a case */

/* A case at one size, with its arrays. Members that `prepare` does not set are 0. */
struct gcb_kernel_job {
    struct gcb_kernels kernels; /* the timed variant; the fastest one while `prepare` runs */
    size_t n;                   /* floats in one call: a power of two, at least 4096 */
    unsigned param;             /* copy of the case's param */

    uint64_t elements;      /* floats that the throughput counts; n unless `prepare` changes it */
    uint64_t read, written; /* bytes that one call reads and writes */
    void *out; /* the output, equal for all variants; NULL: the kernel works in place */
    size_t out_bytes;

    const float *x; /* the kernel's input */
    float *y;       /* the kernel's output, or the array that it changes in place */
    uint16_t *code;
    uint32_t *pos;
    uint8_t *bytes;
    const uint8_t *random;
    struct gcb_fft *fft;
    struct gcb_dither dither;
    struct gcb_range_format format;
    struct gcb_compare compare;
    uint32_t count[256];
    float step[128];
    uint64_t number; /* the bits of the result, if it is a number */
    size_t kept;

    void *array[GCB_KERNEL_ARRAYS]; /* all allocated arrays; the job owns them */
    bool failed;                    /* memory ran out for the arrays */
};

/* Value of `offset` for a case that calls a library, so that the case has no variants. */
#define GCB_KERNEL_LIBRARY ((size_t)-1)

struct gcb_kernel_case {
    const char *family, *name;
    size_t offset; /* where struct gcb_kernels has the function, or GCB_KERNEL_LIBRARY */
    unsigned param;
    void (*prepare)(struct gcb_kernel_job *job); /* allocates the arrays */
    void (*run)(struct gcb_kernel_job *job);     /* makes one call over all n floats */
};

/* The table of cases. A case whose name is NULL ends it. */
extern const struct gcb_kernel_case gcb_kernel_cases[];

void gcb_kernel_release(struct gcb_kernel_job *job); /* a zeroed struct is allowed */

#endif
