#ifndef SRC_TOOL_KERNEL_BENCH_KERNEL_CASE_H
#define SRC_TOOL_KERNEL_BENCH_KERNEL_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/fft/fft.h"
#include "kernels/kernels.h"
#include "src/tool/kernel_bench/kernels.h"

/*
 * What src/tool/kernel_bench/kernels.c times: one table for each family, src/tool/kernel_bench/kernel_<family>.c. Nothing else
 * includes this.
 */

#define GCB_KERNEL_ARRAYS 4

/* A case at one size, with its arrays. Everything that prepare does not set is 0. */
struct gcb_kernel_job {
    struct gcb_kernels kernels; /* the variant at work; the best there is while prepare runs */
    size_t n;                   /* floats to go over: a power of two from 4096 on */
    unsigned param;             /* the case's */

    uint64_t elements;      /* what a call stands for, in floats; n unless prepare says otherwise */
    uint64_t read, written; /* bytes of a call */
    void *out;              /* what run wrote, for comparing variants; NULL: it works in place */
    size_t out_bytes;

    const float *x; /* input */
    float *y;       /* output, or what is changed in place */
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
    uint64_t number; /* where run's result is one: its bits */
    size_t kept;

    void *array[GCB_KERNEL_ARRAYS]; /* owned */
};

struct gcb_kernel_case {
    const char *family, *kernel; /* NULL family ends a table */
    size_t offset;               /* of its function in struct gcb_kernels, or GCB_KERNEL_LIBRARY */
    unsigned param;
    int (*prepare)(struct gcb_kernel_job *job); /* 0 or GCB_E_NOMEM */
    void (*run)(struct gcb_kernel_job *job);    /* one call over all n */
};

/* Memory of the job, zeroed, pages there; NULL when there is none. */
void *gcb_kernel_take(struct gcb_kernel_job *job, size_t bytes);
/* The same with noise: floats between -1 and 1 with a peak at 0, as gradients have; random bytes. `seed`
 * tells arrays of one job apart. */
float *gcb_kernel_floats(struct gcb_kernel_job *job, size_t count, unsigned seed);
uint8_t *gcb_kernel_random(struct gcb_kernel_job *job, size_t bytes, unsigned seed);

/* Says that a call writes the whole array. */
void gcb_kernel_writes(struct gcb_kernel_job *job, void *out, size_t bytes);

void gcb_kernel_release(struct gcb_kernel_job *job); /* of a zeroed job too */

/* Case i of all families; NULL past the end. */
const struct gcb_kernel_case *gcb_kernel_at(size_t i);
/* Do the globs take it? */
bool gcb_kernel_chosen(const struct gcb_kernels_config *config, const struct gcb_kernel_case *c);

extern const struct gcb_kernel_case gcb_kernel_bitpack[], gcb_kernel_compare[],
    gcb_kernel_convert[], gcb_kernel_dither[], gcb_kernel_fft[], gcb_kernel_hadamard[],
    gcb_kernel_philox[], gcb_kernel_range[], gcb_kernel_reduce[], gcb_kernel_select[];

#endif
