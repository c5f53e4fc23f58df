#include "src/tool/kernel_bench/kernel_case.h"

static int prepare(struct gcb_kernel_job *job)
{
    job->x = gcb_kernel_floats(job, job->n, 1);
    job->y = gcb_kernel_floats(job, job->n, 2);
    job->read = 2 * job->n * sizeof(float);
    job->out = &job->compare; /* the result of the last block */
    job->out_bytes = sizeof(job->compare);
    return job->x && job->y ? 0 : GCB_E_NOMEM;
}

static void run_block(struct gcb_kernel_job *job)
{
    for (size_t i = 0; i < job->n; i += GCB_SUM_BLOCK)
        job->kernels.compare.block(&job->compare, job->x + i, job->y + i, GCB_SUM_BLOCK);
}

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_compare[] = {
    {"block", offsetof(struct gcb_kernels, compare.block), 0, prepare, run_block},
    {.name = NULL},
};
/* clang-format on */
