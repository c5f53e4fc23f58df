#include "src/tool/kernel_bench/kernel_case.h"

static int prepare(struct gcb_kernel_job *job)
{
    job->bytes = gcb_kernel_take(job, job->n);
    return gcb_kernel_writes(job, job->bytes, job->n);
}

/* A byte for each element, as stochastic rounding draws them. */
static void run_bytes(struct gcb_kernel_job *job)
{
    job->kernels.philox.bytes(job->bytes, job->n, 1, 0, 2);
}

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_philox[] = {
    {"bytes", offsetof(struct gcb_kernels, philox.bytes), 0, prepare, run_bytes},
    {.name = NULL},
};
/* clang-format on */
