#include "kernels/base/hd.h"
#include "src/tool/kernel_bench/kernel_case.h"

/* 15 % of the values are larger, as many as sparsifiers keep by default: the density of the values at x is 1 - |x|. */
static const float threshold = 0.6127f;

static int prepare(struct gcb_kernel_job *job)
{
    job->x = gcb_kernel_floats(job, job->n, 1);
    job->pos = gcb_kernel_take(job, job->n * sizeof(*job->pos));
    job->read = job->n * sizeof(float);
    return job->x && job->pos ? 0 : GCB_E_NOMEM;
}

/* Collects the positions of the 15 % that are larger. */
static void collect_positions(struct gcb_kernel_job *job, size_t count)
{
    job->kept = job->kernels.select.collect(job->pos, job->x, count, 0, gcb_magnitude(threshold));
}

static int prepare_collect(struct gcb_kernel_job *job)
{
    if (prepare(job))
        return GCB_E_NOMEM;
    collect_positions(job, job->n);
    return gcb_kernel_writes(job, job->pos, job->kept * sizeof(*job->pos));
}

/* Counts the gathered elements. It reads their positions and, because they are close together, nearly all lines of the
 * array. */
static int prepare_gather(struct gcb_kernel_job *job)
{
    const unsigned width = job->param;

    if (prepare(job))
        return GCB_E_NOMEM;
    collect_positions(job, job->n / width);
    job->elements = width * job->kept;
    job->read += job->kept * sizeof(*job->pos);
    job->y = gcb_kernel_take(job, job->elements * sizeof(float));
    return gcb_kernel_writes(job, job->y, job->elements * sizeof(float));
}

static int prepare_power(struct gcb_kernel_job *job)
{
    job->x = gcb_kernel_floats(job, job->n, 1);
    job->y = gcb_kernel_take(job, job->n / 2 * sizeof(float));
    job->read = job->n * sizeof(float);
    return job->x ? gcb_kernel_writes(job, job->y, job->n / 2 * sizeof(float)) : GCB_E_NOMEM;
}

static void run_collect(struct gcb_kernel_job *job)
{
    collect_positions(job, job->n);
}

static void run_count(struct gcb_kernel_job *job)
{
    job->number = job->kernels.select.count(job->x, job->n, gcb_magnitude(threshold));
}

static void run_gather(struct gcb_kernel_job *job)
{
    job->kernels.select.gather(job->y, job->x, job->pos, job->kept);
}

static void run_gather2(struct gcb_kernel_job *job)
{
    job->kernels.select.gather2(job->y, job->x, job->pos, job->kept);
}

static void run_power(struct gcb_kernel_job *job)
{
    job->kernels.select.power(job->y, job->x, job->n / 2, 1.0f, 1.0f);
}

enum function {
    COLLECT = offsetof(struct gcb_kernels, select.collect),
    COUNT = offsetof(struct gcb_kernels, select.count),
    GATHER = offsetof(struct gcb_kernels, select.gather),
    GATHER2 = offsetof(struct gcb_kernels, select.gather2),
    POWER = offsetof(struct gcb_kernels, select.power),
};

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_select[] = {
    {"collect", COLLECT, 0, prepare_collect, run_collect},
    {"count", COUNT, 0, prepare, run_count},
    {"gather", GATHER, 1, prepare_gather, run_gather},
    {"gather2", GATHER2, 2, prepare_gather, run_gather2},
    {"power", POWER, 0, prepare_power, run_power},
    {.name = NULL},
};
/* clang-format on */
