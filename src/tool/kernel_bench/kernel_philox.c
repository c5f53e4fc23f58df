#include "src/tool/kernel_bench/kernel_case.h"

static int prepare(struct gcb_kernel_job *job)
{
    job->bytes = gcb_kernel_take(job, job->n);
    gcb_kernel_writes(job, job->bytes, job->n);
    return job->bytes ? 0 : GCB_E_NOMEM;
}

/* A byte for each element, as stochastic rounding draws them. */
static void run_bytes(struct gcb_kernel_job *job)
{
    job->kernels.philox.bytes(job->bytes, job->n, 1, 0, 2);
}

const struct gcb_kernel_case gcb_kernel_philox[] = {
    {"philox", "bytes", offsetof(struct gcb_kernels, philox.bytes), 0, prepare, run_bytes},
    {.family = NULL},
};
