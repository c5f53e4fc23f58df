#include <math.h>
#include <string.h>

#include "src/lib/sparse/stages.h"
#include "src/tool/verify/promises.h"

/* Exact identities of sparsifiers, by their stages. */

static bool is(const struct gcb_method *m, const char *key, const char *value)
{
    return strcmp(gcb_promise_choice(m, key), value) == 0;
}

/* How kept values are sent; RedSync's quantisation sends their mean, whatever `values` says. */
static bool sends(const struct gcb_method *m, const char *values)
{
    if (is(m, "quant", "asq"))
        return strcmp(values, "mean") == 0;
    return is(m, "values", values);
}

static bool sparsifies(const struct gcb_method *m)
{
    return gcb_promise_choice(m, "select")[0] && gcb_promise_choice(m, "values")[0];
}

/* The method with its kept values sent as they are: what selection and transform do alone. */
static int verbatim_job(struct gcb_promise_job *job, struct gcb_method *m,
                        const struct gcb_promise_bench *b, struct gcb_diag *diag)
{
    const struct gcb_param *p;

    *job = b->job;
    *m = *b->job.method;
    job->method = m;
    for (size_t row = 0; (p = gcb_method_param(m, row)); row++)
        if (strcmp(p->name, "values") == 0)
            m->given[row] = false; /* as if nobody had chosen */
    return gcb_method_set(m, "values", "fp32", diag);
}

/* ---- kept values as they are ---- */

static bool keeps_verbatim(const struct gcb_method *m)
{
    return sparsifies(m) && sends(m, "fp32") && is(m, "transform", "none");
}

static int verbatim(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                    struct gcb_diag *diag)
{
    const uint64_t n = b->job.config.env.count;

    (void)diag;
    if (!gcb_promise_send(b, out))
        return 0;
    for (uint64_t i = 0; i < n; i++)
        if (b->y[i] != 0.0f && memcmp(&b->job.x[i], &b->y[i], sizeof(float)) != 0)
            return gcb_promise_broken(
                out, (double)i, NAN, "element %llu, %g, comes back as %g: neither dropped nor kept",
                (unsigned long long)i, (double)b->job.x[i], (double)b->y[i]);
    return gcb_promise_kept(out, NAN, NAN);
}

/* ---- identities of energies ---- */

#define ROUNDING 4e-6 /* of the energy: float32 means, transforms in float32 */

/* ||x - x'||^2 = ||x||^2 - ||x'||^2, of any projection: kept values as they are, or replaced by their mean. With x' off by r of the
 * norm the two sides differ by 2 r sqrt(2) + 2 r^2 of the energy at most. */
static int pythagoras(const struct gcb_promise_bench *b, const float *y,
                      struct gcb_promise_outcome *out)
{
    const uint64_t n = b->job.config.env.count;
    const double lost = gcb_promise_distance(b->job.x, y, n);
    const double kept = gcb_promise_energy(y, n);
    double r;

    if (b->energy == 0.0)
        return gcb_promise_idle(out, "all zero");
    r = gcb_promise_rounding(b, b->job.method);
    if (r >= 1.0)
        return gcb_promise_idle(out, GCB_PROMISE_TINY);
    return gcb_promise_at_most(out, fabs(lost - (b->energy - kept)) / b->energy,
                               ROUNDING + 2.0 * r * (sqrt(2.0) + r),
                               "error and what is left of the energy differ by this share of it");
}

static bool projects(const struct gcb_method *m)
{
    return sparsifies(m) &&
           (sends(m, "fp32") || sends(m, "mean") || sends(m, "sign-mean") || sends(m, "means"));
}

static int projection(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                      struct gcb_diag *diag)
{
    (void)diag;
    return gcb_promise_send(b, out) ? pythagoras(b, b->y, out) : 0;
}

static bool transforms(const struct gcb_method *m)
{
    return sparsifies(m) && !is(m, "transform", "none") && !projects(m);
}

static int parseval(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                    struct gcb_diag *diag)
{
    struct gcb_promise_job job;
    struct gcb_method m;
    const int err = verbatim_job(&job, &m, b, diag);

    if (err)
        return err;
    return gcb_promise_send_other(b, &job, out) ? pythagoras(b, b->z, out) : 0;
}

/* ---- the largest ---- */

static bool takes_largest(const struct gcb_method *m)
{
    return sparsifies(m) && is(m, "transform", "none") &&
           (is(m, "select", "topk") || is(m, "select", "trimmed"));
}

/* No dropped magnitude above a kept one, and k of them: then 1 - delta <= 1 - k/n, which is checked too. */
static int largest(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                   struct gcb_diag *diag)
{
    const uint64_t n = b->job.config.env.count;
    double theta = 0.0, least = INFINITY, most = 0.0, lost;
    struct gcb_promise_job job;
    struct gcb_method m;
    uint64_t k;
    const int err = verbatim_job(&job, &m, b, diag);

    if (err || !gcb_promise_send_other(b, &job, out))
        return err;
    if (b->stored || b->energy == 0.0)
        return gcb_promise_idle(out, b->stored ? "sent raw" : "all zero");
    gcb_method_value(&m, "theta", &theta);
    k = gcb_kept_of(1.0 - theta, n);
    if (b->parts.payload.kept != k)
        return gcb_promise_broken(out, (double)b->parts.payload.kept, (double)k,
                                  "keeps %llu elements, not %llu",
                                  (unsigned long long)b->parts.payload.kept, (unsigned long long)k);
    for (uint64_t i = 0; i < n; i++) {
        const double x = fabs((double)b->job.x[i]);

        if (b->z[i] != 0.0f)
            least = fmin(least, x);
        else
            most = fmax(most, x);
    }
    if (most > least)
        return gcb_promise_broken(out, most, least, "drops %g and keeps %g", most, least);
    lost = gcb_promise_distance(b->job.x, b->z, n) / b->energy;
    return gcb_promise_at_most(out, lost, 1.0 - (double)k / (double)n + 1e-12,
                               "squared error over squared norm");
}

/* ---- the energy of as many bins ---- */

static bool takes_largest_bins(const struct gcb_method *m)
{
    return sparsifies(m) && !is(m, "transform", "none") && is(m, "select", "topk");
}

/* The k largest of P bins hold k/P of their energy at least, each counted once; a bin that stands for two counts twice, and so
 * half of that share remains for certain. */
static int largest_bins(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                        struct gcb_diag *diag)
{
    const uint64_t n = b->job.config.env.count;
    struct gcb_promise_job job;
    struct gcb_method m;
    double share, factor, r, lost;
    const int err = verbatim_job(&job, &m, b, diag);

    if (err || !gcb_promise_send_other(b, &job, out))
        return err;
    if (b->stored || b->energy == 0.0)
        return gcb_promise_idle(out, b->stored ? "sent raw" : "all zero");
    factor = is(&m, "transform", "fft") ? 0.5 : 1.0;
    share = factor * (double)b->parts.payload.kept / (double)b->parts.payload.positions;
    r = gcb_promise_rounding(b, &m);
    if (r >= 1.0 - sqrt(1.0 - share))
        return gcb_promise_idle(out, GCB_PROMISE_TINY);
    lost = sqrt(1.0 - share + ROUNDING) + r;
    return gcb_promise_at_most(out, gcb_promise_distance(b->job.x, b->z, n) / b->energy,
                               lost * lost, "squared error over squared norm");
}

const struct gcb_promise gcb_promises_sparse[] = {
    {"verbatim", "an element is dropped or comes back as it was", "Aji and Heafield 2017",
     keeps_verbatim, verbatim},
    {"projection", "||x - x'||^2 = ||x||^2 - ||x'||^2 = ||x||^2 - sum k mu^2 of groups",
     "SBC, STC, RedSync; Parseval", projects, projection},
    {"kept-energy", "with kept values as fp32 the error is the energy of what is dropped",
     "Parseval", transforms, parseval},
    {"largest", "k as asked, the largest, and ||x - x'||^2 <= (1 - k/n) ||x||^2",
     "Stich et al. 2018, of top-k", takes_largest, largest},
    {"largest-bins", "the k largest of P bins hold k/P of the energy (half of it for complex bins)",
     "FFT paper, section 3", takes_largest_bins, largest_bins},
    {.name = NULL},
};
