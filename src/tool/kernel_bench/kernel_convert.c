#include "src/tool/kernel_bench/kernel_case.h"

/* Takes floats, and room for 16-bit words. */
static int prepare(struct gcb_kernel_job *job)
{
    job->x = gcb_kernel_floats(job, job->n, 1);
    job->bytes = gcb_kernel_take(job, 2 * job->n);
    return job->x && job->bytes ? 0 : GCB_E_NOMEM;
}

static int prepare_narrow(struct gcb_kernel_job *job)
{
    job->read = job->n * sizeof(float);
    if (prepare(job))
        return GCB_E_NOMEM;
    return gcb_kernel_writes(job, job->bytes, 2 * job->n);
}

static int prepare_widen(struct gcb_kernel_job *job)
{
    const struct gcb_convert_fns *f = &job->kernels.convert;

    job->read = 2 * job->n;
    if (prepare(job))
        return GCB_E_NOMEM;
    (job->param ? f->to_bf16 : f->to_fp16)(job->bytes, job->x, job->n);
    job->y = gcb_kernel_take(job, job->n * sizeof(float));
    return gcb_kernel_writes(job, job->y, job->n * sizeof(float));
}

static void run_to_fp16(struct gcb_kernel_job *job)
{
    job->number = job->kernels.convert.to_fp16(job->bytes, job->x, job->n);
}

static void run_to_bf16(struct gcb_kernel_job *job)
{
    job->number = job->kernels.convert.to_bf16(job->bytes, job->x, job->n);
}

static void run_from_fp16(struct gcb_kernel_job *job)
{
    job->kernels.convert.from_fp16(job->y, job->bytes, job->n);
}

static void run_from_bf16(struct gcb_kernel_job *job)
{
    job->kernels.convert.from_bf16(job->y, job->bytes, job->n);
}

enum function {
    TO_FP16 = offsetof(struct gcb_kernels, convert.to_fp16),
    TO_BF16 = offsetof(struct gcb_kernels, convert.to_bf16),
    FROM_FP16 = offsetof(struct gcb_kernels, convert.from_fp16),
    FROM_BF16 = offsetof(struct gcb_kernels, convert.from_bf16),
};

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_convert[] = {
    {"to_fp16", TO_FP16, 0, prepare_narrow, run_to_fp16},
    {"to_bf16", TO_BF16, 0, prepare_narrow, run_to_bf16},
    {"from_fp16", FROM_FP16, 0, prepare_widen, run_from_fp16},
    {"from_bf16", FROM_BF16, 1, prepare_widen, run_from_bf16},
    {.name = NULL},
};
/* clang-format on */
