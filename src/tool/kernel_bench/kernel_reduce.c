#include <string.h>

#include "src/tool/kernel_bench/kernel_case.h"

static int prepare(struct gcb_kernel_job *job)
{
    job->x = gcb_kernel_floats(job, job->n, 1);
    job->read = job->n * sizeof(float);
    return job->x ? 0 : GCB_E_NOMEM;
}

static int prepare_exponents(struct gcb_kernel_job *job)
{
    job->out = job->count;
    job->out_bytes = sizeof(job->count);
    return prepare(job);
}

static void run_max_bits(struct gcb_kernel_job *job)
{
    job->number = job->kernels.reduce.max_bits(job->x, job->n);
}

static void sum(struct gcb_kernel_job *job, gcb_reduce_sum_fn *block_sum)
{
    const double total = gcb_reduce_blocks(block_sum, job->x, job->n);

    memcpy(&job->number, &total, sizeof(job->number));
}

static void run_sum(struct gcb_kernel_job *job)
{
    sum(job, job->kernels.reduce.sum);
}

static void run_sum_abs(struct gcb_kernel_job *job)
{
    sum(job, job->kernels.reduce.sum_abs);
}

static void run_sum_sq(struct gcb_kernel_job *job)
{
    sum(job, job->kernels.reduce.sum_sq);
}

static void run_exponents(struct gcb_kernel_job *job)
{
    memset(job->count, 0, sizeof(job->count));
    job->number = job->kernels.reduce.exponents(job->count, job->x, job->n);
}

enum function {
    MAX_BITS = offsetof(struct gcb_kernels, reduce.max_bits),
    SUM = offsetof(struct gcb_kernels, reduce.sum),
    SUM_ABS = offsetof(struct gcb_kernels, reduce.sum_abs),
    SUM_SQ = offsetof(struct gcb_kernels, reduce.sum_sq),
    EXPONENTS = offsetof(struct gcb_kernels, reduce.exponents),
};

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_reduce[] = {
    {"max_bits", MAX_BITS, 0, prepare, run_max_bits},
    {"sum", SUM, 0, prepare, run_sum},
    {"sum_abs", SUM_ABS, 0, prepare, run_sum_abs},
    {"sum_sq", SUM_SQ, 0, prepare, run_sum_sq},
    {"exponents", EXPONENTS, 0, prepare_exponents, run_exponents},
    {.name = NULL},
};
/* clang-format on */
