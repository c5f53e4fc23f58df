#include "src/tool/verify/promises_draws.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Levels h = N/s apart, N the bucket's largest magnitude or its norm, which a float32 has to hold. */
static void draw_bucket(const float *x, uint64_t first, uint64_t count, double s, bool l2,
                        gcb_draw_fn *each, void *ctx)
{
    double norm = 0.0;

    for (uint64_t i = first; i < first + count; i++)
        norm = l2 ? norm + (double)x[i] * (double)x[i] : fmax(norm, fabs((double)x[i]));
    norm = l2 ? fmin(sqrt(norm), FLT_MAX) : norm;
    for (uint64_t i = first; i < first + count; i++) {
        const double t = norm > 0.0 ? fmin(fabs((double)x[i]) * s / norm, s) : 0.0;

        each(ctx, i, &(struct gcb_draw){norm / s, t - floor(t), 0.0});
    }
}

double gcb_draws_number(const struct gcb_method *m, const char *key)
{
    double value = 0.0;

    gcb_method_value(m, key, &value);
    return value;
}

double gcb_draws_levels(const struct gcb_method *m)
{
    const double levels = gcb_draws_number(m, "levels");

    return levels > 0.0 ? levels : exp2(gcb_draws_number(m, "bits") - 1.0) - 1.0;
}

bool gcb_draws_by_norm(const struct gcb_method *m)
{
    return strcmp(gcb_promise_choice(m, "norm"), "l2") == 0;
}

static void draw_levels(const struct gcb_promise_job *job, gcb_draw_fn *each, void *ctx)
{
    const uint64_t n = job->config.env.count,
                   bucket = (uint64_t)gcb_draws_number(job->method, "bucket");

    for (uint64_t i = 0; i < n; i += bucket)
        draw_bucket(job->x, i, n - i < bucket ? n - i : bucket, gcb_draws_levels(job->method),
                    gcb_draws_by_norm(job->method), each, ctx);
}

/* max|x|, or `clip` standard deviations about the mean where that is less. */
static double ternary_scale(const float *x, uint64_t n, double clip)
{
    double max = 0.0, sum = 0.0, squares = 0.0, deviation;

    for (uint64_t i = 0; i < n; i++) {
        max = fmax(max, fabs((double)x[i]));
        sum += (double)x[i];
    }
    for (uint64_t i = 0; i < n; i++)
        squares += ((double)x[i] - sum / (double)n) * ((double)x[i] - sum / (double)n);
    deviation = sqrt(squares / (double)n);
    return clip > 0.0 && deviation > 1e-5 * max ? fmin(max, clip * deviation) : max;
}

static void draw_ternary(const struct gcb_promise_job *job, gcb_draw_fn *each, void *ctx)
{
    const uint64_t n = job->config.env.count;
    const double s = ternary_scale(job->x, n, gcb_draws_number(job->method, "clip"));

    for (uint64_t i = 0; i < n; i++) {
        const double x = fabs((double)job->x[i]);

        each(ctx, i,
             x <= s ? &(struct gcb_draw){s, s > 0.0 ? x / s : 0.0, 0.0}
                    : &(struct gcb_draw){0.0, 0.0, x - s});
    }
}

void gcb_draws_each(const struct gcb_promise_job *job, gcb_draw_fn *each, void *ctx)
{
    if (job->method->codec->bounds & GCB_BOUND_LEVELS)
        draw_levels(job, each, ctx);
    else
        draw_ternary(job, each, ctx);
}
