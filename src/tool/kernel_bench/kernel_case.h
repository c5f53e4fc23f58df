#ifndef SRC_TOOL_KERNEL_BENCH_KERNEL_CASE_H
#define SRC_TOOL_KERNEL_BENCH_KERNEL_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/fft/fft.h"
#include "kernels/kernels.h"
#include "src/tool/kernel_bench/kernels.h"

/* The cases that kernels.c times: a table for each family, in kernel_<family>.c. */

#define GCB_KERNEL_ARRAYS 4

/* A case at one size, with its arrays. Members that `prepare` does not set are 0. */
struct gcb_kernel_job {
    struct gcb_kernels kernels; /* the timed variant; the fastest one while `prepare` runs */
    size_t n;                   /* floats of a call: a power of two, at least 4096 */
    unsigned param;             /* param of the case */

    uint64_t elements;      /* floats that the throughput counts; n unless `prepare` changes it */
    uint64_t read, written; /* bytes of a call */
    void *out; /* the output, by which variants are compared; NULL: the kernel works in place */
    size_t out_bytes;

    const float *x; /* input */
    float *y;       /* output, or the array that is changed in place */
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

    void *array[GCB_KERNEL_ARRAYS]; /* owned */
};

/* The offset of a case that a library runs, so that it has no variants. */
#define GCB_KERNEL_LIBRARY ((size_t)-1)

struct gcb_kernel_case {
    const char *name; /* NULL ends a table */
    size_t offset;    /* of its function in struct gcb_kernels, or GCB_KERNEL_LIBRARY */
    unsigned param;
    int (*prepare)(struct gcb_kernel_job *job); /* 0 or GCB_E_NOMEM */
    void (*run)(struct gcb_kernel_job *job);    /* one call over all n */
};

/* Takes zeroed memory whose pages have been written; the job owns it. NULL: no memory. */
void *gcb_kernel_take(struct gcb_kernel_job *job, size_t bytes);
/* The same, filled with floats between -1 and 1 whose density peaks at 0, as that of gradients does. Arrays of one job have
 * different seeds. */
float *gcb_kernel_floats(struct gcb_kernel_job *job, size_t count, unsigned seed);
/* The same, filled with random bytes. */
uint8_t *gcb_kernel_random(struct gcb_kernel_job *job, size_t bytes, unsigned seed);

/* Declares `out` as the output of a call, which writes all of it. GCB_E_NOMEM if it is NULL. */
int gcb_kernel_writes(struct gcb_kernel_job *job, void *out, size_t bytes);

void gcb_kernel_release(struct gcb_kernel_job *job); /* zeroed is fine */

struct gcb_kernel_entry {
    const char *family;
    const struct gcb_kernel_case *c;
};
/* Case i of all families; false past the end. */
bool gcb_kernel_at(struct gcb_kernel_entry *out, size_t i);
/* Does one of the globs match the case? */
bool gcb_kernel_chosen(const struct gcb_kernels_config *config, const struct gcb_kernel_entry *e);

extern const struct gcb_kernel_case gcb_kernel_bitpack[], gcb_kernel_compare[],
    gcb_kernel_convert[], gcb_kernel_dither[], gcb_kernel_fft[], gcb_kernel_hadamard[],
    gcb_kernel_philox[], gcb_kernel_range[], gcb_kernel_reduce[], gcb_kernel_select[];

#endif
