#include <math.h>
#include <string.h>

#include "src/tool/verify/promises_draws.h"

/*
 * What holds on average, over GCB_PROMISE_RUNS seeds. What each element may draw follows from the tensor alone, so means and
 * variances are exact and the rate of false alarms is bounded: a method whose draws are independent and that keeps
 * its word is accused less often than the claim says.
 */

/* The first GCB_PROMISE_SAMPLE elements as a tensor of their own, with the r-th seed. */
static struct gcb_promise_job sample(const struct gcb_promise_bench *b, unsigned r)
{
    struct gcb_promise_job job = b->job;

    if (job.config.env.count > GCB_PROMISE_SAMPLE) {
        job.config.env.count = GCB_PROMISE_SAMPLE;
        job.config.env.shape = NULL;
        job.config.env.rank = 0;
    }
    job.config.env.seed = b->job.config.env.seed + r;
    return job;
}

/* ---- apart ---- */

static bool draws(const struct gcb_method *m)
{
    return m->codec->bounds & (GCB_BOUND_LEVELS | GCB_BOUND_TERNARY);
}

/* Levels nearer to each other than this may be decoded to one value. */
#define LEVELS_APART (4.0 * GCB_PROMISE_STEP)

static void add_places(void *ctx, uint64_t i, const struct gcb_draw *d)
{
    (void)i;
    *(double *)ctx += d->h >= LEVELS_APART ? 2.0 * d->p * (1.0 - d->p) : 0.0;
}

/* Where two draws should differ in 50 places, none does with a probability below e^-50. */
#define PLACES 50.0

static bool same(const float *x, const float *y, uint64_t n)
{
    return memcmp(x, y, n * sizeof(float)) == 0;
}

static int draws_apart(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                       struct gcb_diag *diag)
{
    const uint64_t n = b->job.config.env.count;
    struct gcb_promise_job seed = b->job, worker = b->job, step = b->job;
    const struct gcb_promise_job *const others[] = {&seed, &worker, &step};
    static const char *const words[] = {"seeds", "workers", "steps"};
    double places = 0.0;

    (void)diag;
    seed.config.env.seed++;
    worker.at.worker++;
    step.at.step++;
    gcb_draws_each(&b->job, add_places, &places);
    if (places < PLACES)
        return gcb_promise_idle(out, "too little to draw for");
    if (!gcb_promise_send(b, out))
        return 0;
    if (b->stored)
        return gcb_promise_idle(out, "sent raw");
    for (size_t i = 0; i < 3; i++) {
        if (!gcb_promise_send_other(b, others[i], out))
            return 0;
        if (same(b->y, b->z, n))
            return gcb_promise_broken(out, NAN, NAN, "two %s draw the same", words[i]);
    }
    return gcb_promise_kept(out, NAN, NAN);
}

/*
 * How far a sum of independent terms may be from its mean: by Bernstein's inequality it is farther with a probability of at
 * most 1e-9, whatever the terms' distribution, if their variances add up to `variance` and none is farther than `most` from its
 * own mean.
 */
#define LOG_ALARM 21.42 /* ln(2 / 1e-9) */

static double farthest(double variance, double most)
{
    const double a = LOG_ALARM * most / 3.0;

    return a + sqrt(a * a + 2.0 * LOG_ALARM * variance);
}

/* ---- unbiased ---- */

/* The error along a few directions. */
#define DIRECTIONS 4

static void weights(double w[DIRECTIONS], float x)
{
    w[0] = (double)x;             /* too short, too long */
    w[1] = 1.0;                   /* shifted */
    w[2] = x < 0.0f ? -1.0 : 1.0; /* small ones pulled to zero */
    w[3] = fabs((double)x);
}

struct directions {
    const float *x;
    double variance[DIRECTIONS], most[DIRECTIONS], rounding[DIRECTIONS];
    double sum[DIRECTIONS];
};

static void add_direction(void *ctx, uint64_t i, const struct gcb_draw *d)
{
    struct directions *s = ctx;
    double w[DIRECTIONS];

    weights(w, s->x[i]);
    for (size_t k = 0; k < DIRECTIONS; k++) {
        s->variance[k] += w[k] * w[k] * d->h * d->h * d->p * (1.0 - d->p);
        s->most[k] = fmax(s->most[k], fabs(w[k]) * d->h);
        /* float32 shares and levels, draws of 32 bits */
        s->rounding[k] +=
            fabs(w[k]) * (0x1p-20 * fabs((double)s->x[i]) + 0x1p-32 * d->h + GCB_PROMISE_STEP);
    }
}

static void add_errors(struct directions *s, const float *y, uint64_t n)
{
    double w[DIRECTIONS];

    for (uint64_t i = 0; i < n; i++) {
        weights(w, s->x[i]);
        for (size_t k = 0; k < DIRECTIONS; k++)
            s->sum[k] += w[k] * ((double)y[i] - (double)s->x[i]);
    }
}

static bool is_unbiased(const struct gcb_method *m)
{
    return gcb_method_caps(m) & GCB_CAP_UNBIASED &&
           m->codec->bounds & (GCB_BOUND_LEVELS | GCB_BOUND_TERNARY);
}

static int unbiased(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                    struct gcb_diag *diag)
{
    const struct gcb_promise_job first = sample(b, 0);
    struct directions s = {.x = first.x};
    double worst = 0.0;

    (void)diag;
    gcb_draws_each(&first, add_direction, &s);
    for (unsigned r = 0; r < GCB_PROMISE_RUNS; r++) {
        const struct gcb_promise_job job = sample(b, r);

        if (!gcb_promise_send_other(b, &job, out))
            return 0;
        add_errors(&s, b->z, job.config.env.count);
    }
    for (size_t k = 0; k < DIRECTIONS; k++) {
        const double limit = farthest(GCB_PROMISE_RUNS * s.variance[k], s.most[k]) +
                             GCB_PROMISE_RUNS * s.rounding[k];

        if (limit > 0.0)
            worst = fmax(worst, fabs(s.sum[k]) / limit);
    }
    return gcb_promise_at_most(out, worst, 1.0, "mean error over what chance allows");
}

/* ---- expected error ---- */

struct squared {
    double mean, variance, most; /* of the sum of squared errors */
    double rounding;             /* of it: norms and levels are multiples of float32's least step */
};

static void add_squared(void *ctx, uint64_t i, const struct gcb_draw *d)
{
    struct squared *s = ctx;
    const double up = d->h * (1.0 - d->p), down = d->h * d->p;
    const double second = d->h * d->h * d->p * (1.0 - d->p);

    (void)i;
    s->mean += second + d->sure * d->sure;
    s->variance += d->p * pow(up, 4) + (1.0 - d->p) * pow(down, 4) - second * second;
    s->most = fmax(s->most, fmax(up * up, down * down));
    s->rounding += GCB_PROMISE_STEP * (3.0 * d->h + 2.0 * d->sure + GCB_PROMISE_STEP);
}

#define CODING 1e-5 /* float32 norms and levels, of the mean */

static int judge_mean(struct gcb_promise_bench *b, double bound, struct gcb_promise_outcome *out)
{
    const struct gcb_promise_job first = sample(b, 0);
    struct squared s = {0.0, 0.0, 0.0, 0.0};
    double sum = 0.0, limit;

    gcb_draws_each(&first, add_squared, &s);
    if (s.mean == 0.0)
        return gcb_promise_idle(out, "every element stands on a level");
    for (unsigned r = 0; r < GCB_PROMISE_RUNS; r++) {
        const struct gcb_promise_job job = sample(b, r);

        if (!gcb_promise_send_other(b, &job, out))
            return 0;
        if (b->stored)
            return gcb_promise_idle(out, "sent raw");
        sum += gcb_promise_distance(job.x, b->z, job.config.env.count);
    }
    if (s.mean > bound * (1.0 + 1e-9))
        return gcb_promise_broken(out, s.mean, bound, "expects %g, above the paper's %g", s.mean,
                                  bound);
    limit = farthest(GCB_PROMISE_RUNS * s.variance, s.most) +
            GCB_PROMISE_RUNS * (CODING * s.mean + 0x1p-32 * s.most + s.rounding);
    return gcb_promise_at_most(
        out, fabs(sum - GCB_PROMISE_RUNS * s.mean) / limit, 1.0,
        "distance of the squared error from its mean over what chance allows");
}

static bool has_levels(const struct gcb_method *m)
{
    return m->codec->bounds & GCB_BOUND_LEVELS;
}

/* The paper's bound: per bucket of d min(d/s^2, sqrt(d)/s) N^2, or d/(4 s^2) N^2 with the largest as N. */
static double levels_bound(const struct gcb_promise_job *job)
{
    const uint64_t n = job->config.env.count,
                   bucket = (uint64_t)gcb_draws_number(job->method, "bucket");
    const double s = gcb_draws_levels(job->method);
    double bound = 0.0;

    for (uint64_t i = 0; i < n; i += bucket) {
        const uint64_t d = n - i < bucket ? n - i : bucket;
        double top = 0.0;

        for (uint64_t k = i; k < i + d; k++)
            top = fmax(top, fabs((double)job->x[k]));
        bound += gcb_draws_by_norm(job->method) ? fmin((double)d / (s * s), sqrt((double)d) / s) *
                                                      gcb_promise_energy(job->x + i, d)
                                                : (double)d / (4.0 * s * s) * top * top;
    }
    return bound;
}

static int levels_error(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                        struct gcb_diag *diag)
{
    const struct gcb_promise_job job = sample(b, 0);

    (void)diag;
    return judge_mean(b, levels_bound(&job), out);
}

static bool is_ternary(const struct gcb_method *m)
{
    return m->codec->bounds & GCB_BOUND_TERNARY;
}

static int ternary_error(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                         struct gcb_diag *diag)
{
    (void)diag;
    return judge_mean(b, INFINITY, out);
}

const struct gcb_promise gcb_promises_random[] = {
    {"draws-apart", "two seeds, workers or steps draw apart", "docs/method.md", draws, draws_apart},
    {"unbiased", "the mean over seeds is x (false alarm below 4e-9)", "QSGD, lemma 3.1; TernGrad",
     is_unbiased, unbiased},
    {"levels-error",
     "E||x - x'||^2 = sum (N/s)^2 p(1-p), <= min(d/s^2, sqrt(d)/s) N^2 (false alarm below 1e-9)",
     "QSGD, lemma 3.1", has_levels, levels_error},
    {"ternary-error",
     "E||x - x'||^2 = s ||x||_1 - ||x||^2, and what is clipped (false alarm below 1e-9)",
     "TernGrad, section 3", is_ternary, ternary_error},
    {.name = NULL},
};
