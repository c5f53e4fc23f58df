#include <math.h>
#include <string.h>

#include "src/lib/codec/range_codes.h"
#include "src/tool/verify/promises.h"

/* Bounds of each element, from the formats' definitions. */

static bool bounded(const struct gcb_method *m, unsigned which)
{
    return m->codec->bounds & which;
}

static bool is_lossless(const struct gcb_method *m)
{
    return gcb_method_caps(m) & GCB_CAP_LOSSLESS;
}

static int lossless(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                    struct gcb_diag *diag)
{
    const uint64_t n = b->job.config.env.count;

    (void)diag;
    if (!gcb_promise_send(b, out))
        return 0;
    for (uint64_t i = 0; i < n; i++)
        if (memcmp(&b->job.x[i], &b->y[i], sizeof(float)) != 0)
            return gcb_promise_broken(out, (double)i, NAN, "element %llu comes back as %g, not %g",
                                      (unsigned long long)i, (double)b->y[i], (double)b->job.x[i]);
    return gcb_promise_kept(out, NAN, NAN);
}

/* ---- each element's error against what it may be ---- */

struct limits {
    double relative, from, to; /* |error| <= relative |x| for from <= |x| <= to */
    double below;              /* and at most this for smaller ones */
};

/* The worst share of its limit that an element's error takes; elements beyond `to` are clamped to it, if anything is. */
static int within(const struct gcb_promise_bench *b, const struct limits *l,
                  struct gcb_promise_outcome *out)
{
    const uint64_t n = b->job.config.env.count;
    double worst = 0.0;
    uint64_t at = 0;

    for (uint64_t i = 0; i < n; i++) {
        const double x = fabs((double)b->job.x[i]), e = fabs((double)b->job.x[i] - (double)b->y[i]);
        const double limit = x < l->from  ? l->below
                             : x <= l->to ? l->relative * x
                                          : x - l->to + l->relative * l->to;

        if (e > worst * limit) {
            worst = limit > 0.0 ? e / limit : INFINITY;
            at = i;
        }
    }
    if (worst <= 1.0)
        return gcb_promise_kept(out, worst, 1.0);
    return gcb_promise_broken(
        out, worst, 1.0, "element %llu, %g, comes back as %g: %.3g times the error it may have",
        (unsigned long long)at, (double)b->job.x[at], (double)b->y[at], worst);
}

static bool is_fp16(const struct gcb_method *m)
{
    return bounded(m, GCB_BOUND_FP16);
}

static int fp16(struct gcb_promise_bench *b, struct gcb_promise_outcome *out, struct gcb_diag *diag)
{
    const struct limits limits = {0x1p-11, 0x1p-14, 65504.0, 0x1p-25};

    (void)diag;
    return gcb_promise_send(b, out) ? within(b, &limits, out) : 0;
}

static bool is_bf16(const struct gcb_method *m)
{
    return bounded(m, GCB_BOUND_BF16);
}

static int bf16(struct gcb_promise_bench *b, struct gcb_promise_outcome *out, struct gcb_diag *diag)
{
    const struct limits limits = {0x1p-8, 0x1p-126, 0x1.fep127, 0x1p-134};

    (void)diag;
    return gcb_promise_send(b, out) ? within(b, &limits, out) : 0;
}

static bool is_range(const struct gcb_method *m)
{
    return bounded(m, GCB_BOUND_RANGE);
}

/* Steps do not shrink below 2^-126: from there down it is the error that is bounded (range_elem.h). */
static void range_limits(struct limits *l, const struct gcb_range_format *f)
{
    const double step = ldexp(1.0, -(int)f->mantissa);

    l->relative = step;
    l->from = fmax((double)gcb_range_decode(1, f), 0x1p-126);
    l->to = (double)gcb_range_decode(f->top, f);
    l->below = fmax((double)gcb_range_decode(1, f), 0x1p-126 * step);
}

/* The format stands in the payload's head; its smallest and largest code say where which bound holds. */
static int range(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                 struct gcb_diag *diag)
{
    struct gcb_range_params p = {.bits = 0};
    struct gcb_range_format format;
    struct limits limits;
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    double bits = 0.0;

    if (!gcb_promise_send(b, out))
        return 0;
    if (b->stored || b->energy == 0.0)
        return gcb_promise_idle(out, b->stored ? "sent raw" : "all zero");
    gcb_method_value(b->job.method, "bits", &bits);
    p.bits = (uint64_t)bits;
    if (gcb_frame_parse(&frame, &payload, b->message.data, b->message.len, diag) ||
        gcb_range_get_scale(&format, &p, &payload))
        return gcb_promise_broken(out, NAN, NAN, "has no scale");
    range_limits(&limits, &format);
    return within(b, &limits, out);
}

/* ---- contraction ---- */

/* Draws scatter about the tensor; all others are to come nearer to it than nothing would. */
static bool contracts(const struct gcb_method *m)
{
    return !(gcb_method_caps(m) & GCB_CAP_RANDOMISED);
}

static int contraction(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                       struct gcb_diag *diag)
{
    double rounding;

    (void)diag;
    if (!gcb_promise_send(b, out))
        return 0;
    if (b->energy == 0.0)
        return gcb_promise_idle(out, "all zero");
    rounding = gcb_promise_rounding(b, b->job.method);
    if (rounding >= 1.0)
        return gcb_promise_idle(out, GCB_PROMISE_TINY);
    return gcb_promise_at_most(
        out, gcb_promise_distance(b->job.x, b->y, b->job.config.env.count) / b->energy,
        (1.0 + rounding) * (1.0 + rounding) + 1e-6, "squared error over squared norm");
}

const struct gcb_promise gcb_promises_error[] = {
    {"lossless", "every bit comes back", "its capability LOSSLESS", is_lossless, lossless},
    {"fp16-error", "|e| <= 2^-11 |x| for 2^-14 <= |x| <= 65504, 2^-25 below", "IEEE 754 binary16",
     is_fp16, fp16},
    {"bf16-error", "|e| <= 2^-8 |x| of normal values", "bfloat16", is_bf16, bf16},
    {"range-error", "|e| <= 2^-m |x| for eps <= |x| <= max, eps below", "FFT paper, section 3.3",
     is_range, range},
    {"contraction", "||x - x'||^2 <= ||x||^2", "error feedback's condition", contracts,
     contraction},
    {.name = NULL},
};
