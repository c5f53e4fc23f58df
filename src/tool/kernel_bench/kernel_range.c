#include "src/tool/kernel_bench/kernel_case.h"

/* 8 bits with a mantissa of 4; the arithmetic is the same for other sizes. */
static int prepare(struct gcb_kernel_job *job)
{
    gcb_range_format(&job->format, 8, 4, 1.0f, GCB_ROUND_NEAREST);
    job->x = gcb_kernel_floats(job, job->n, 1);
    job->code = gcb_kernel_take(job, job->n * sizeof(*job->code));
    return job->x && job->code ? 0 : GCB_E_NOMEM;
}

static void run_encode(struct gcb_kernel_job *job)
{
    job->number = job->kernels.range.encode(job->code, job->x, job->n, &job->format);
}

static int prepare_encode(struct gcb_kernel_job *job)
{
    job->read = job->n * sizeof(float);
    if (prepare(job))
        return GCB_E_NOMEM;
    return gcb_kernel_writes(job, job->code, job->n * sizeof(*job->code));
}

static int prepare_decode(struct gcb_kernel_job *job)
{
    job->read = job->n * sizeof(*job->code);
    if (prepare(job))
        return GCB_E_NOMEM;
    run_encode(job);
    job->number = 0;
    job->y = gcb_kernel_take(job, job->n * sizeof(float));
    return gcb_kernel_writes(job, job->y, job->n * sizeof(float));
}

static void run_decode(struct gcb_kernel_job *job)
{
    job->kernels.range.decode(job->y, job->code, job->n, &job->format);
}

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_range[] = {
    {"encode", offsetof(struct gcb_kernels, range.encode), 0, prepare_encode, run_encode},
    {"decode", offsetof(struct gcb_kernels, range.decode), 0, prepare_decode, run_decode},
    {.name = NULL},
};
/* clang-format on */
