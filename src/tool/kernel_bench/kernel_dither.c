#include "src/tool/kernel_bench/kernel_case.h"

/* Rounds to 2^param - 1 levels (trits: 1 level) with a norm of 2. The random bytes are drawn beforehand. */
static int prepare(struct gcb_kernel_job *job)
{
    job->dither = (struct gcb_dither){
        .seed = 1, .coarse = 2, .fine = 3, .levels = job->param ? (1u << job->param) - 1 : 1};
    gcb_dither_scale(&job->dither, 2.0f);
    job->x = gcb_kernel_floats(job, job->n, 1);
    job->random = gcb_kernel_random(job, job->n, 2);
    job->code = gcb_kernel_take(job, job->n * sizeof(*job->code));
    return job->x && job->random && job->code ? 0 : GCB_E_NOMEM;
}

static void run_signed_levels(struct gcb_kernel_job *job)
{
    job->kernels.dither.signed_levels(job->code, job->x, job->n, job->random, 0, &job->dither,
                                      job->param);
}

static void run_trits(struct gcb_kernel_job *job)
{
    job->kernels.dither.trits(job->code, job->x, job->n, job->random, 0, &job->dither);
}

static int prepare_encode(struct gcb_kernel_job *job)
{
    job->read = job->n * (sizeof(float) + 1);
    if (prepare(job))
        return GCB_E_NOMEM;
    return gcb_kernel_writes(job, job->code, job->n * sizeof(*job->code));
}

static int prepare_decode(struct gcb_kernel_job *job)
{
    job->read = job->n * sizeof(*job->code);
    if (prepare(job))
        return GCB_E_NOMEM;
    if (job->param)
        run_signed_levels(job);
    else
        run_trits(job);
    for (uint32_t i = 0; i <= job->dither.levels; i++)
        job->step[i] = (float)i / (float)job->dither.levels;
    job->y = gcb_kernel_take(job, job->n * sizeof(float));
    return gcb_kernel_writes(job, job->y, job->n * sizeof(float));
}

static void run_from_levels(struct gcb_kernel_job *job)
{
    job->kernels.dither.from_levels(job->y, job->code, job->n, job->step, 2.0f, job->param);
}

static void run_from_trits(struct gcb_kernel_job *job)
{
    job->kernels.dither.from_trits(job->y, job->code, job->n, 2.0f);
}

enum function {
    SIGNED_LEVELS = offsetof(struct gcb_kernels, dither.signed_levels),
    TRITS = offsetof(struct gcb_kernels, dither.trits),
    FROM_LEVELS = offsetof(struct gcb_kernels, dither.from_levels),
    FROM_TRITS = offsetof(struct gcb_kernels, dither.from_trits),
};

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_dither[] = {
    {"signed_levels", SIGNED_LEVELS, 7, prepare_encode, run_signed_levels},
    {"trits", TRITS, 0, prepare_encode, run_trits},
    {"from_levels:2", FROM_LEVELS, 2, prepare_decode, run_from_levels},
    {"from_levels:4", FROM_LEVELS, 4, prepare_decode, run_from_levels},
    {"from_levels:7", FROM_LEVELS, 7, prepare_decode, run_from_levels},
    {"from_trits", FROM_TRITS, 0, prepare_decode, run_from_trits},
    {.name = NULL},
};
/* clang-format on */
