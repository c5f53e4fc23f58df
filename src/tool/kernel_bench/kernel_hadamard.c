#include "src/tool/kernel_bench/kernel_case.h"

/* In place, on zeros: other values would grow out of range when they are transformed again and again. */
static int prepare_transform(struct gcb_kernel_job *job)
{
    job->y = gcb_kernel_take(job, job->n * sizeof(float));
    job->read = job->written = job->n * sizeof(float);
    return job->y ? 0 : GCB_E_NOMEM;
}

static int prepare_flip(struct gcb_kernel_job *job)
{
    job->y = gcb_kernel_floats(job, job->n, 1);
    job->random = gcb_kernel_random(job, job->n / 8, 2);
    job->read = job->n * sizeof(float) + job->n / 8;
    job->written = job->n * sizeof(float);
    return job->y && job->random ? 0 : GCB_E_NOMEM;
}

static void run_transform(struct gcb_kernel_job *job)
{
    const size_t length = job->param ? job->param : job->n;

    for (size_t i = 0; i < job->n; i += length)
        job->kernels.hadamard.transform(job->y + i, length);
}

static void run_flip(struct gcb_kernel_job *job)
{
    job->kernels.hadamard.flip(job->y, job->random, job->n);
}

enum function {
    TRANSFORM = offsetof(struct gcb_kernels, hadamard.transform),
    FLIP = offsetof(struct gcb_kernels, hadamard.flip),
};

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_hadamard[] = {
    {"transform:4096", TRANSFORM, 4096, prepare_transform, run_transform},
    {"transform", TRANSFORM, 0, prepare_transform, run_transform},
    {"flip", FLIP, 0, prepare_flip, run_flip},
    {.name = NULL},
};
/* clang-format on */
