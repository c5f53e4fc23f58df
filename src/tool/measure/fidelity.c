#include "src/tool/measure/fidelity.h"

#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"

#define TASK_BLOCKS 16 /* blocks of a task: enough work to be worth a thread */
#define ROUND_TASKS 16
#define ROUND_BLOCKS (TASK_BLOCKS * ROUND_TASKS) /* few enough for the stack */

/* Blocks that several threads compare. Afterwards one thread adds the results in index order. */
struct round {
    const float *x, *y;
    uint64_t n;
    const struct gcb_kernels *kernels;
    struct gcb_cuda_comparison block[ROUND_BLOCKS];
};

/* Compares a block with infinities or NaNs in x. Works on copies of x and y that have 0 in place of
 * each of these elements, because zeros do not change the sums. Subtracts these zeros from the
 * counts. */
static void compare_masked(struct gcb_cuda_comparison *out, const float *x, const float *y,
                           size_t n, const struct gcb_kernels *kernels)
{
    float fx[GCB_SUM_BLOCK], fy[GCB_SUM_BLOCK];

    memcpy(fx, x, n * sizeof(*x));
    memcpy(fy, y, n * sizeof(*y));
    for (size_t i = 0; i < n; i++) {
        if (gcb_magnitude(x[i]) < GCB_INF_BITS)
            continue;
        out->nonfinite++;
        out->nonfinite_kept += gcb_bits_of(x[i]) == gcb_bits_of(y[i]);
        fx[i] = fy[i] = 0.0f;
    }
    kernels->compare.block(&out->sums, fx, fy, n);
    out->sums.same_sign -= out->nonfinite;
    out->sums.zeros -= out->nonfinite;
    out->sums.zeros_kept -= out->nonfinite;
}

/* Compares up to TASK_BLOCKS blocks of the round `ctx`, as a task of gcb_parallel. */
static void compare_task(void *ctx, uint64_t task)
{
    struct round *r = ctx;

    for (size_t b = task * TASK_BLOCKS; b < (task + 1) * TASK_BLOCKS; b++) {
        const uint64_t at = (uint64_t)b * GCB_SUM_BLOCK;
        struct gcb_cuda_comparison *out = &r->block[b];
        size_t n;

        if (at >= r->n)
            return;
        n = r->n - at < GCB_SUM_BLOCK ? (size_t)(r->n - at) : GCB_SUM_BLOCK;
        out->nonfinite = out->nonfinite_kept = 0;
        if (r->kernels->reduce.max_bits(r->x + at, n) >= GCB_INF_BITS)
            compare_masked(out, r->x + at, r->y + at, n, r->kernels);
        else
            r->kernels->compare.block(&out->sums, r->x + at, r->y + at, n);
    }
}

static void add_block(struct gcb_fidelity *f, const struct gcb_cuda_comparison *b)
{
    const struct gcb_fidelity sums = {
        .xx = b->sums.xx,
        .yy = b->sums.yy,
        .xy = b->sums.xy,
        .dd = b->sums.dd,
        .d = b->sums.d,
        .max_abs = b->sums.max_abs,
        .same_sign = b->sums.same_sign,
        .zeros = b->sums.zeros,
        .zeros_kept = b->sums.zeros_kept,
        .nonfinite = b->nonfinite,
        .nonfinite_kept = b->nonfinite_kept,
    };

    gcb_fidelity_merge(f, &sums);
}

void gcb_fidelity_add(struct gcb_fidelity *f, const float *x, const float *y, uint64_t n,
                      const struct gcb_kernels *kernels, const struct gcb_queue *queue)
{
    const uint64_t step = (uint64_t)ROUND_BLOCKS * GCB_SUM_BLOCK;
    struct round r = {.kernels = kernels};

    for (uint64_t at = 0; at < n; at += step) {
        uint64_t blocks;

        r.x = x + at;
        r.y = y + at;
        r.n = n - at < step ? n - at : step;
        blocks = (r.n + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
        gcb_parallel(queue, (blocks + TASK_BLOCKS - 1) / TASK_BLOCKS, compare_task, &r);
        for (uint64_t b = 0; b < blocks; b++)
            add_block(f, &r.block[b]);
    }
    f->elements += n;
}

/* Bytes of scratch for the result. The kernels' scratch follows, aligned like any device memory. */
#define FRONT 256

uint64_t gcb_fidelity_scratch(const struct gcb_device *device, uint64_t n)
{
    return FRONT + device->module->tensor.compare_scratch(n);
}

int gcb_fidelity_add_there(struct gcb_fidelity *f, struct gcb_device_batch *b, const float *x_dev,
                           const float *y_dev, uint64_t n, struct gcb_diag *diag)
{
    const struct gcb_device_module *module = gcb_device_batch_module(b);
    struct gcb_cuda_comparison all;
    struct gcb_device_call call;
    int err = gcb_device_batch_call(&call, b, 0, FRONT + module->tensor.compare_scratch(n), diag);

    if (err)
        return err;
    /* errors of this kernel are reported when the download waits */
    module->tensor.compare(call.stream, call.scratch_dev, x_dev, y_dev, n,
                           (uint8_t *)call.scratch_dev + FRONT);
    err = gcb_device_batch_download(b, &all, call.scratch_dev, sizeof(all), diag);
    if (err)
        return err;
    add_block(f, &all);
    f->elements += n;
    return 0;
}

void gcb_fidelity_merge(struct gcb_fidelity *f, const struct gcb_fidelity *other)
{
    f->xx += other->xx;
    f->yy += other->yy;
    f->xy += other->xy;
    f->dd += other->dd;
    f->d += other->d;
    if (other->max_abs > f->max_abs)
        f->max_abs = other->max_abs;
    f->same_sign += other->same_sign;
    f->zeros += other->zeros;
    f->zeros_kept += other->zeros_kept;
    f->elements += other->elements;
    f->nonfinite += other->nonfinite;
    f->nonfinite_kept += other->nonfinite_kept;
    f->split.scale += other->split.scale;
    f->split.dead_zone += other->split.dead_zone;
    f->split.grid += other->split.grid;
}

static double share(double part, uint64_t whole)
{
    return whole ? part / (double)whole : NAN;
}

static double cosine_of(const struct gcb_fidelity *f)
{
    double c;

    if (f->xx == 0.0 || f->yy == 0.0)
        return f->xx == f->yy ? 1.0 : 0.0;
    if (f->dd == 0.0) /* x equals y, so avoid the rounding errors of the division */
        return 1.0;
    c = f->xy / (sqrt(f->xx) * sqrt(f->yy));
    return fabs(c) > 1.0 ? copysign(1.0, c) : c; /* rounding can give a result outside [-1, 1] */
}

void gcb_fidelity_figures(struct gcb_fidelity_figures *out, const struct gcb_fidelity *f,
                          double bits_per_element)
{
    const uint64_t finite = f->elements - f->nonfinite;
    const double error = sqrt(f->dd), norm = sqrt(f->xx);
    const double gain = f->xx > 0.0 ? norm / error : NAN;
    const double split = f->split.scale + f->split.dead_zone + f->split.grid;
    const double of_zeros = f->dd == 0.0 ? 0.0 : NAN; /* rel_l2 if x is zero */

    out->rel_l2 = f->xx > 0.0 ? error / norm : of_zeros;
    out->cosine = cosine_of(f);
    out->max_abs_error = f->max_abs;
    out->mean_error = share(0.0 - f->d, finite); /* -d would be -0 if d is 0 */
    out->sign_agreement = share((double)f->same_sign, finite);
    out->zeros_preserved = share((double)f->zeros_kept, f->zeros);
    out->snr_db = 20.0 * log10(gain);
    out->accuracy_gain_bits = log2(gain) - bits_per_element;
    out->compression_gain = f->xx > 0.0 ? f->yy / f->xx : NAN;
    out->error_scale = f->split.scale / split;
    out->error_dead_zone = f->split.dead_zone / split;
    out->error_grid = f->split.grid / split;
}

const double *gcb_fidelity_figure(const struct gcb_fidelity_figures *figures, enum gcb_field field)
{
    const struct {
        enum gcb_field field;
        const double *figure;
    } rows[] = {
        {GCB_FIELD_REL_L2, &figures->rel_l2},
        {GCB_FIELD_COSINE, &figures->cosine},
        {GCB_FIELD_MAX_ABS_ERROR, &figures->max_abs_error},
        {GCB_FIELD_MEAN_ERROR, &figures->mean_error},
        {GCB_FIELD_SIGN_AGREEMENT, &figures->sign_agreement},
        {GCB_FIELD_ZEROS_PRESERVED, &figures->zeros_preserved},
        {GCB_FIELD_SNR_DB, &figures->snr_db},
        {GCB_FIELD_ACCURACY_GAIN_BITS, &figures->accuracy_gain_bits},
        {GCB_FIELD_COMPRESSION_GAIN, &figures->compression_gain},
        {GCB_FIELD_ERROR_SCALE, &figures->error_scale},
        {GCB_FIELD_ERROR_DEAD_ZONE, &figures->error_dead_zone},
        {GCB_FIELD_ERROR_GRID, &figures->error_grid},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].field == field)
            return rows[i].figure;
    return NULL;
}
