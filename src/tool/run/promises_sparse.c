#include <math.h>
#include <string.h>

#include "src/lib/sparse/stages.h"
#include "src/tool/run/promises.h"

/* Promises of sparsifiers. The stages of a method decide which promises bind (apply to) it. */

static bool has_choice(const struct gcb_method *m, const char *key, const char *value)
{
    return strcmp(gcb_promise_choice(m, key), value) == 0;
}

static bool is_sparse(const struct gcb_method *m)
{
    return gcb_promise_choice(m, "select")[0] && gcb_promise_choice(m, "values")[0];
}

/* Sends the tensor, into c->other and c->z, with input and kept values as fp32. So only the
 * transform and the selection change the tensor, except that with quant=asq kept values may become
 * their mean. Sets *m to the method with these parameters. Fails like gcb_promise_send; c->failure
 * is also set if the parameters cannot be set. */
static bool send_verbatim(struct gcb_promise_case *c, struct gcb_method *m)
{
    struct gcb_promise_job job = c->job;
    const struct gcb_param *p;

    *m = *c->job.method;
    job.method = m;
    for (size_t row = 0; (p = gcb_method_param(m, row)); row++)
        if (strcmp(p->name, "values") == 0 || strcmp(p->name, "input") == 0)
            m->given[row] = false; /* gcb_method_set refuses a parameter that was given */
    if (has_choice(m, "input", "fp16") && gcb_method_set(m, "input", "fp32", &c->failure))
        return false;
    return !gcb_method_set(m, "values", "fp32", &c->failure) && gcb_promise_send_other(c, &job);
}

/* ---- verbatim: an element is dropped or decoded without a change ---- */

/* True if kept elements are sent unchanged. RedSync's quantisation (quant=asq) sends their mean
 * instead, except in small tensors and the output layer. */
static bool keeps_verbatim(const struct gcb_method *m)
{
    return is_sparse(m) && has_choice(m, "values", "fp32") && !has_choice(m, "quant", "asq") &&
           has_choice(m, "transform", "none");
}

static enum gcb_promise_status check_verbatim(struct gcb_promise_case *c)
{
    const uint64_t n = c->job.config.env.count;

    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    for (uint64_t i = 0; i < n; i++)
        if (c->y[i] != 0.0f && memcmp(&c->job.x[i], &c->y[i], sizeof(float)) != 0)
            return gcb_promise_broken(
                c, (double)i, NAN,
                "element %llu is %.9g, decoded as %.9g: neither dropped nor unchanged",
                (unsigned long long)i, (double)c->job.x[i], (double)c->y[i]);
    return gcb_promise_kept(c, NAN, NAN);
}

/* ---- projection, kept-energy: identities of energies ---- */

#define ROUNDING 4e-6 /* share of the energy that float32 means and transforms may change */

/* True if the method's transform of n elements adds zeros (pad=smooth). */
static bool adds_zeros(const struct gcb_method *m, uint64_t n)
{
    double chunk = 0.0;

    gcb_method_value(m, "chunk", &chunk);
    return has_choice(m, "pad", "smooth") && gcb_fft_zeros(n, (uint64_t)chunk) > 0;
}

/*
 * Checks that the error ||x - x'||^2 equals the lost energy ||x||^2 - ||x'||^2, where y is x'. The
 * two are equal for every projection: kept values stay as they are, or become their mean. If
 * rounding moves x' by r of the norm, the two sides differ by at most 2 r sqrt(2) + 2 r^2 of the
 * energy.
 *
 * If the transform adds zeros, x' is only a part of the projection. Then the error is at most the
 * lost energy.
 */
static enum gcb_promise_status check_pythagoras(struct gcb_promise_case *c, const float *y)
{
    const uint64_t n = c->job.config.env.count;
    const double error = gcb_promise_distance(c->job.x, y, n);
    const double lost = c->energy - gcb_promise_energy(y, n);
    double more = error - lost, r;

    if (c->energy == 0.0)
        return gcb_promise_idle(c, "all elements are zero");
    r = gcb_promise_rounding(c, c->job.method);
    if (r >= 1.0)
        return gcb_promise_idle(c, GCB_PROMISE_TINY);
    more = adds_zeros(c->job.method, n) ? fmax(more, 0.0) : fabs(more);
    return gcb_promise_at_most(c, more / c->energy, ROUNDING + 2.0 * r * (sqrt(2.0) + r),
                               "error and lost energy differ by this share of the energy");
}

/* True if encoding and decoding are a projection. Replacing complex bins by their mean is not a
 * projection, because bins have different weights in the energy. With quant=asq, `values`
 * decides too: RedSync sends the mean of a tensor's kept values, which is a projection, or sends
 * them in the form of `values`. */
static bool projects(const struct gcb_method *m)
{
    const char *values = gcb_promise_choice(m, "values");
    const bool means = strcmp(values, "mean") == 0 || strcmp(values, "sign-mean") == 0 ||
                       strcmp(values, "means") == 0;

    return is_sparse(m) && !has_choice(m, "input", "fp16") &&
           (strcmp(values, "fp32") == 0 || (means && !has_choice(m, "transform", "fft")));
}

static enum gcb_promise_status check_projection(struct gcb_promise_case *c)
{
    return gcb_promise_send(c) ? check_pythagoras(c, c->y) : GCB_PROMISE_BROKEN;
}

/* True if the method has a transform, and quantises the tensor (input=fp16) or the coefficients. */
static bool quantises_coefficients(const struct gcb_method *m)
{
    return is_sparse(m) && gcb_promise_transforms(m) && !projects(m);
}

static enum gcb_promise_status check_kept_energy(struct gcb_promise_case *c)
{
    struct gcb_method m;

    return send_verbatim(c, &m) ? check_pythagoras(c, c->z) : GCB_PROMISE_BROKEN;
}

/* ---- largest: the k largest elements are kept ---- */

static bool takes_largest(const struct gcb_method *m)
{
    return is_sparse(m) && has_choice(m, "transform", "none") && !has_choice(m, "index", "bloom") &&
           (has_choice(m, "select", "topk") || has_choice(m, "select", "trimmed") ||
            has_choice(m, "select", "mask"));
}

#define DIVISION 1e-12 /* rounding of 1 - k/n */

/* Checks that k of the n elements are kept, and that no dropped element has a larger magnitude
 * than a kept element. It follows that the squared error is at most (1 - k/n) ||x||^2, which is
 * checked too. */
static enum gcb_promise_status check_largest(struct gcb_promise_case *c)
{
    const uint64_t n = c->job.config.env.count;
    double theta = 0.0, least = INFINITY, most = 0.0, lost;
    struct gcb_method m;
    uint64_t k;

    if (!send_verbatim(c, &m))
        return GCB_PROMISE_BROKEN;
    if (gcb_promise_is_trivial(c))
        return GCB_PROMISE_IDLE;
    gcb_method_value(&m, "theta", &theta);
    k = gcb_kept_of(1.0 - theta, n);
    if (c->parts.payload.kept != k)
        return gcb_promise_broken(c, (double)c->parts.payload.kept, (double)k,
                                  "keeps %llu elements, not %llu",
                                  (unsigned long long)c->parts.payload.kept, (unsigned long long)k);
    for (uint64_t i = 0; i < n; i++) {
        const double x = fabs((double)c->job.x[i]);

        if (c->z[i] != 0.0f)
            least = fmin(least, x);
        else
            most = fmax(most, x);
    }
    if (most > least)
        return gcb_promise_broken(
            c, most, least, "drops an element of size %.9g, but keeps an element of size %.9g",
            most, least);
    lost = gcb_promise_distance(c->job.x, c->z, n) / c->energy;
    return gcb_promise_at_most(c, lost, 1.0 - (double)k / (double)n + DIVISION,
                               "squared error over squared norm");
}

/* ---- largest-bins: the k largest coefficients are kept ---- */

static bool takes_largest_bins(const struct gcb_method *m)
{
    return is_sparse(m) && gcb_promise_transforms(m) && has_choice(m, "select", "topk") &&
           !has_choice(m, "index", "bloom");
}

/* Checks that the k largest of P coefficients hold at least k/P of the energy. A complex bin with a
 * mirror image counts twice in the energy, so the k largest complex bins hold at least half of
 * that. */
static enum gcb_promise_status check_largest_bins(struct gcb_promise_case *c)
{
    const uint64_t n = c->job.config.env.count;
    struct gcb_method m;
    double share, factor, r, lost;

    if (!send_verbatim(c, &m))
        return GCB_PROMISE_BROKEN;
    if (gcb_promise_is_trivial(c))
        return GCB_PROMISE_IDLE;
    factor = has_choice(&m, "transform", "fft") ? 0.5 : 1.0;
    share = factor * (double)c->parts.payload.kept / (double)c->parts.payload.positions;
    r = gcb_promise_rounding(c, &m);
    if (r >= 1.0 - sqrt(1.0 - share)) /* a decoded tensor of zeros would be within the limit */
        return gcb_promise_idle(c, GCB_PROMISE_TINY);
    lost = sqrt(1.0 - share + ROUNDING) + r;
    return gcb_promise_at_most(c, gcb_promise_distance(c->job.x, c->z, n) / c->energy, lost * lost,
                               "squared error over squared norm");
}

const struct gcb_promise gcb_promises_sparse[] = {
    {"verbatim", "an element is dropped or decoded without a change", "Aji and Heafield 2017",
     keeps_verbatim, check_verbatim, GCB_PROMISE_ANYWHERE},
    {"projection",
     "||x - x'||^2 = ||x||^2 - ||x'||^2 (pad=smooth: <=); ||x'||^2 = sum of k mu^2 if groups of k "
     "elements become their mean mu",
     "SBC, STC, RedSync; Parseval", projects, check_projection, GCB_PROMISE_ANYWHERE},
    {"kept-energy",
     "with kept values as fp32, the squared error is the energy of the dropped coefficients "
     "(pad=smooth: at most)",
     "Parseval", quantises_coefficients, check_kept_energy, GCB_PROMISE_ANYWHERE},
    {"largest",
     "the k largest of n elements are kept, k as asked, and ||x - x'||^2 <= (1 - k/n) ||x||^2",
     "Stich et al. 2018, for top-k", takes_largest, check_largest, GCB_PROMISE_ANYWHERE},
    {"largest-bins",
     "the k largest of P bins hold at least k/P of the energy (complex bins: half of that)",
     "FFT paper, section 3", takes_largest_bins, check_largest_bins, GCB_PROMISE_ANYWHERE},
    {.name = NULL},
};
