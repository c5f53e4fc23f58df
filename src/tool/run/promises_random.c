#include <math.h>
#include <string.h>

#include "src/tool/run/error_rules.h"

/*
 * Promises about random draws, checked over GCB_PROMISE_RUNS seeds. The values that an element may become follow from
 * the tensor, so the means and the variances are exact. A method that draws independently and keeps its promise fails
 * the check less often than the claim says.
 */

static struct gcb_rule_input input_of(const struct gcb_promise_job *job)
{
    return (struct gcb_rule_input){job->method, job->x, job->config.env.count, NULL, 0};
}

/* The first GCB_PROMISE_SAMPLE elements as a tensor of their own, with another seed in each run. */
static struct gcb_promise_job sample_of(const struct gcb_promise_case *c, unsigned run)
{
    struct gcb_promise_job job = c->job;

    if (job.config.env.count > GCB_PROMISE_SAMPLE) {
        job.config.env.count = GCB_PROMISE_SAMPLE;
        job.config.env.shape = NULL;
        job.config.env.rank = 0;
    }
    job.config.env.seed = c->job.config.env.seed + run;
    return job;
}

/*
 * Returns how far a sum of independent terms may be from its mean. By Bernstein's inequality the sum is farther away
 * with a probability of at most 1e-9, whatever the distribution, if the variances of the terms add up to `variance` and
 * no term is farther than `most` from its own mean.
 */
#define LOG_ALARM 21.42 /* ln(2 / 1e-9) */

static double largest_deviation(double variance, double most)
{
    const double a = LOG_ALARM * most / 3.0;

    return a + sqrt(a * a + 2.0 * LOG_ALARM * variance);
}

/* ---- draws-apart: seeds, workers and steps draw differently ---- */

static bool draws(const struct gcb_method *m)
{
    const struct gcb_error_rule *rule = gcb_error_rule_of(m);

    return rule && rule->drawn;
}

/* Levels that are nearer to each other may be decoded to the same value. */
#define LEVELS_APART (4.0 * GCB_PROMISE_STEP)

static void count_difference(void *ctx, uint64_t i, const struct gcb_element_error *e)
{
    (void)i;
    *(double *)ctx += e->step >= LEVELS_APART ? 2.0 * e->up * (1.0 - e->up) : 0.0;
}

/* If two draws are expected to differ in fewer elements, the tensor cannot show whether they do. */
#define ENOUGH_DIFFERENCES 50.0

static double count_differing(const float *x, const float *y, uint64_t n)
{
    double count = 0.0;

    for (uint64_t i = 0; i < n; i++)
        count += memcmp(&x[i], &y[i], sizeof(float)) != 0;
    return count;
}

static enum gcb_promise_status check_draws_apart(struct gcb_promise_case *c)
{
    const struct gcb_rule_input in = input_of(&c->job);
    struct gcb_promise_job seed = c->job, worker = c->job, step = c->job;
    const struct gcb_promise_job *const others[] = {&seed, &worker, &step};
    static const char *const words[] = {"seeds", "workers", "steps"};
    double expected = 0.0, least;

    seed.config.env.seed++;
    worker.at.worker++;
    step.at.step++;
    gcb_error_rule_of(in.method)->visit(&in, count_difference, &expected);
    if (expected < ENOUGH_DIFFERENCES)
        return gcb_promise_idle(c, "too few elements are rounded at random");
    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    if (c->stored)
        return gcb_promise_idle(c, "the message was sent raw");
    least = fmax(expected - largest_deviation(expected, 1.0), 1.0);
    for (size_t i = 0; i < 3; i++) {
        double differing;

        if (!gcb_promise_send_other(c, others[i]))
            return GCB_PROMISE_BROKEN;
        differing = count_differing(c->y, c->z, in.count);
        if (differing < least)
            return gcb_promise_broken(
                c, differing, least,
                "two %s draw too similarly: %.0f elements differ, but at least %.0f should",
                words[i], differing, least);
    }
    return gcb_promise_kept(c, NAN, NAN);
}

/* ---- unbiased ---- */

/* The errors are summed with several weights for each element. Each choice of weights is a direction. */
#define DIRECTIONS 4

static void set_weights(double w[DIRECTIONS], float x)
{
    w[0] = (double)x;             /* finds tensors that come back too short or too long */
    w[1] = 1.0;                   /* finds shifted elements */
    w[2] = x < 0.0f ? -1.0 : 1.0; /* finds small elements that are pulled to zero */
    w[3] = fabs((double)x);
}

struct directions {
    const float *x;
    double variance[DIRECTIONS], most[DIRECTIONS], slack[DIRECTIONS];
    double sum[DIRECTIONS];
};

static void add_direction(void *ctx, uint64_t i, const struct gcb_element_error *e)
{
    struct directions *s = ctx;
    double w[DIRECTIONS];

    set_weights(w, s->x[i]);
    for (size_t k = 0; k < DIRECTIONS; k++) {
        s->variance[k] += w[k] * w[k] * e->step * e->step * e->up * (1.0 - e->up);
        s->most[k] = fmax(s->most[k], fabs(w[k]) * e->step);
        s->slack[k] += fabs(w[k]) * gcb_element_slack(s->x[i], e);
    }
}

static void add_errors(struct directions *s, const float *y, uint64_t n)
{
    double w[DIRECTIONS];

    for (uint64_t i = 0; i < n; i++) {
        set_weights(w, s->x[i]);
        for (size_t k = 0; k < DIRECTIONS; k++)
            s->sum[k] += w[k] * ((double)y[i] - (double)s->x[i]);
    }
}

static bool is_unbiased(const struct gcb_method *m)
{
    return gcb_method_caps(m) & GCB_CAP_UNBIASED && draws(m);
}

static enum gcb_promise_status check_unbiased(struct gcb_promise_case *c)
{
    const struct gcb_promise_job first = sample_of(c, 0);
    const struct gcb_rule_input in = input_of(&first);
    struct directions s = {.x = first.x};
    double worst = 0.0;

    gcb_error_rule_of(in.method)->visit(&in, add_direction, &s);
    for (unsigned run = 0; run < GCB_PROMISE_RUNS; run++) {
        const struct gcb_promise_job job = sample_of(c, run);

        if (!gcb_promise_send_other(c, &job))
            return GCB_PROMISE_BROKEN;
        add_errors(&s, c->z, job.config.env.count);
    }
    for (size_t k = 0; k < DIRECTIONS; k++) {
        const double limit = largest_deviation(GCB_PROMISE_RUNS * s.variance[k], s.most[k]) +
                             GCB_PROMISE_RUNS * s.slack[k];

        if (limit > 0.0)
            worst = fmax(worst, fabs(s.sum[k]) / limit);
    }
    return gcb_promise_at_most(c, worst, 1.0, "mean error as a multiple of what chance allows");
}

/* ---- the mean of the squared error ---- */

struct squared {
    double mean, variance, most; /* mean and variance of the sum of squared errors; largest term */
    double slack; /* error of the sum: norms and levels are multiples of the smallest float32 */
};

static void add_squared(void *ctx, uint64_t i, const struct gcb_element_error *e)
{
    struct squared *s = ctx;
    const double up = e->step * (1.0 - e->up), down = e->step * e->up;
    const double second = e->step * e->step * e->up * (1.0 - e->up);
    const double fixed = e->step > 0.0 ? 0.0 : e->most; /* the error of an element without a draw */

    (void)i;
    s->mean += second + fixed * fixed;
    s->variance += e->up * pow(up, 4) + (1.0 - e->up) * pow(down, 4) - second * second;
    s->most = fmax(s->most, fmax(up * up, down * down));
    s->slack += GCB_PROMISE_STEP * (3.0 * e->step + 2.0 * fixed + GCB_PROMISE_STEP);
}

#define CODING 1e-5 /* what float32 norms and levels may add, as a share of the mean */

enum gcb_promise_status gcb_promise_check_mean(struct gcb_promise_case *c)
{
    const struct gcb_promise_job first = sample_of(c, 0);
    const struct gcb_rule_input in = input_of(&first);
    const struct gcb_error_rule *rule = gcb_error_rule_of(in.method);
    struct squared s = {0.0, 0.0, 0.0, 0.0};
    double sum = 0.0, limit;

    rule->visit(&in, add_squared, &s);
    if (s.mean == 0.0)
        return gcb_promise_idle(c, "every element is exactly on a level, so nothing is drawn");
    for (unsigned run = 0; run < GCB_PROMISE_RUNS; run++) {
        const struct gcb_promise_job job = sample_of(c, run);

        if (!gcb_promise_send_other(c, &job))
            return GCB_PROMISE_BROKEN;
        if (c->stored)
            return gcb_promise_idle(c, "the message was sent raw");
        sum += gcb_promise_distance(job.x, c->z, job.config.env.count);
    }
    limit = rule->largest_mean ? rule->largest_mean(&in) : INFINITY;
    if (s.mean > limit * (1.0 + 1e-9))
        return gcb_promise_broken(c, s.mean, limit,
                                  "the expected squared error %g is above the paper's limit %g",
                                  s.mean, limit);
    limit = largest_deviation(GCB_PROMISE_RUNS * s.variance, s.most) +
            GCB_PROMISE_RUNS * (CODING * s.mean + 0x1p-32 * s.most + s.slack);
    return gcb_promise_at_most(c, fabs(sum - GCB_PROMISE_RUNS * s.mean) / limit, 1.0,
                               "difference between the measured and the expected squared error, "
                               "over the largest difference that chance explains");
}

const struct gcb_promise gcb_promises_random[] = {
    {"draws-apart", "two seeds, workers or steps give different draws", "docs/method.md", draws,
     check_draws_apart},
    {"unbiased", "the mean of the decoded tensors over seeds is the input (false alarm below 4e-9)",
     "QSGD, lemma 3.1; TernGrad", is_unbiased, check_unbiased},
    {.name = NULL},
};
