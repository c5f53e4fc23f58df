#include <math.h>
#include <string.h>

#include "src/tool/run/error_rules.h"

/* ---- lossless ---- */

static bool is_lossless(const struct gcb_method *m)
{
    return gcb_method_caps(m) & GCB_CAP_LOSSLESS;
}

static enum gcb_promise_status check_lossless(struct gcb_promise_case *c)
{
    const uint64_t n = c->job.config.env.count;

    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    for (uint64_t i = 0; i < n; i++)
        if (memcmp(&c->job.x[i], &c->y[i], sizeof(float)) != 0)
            return gcb_promise_broken(c, (double)i, NAN, "element %llu is decoded as %g, not %g",
                                      (unsigned long long)i, (double)c->y[i], (double)c->job.x[i]);
    return gcb_promise_kept(c, NAN, NAN);
}

/* ---- each element's error ---- */

/* The element with the largest error as a multiple of its allowed error. */
struct worst {
    const float *x, *y;
    double share;
    uint64_t at;
};

static void compare_error(void *ctx, uint64_t i, const struct gcb_element_error *e)
{
    struct worst *w = ctx;
    const double error = fabs((double)w->x[i] - (double)w->y[i]);

    if (error <= w->share * e->most)
        return;
    w->share = e->most > 0.0 ? error / e->most : INFINITY;
    w->at = i;
}

enum gcb_promise_status gcb_promise_check_elements(struct gcb_promise_case *c)
{
    const struct gcb_error_rule *rule = gcb_error_rule_of(c->job.method);
    struct gcb_rule_input in = {c->job.method, c->job.x, c->job.config.env.count, NULL, 0};
    struct worst worst = {c->job.x, c->y, 0.0, 0};

    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    if (c->stored || c->energy == 0.0)
        return gcb_promise_idle(c,
                                c->stored ? "the message was sent raw" : "all elements are zero");
    in.message = c->message.data;
    in.length = c->message.len;
    if (!rule->visit(&in, compare_error, &worst))
        return gcb_promise_broken(c, NAN, NAN, "the message has no scale");
    if (worst.share <= 1.0)
        return gcb_promise_kept(c, worst.share, 1.0);
    return gcb_promise_broken(c, worst.share, 1.0,
                              "element %llu is %g, decoded as %g: %.3g times its allowed error",
                              (unsigned long long)worst.at, (double)c->job.x[worst.at],
                              (double)c->y[worst.at], worst.share);
}

/* ---- contraction ---- */

/* Is a decoded tensor always at least as near to the original as zeros are? Not if a method draws random numbers, or
 * says that it is not. */
static bool contracts(const struct gcb_method *m)
{
    return !(gcb_method_caps(m) & (GCB_CAP_RANDOMISED | GCB_CAP_NO_CONTRACTION));
}

static enum gcb_promise_status check_contraction(struct gcb_promise_case *c)
{
    double rounding;

    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    if (c->energy == 0.0)
        return gcb_promise_idle(c, "all elements are zero");
    rounding = gcb_promise_rounding(c, c->job.method);
    if (rounding >= 1.0)
        return gcb_promise_idle(c, GCB_PROMISE_TINY);
    return gcb_promise_at_most(
        c, gcb_promise_distance(c->job.x, c->y, c->job.config.env.count) / c->energy,
        (1.0 + rounding) * (1.0 + rounding) + 1e-6, "squared error over squared norm");
}

const struct gcb_promise gcb_promises_error[] = {
    {"lossless", "the decoded tensor equals the input bit for bit", "the capability LOSSLESS",
     is_lossless, check_lossless},
    {"contraction", "||x - x'||^2 <= ||x||^2 (x': the decoded tensor)", "needed for error feedback",
     contracts, check_contraction},
    {.name = NULL},
};
