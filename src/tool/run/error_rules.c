#include "src/tool/run/error_rules.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "src/lib/codec/range.h"

static double number(const struct gcb_rule_input *in, const char *key)
{
    double value = 0.0;

    gcb_method_value(in->method, key, &value);
    return value;
}

/* ---- formats: a relative error in a range, an absolute error below it ---- */

struct limits {
    double relative, from, to; /* |error| <= relative |x| for from <= |x| <= to */
    double below;              /* |error| <= below for smaller elements */
};

/* Visits the elements. Elements beyond l->to may be clamped to l->to. */
static void visit_limits(const struct gcb_rule_input *in, const struct limits *l,
                         gcb_element_fn *each, void *ctx)
{
    for (uint64_t i = 0; i < in->count; i++) {
        const double x = fabs((double)in->x[i]);
        const double most = x < l->from  ? l->below
                            : x <= l->to ? l->relative * x
                                         : x - l->to + l->relative * l->to;

        each(ctx, i, &(struct gcb_element_error){.most = most});
    }
}

static bool visit_fp16(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    visit_limits(in, &(struct limits){0x1p-11, 0x1p-14, 65504.0, 0x1p-25}, each, ctx);
    return true;
}

static bool visit_bf16(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    visit_limits(in, &(struct limits){0x1p-8, 0x1p-126, 0x1.fep127, 0x1p-134}, each, ctx);
    return true;
}

/* The error is relative between the values of the smallest and the largest code of the message's format. Steps do not
 * shrink below 2^-126, so the error is absolute below that (kernels/range/range_elem.h). */
static bool visit_range(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    struct gcb_range_params p = {.bits = (uint64_t)number(in, "bits")};
    struct gcb_range_format format;
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    double smallest, step;

    if (gcb_frame_parse(&frame, &payload, in->message, in->length, NULL) ||
        gcb_range_get_scale(&format, &p, &payload))
        return false;
    smallest = (double)gcb_range_decode(1, &format);
    step = ldexp(1.0, -(int)format.mantissa);
    visit_limits(in,
                 &(struct limits){.relative = step,
                                  .from = fmax(smallest, 0x1p-126),
                                  .to = (double)gcb_range_decode(format.top, &format),
                                  .below = fmax(smallest, 0x1p-126 * step)},
                 each, ctx);
    return true;
}

/* Allows for float32 norms, levels and shares, for draws of 32 bits, and for multiples of the smallest float32. */
double gcb_element_slack(float x, const struct gcb_element_error *e)
{
    return 0x1p-20 * fabs((double)x) + 0x1p-32 * e->step + GCB_PROMISE_STEP;
}

/* ---- QSGD: levels are N/s apart in each bucket; N is the bucket's largest magnitude or its L2 norm ---- */

/* Returns s, the number of levels above zero. */
static double level_count(const struct gcb_rule_input *in)
{
    const double levels = number(in, "levels");

    return levels > 0.0 ? levels : exp2(number(in, "bits") - 1.0) - 1.0;
}

struct bucket {
    uint64_t first, count;
    double max, energy;
};

static bool next_bucket(struct bucket *b, const struct gcb_rule_input *in)
{
    const uint64_t size = (uint64_t)number(in, "bucket"), left = in->count - b->first - b->count;

    b->first += b->count;
    b->count = left < size ? left : size;
    b->max = b->energy = 0.0;
    for (uint64_t i = b->first; i < b->first + b->count; i++) {
        b->max = fmax(b->max, fabs((double)in->x[i]));
        b->energy += (double)in->x[i] * (double)in->x[i];
    }
    return b->count > 0;
}

static bool by_l2_norm(const struct gcb_rule_input *in)
{
    return strcmp(gcb_promise_choice(in->method, "norm"), "l2") == 0;
}

static bool visit_buckets(const struct gcb_rule_input *in, bool nearest, gcb_element_fn *each,
                          void *ctx)
{
    const double s = level_count(in);
    struct bucket b = {0, 0, 0.0, 0.0};

    while (next_bucket(&b, in)) {
        /* a float32 holds the norm */
        const double norm = by_l2_norm(in) ? fmin(sqrt(b.energy), FLT_MAX) : b.max;

        for (uint64_t i = b.first; i < b.first + b.count; i++) {
            const double t = norm > 0.0 ? fmin(fabs((double)in->x[i]) * s / norm, s) : 0.0;

            struct gcb_element_error e = {.most = norm / s, .step = norm / s, .up = t - floor(t)};

            if (nearest)
                e = (struct gcb_element_error){.most = norm / s / 2.0 +
                                                       gcb_element_slack(in->x[i], &e)};
            each(ctx, i, &e);
        }
    }
    return true;
}

static bool visit_levels(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    return visit_buckets(in, false, each, ctx);
}

static bool visit_nearest(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    return visit_buckets(in, true, each, ctx);
}

static double largest_mean_of_levels(const struct gcb_rule_input *in)
{
    const double s = level_count(in);
    struct bucket b = {0, 0, 0.0, 0.0};
    double sum = 0.0;

    while (next_bucket(&b, in)) {
        const double d = (double)b.count;

        sum += by_l2_norm(in) ? fmin(d / (s * s), sqrt(d) / s) * b.energy
                              : d / (4.0 * s * s) * b.max * b.max;
    }
    return sum;
}

/* ---- TernGrad: each element becomes 0 or s; elements beyond s are clipped to s ---- */

/* Returns s: max |x|, or `clip` standard deviations if that is less. */
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

static bool visit_ternary(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    const double s = ternary_scale(in->x, in->count, number(in, "clip"));

    for (uint64_t i = 0; i < in->count; i++) {
        const double x = fabs((double)in->x[i]);

        each(ctx, i,
             x <= s ? &(struct gcb_element_error){.most = s, .step = s, .up = s > 0.0 ? x / s : 0.0}
                    : &(struct gcb_element_error){.most = x - s});
    }
    return true;
}

/* ---- natural compression: each element becomes a neighbouring power of two, or 0 or 2^-126 ---- */

static bool visit_natural(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    for (uint64_t i = 0; i < in->count; i++) {
        const double x = fabs((double)in->x[i]);
        const double below = x < 0x1p-126 ? 0.0 : exp2(floor(log2(x)));
        const double step = x < 0x1p-126 ? 0x1p-126 : below;

        each(ctx, i,
             &(struct gcb_element_error){.most = step, .step = step, .up = (x - below) / step});
    }
    return true;
}

/* Returns an eighth of the energy, but more for elements below 2^-126, which become 0 or 2^-126. */
static double largest_mean_of_natural(const struct gcb_rule_input *in)
{
    double sum = 0.0;

    for (uint64_t i = 0; i < in->count; i++) {
        const double x = fabs((double)in->x[i]);

        sum += x < 0x1p-126 ? x * 0x1p-126 : x * x / 8.0;
    }
    return sum;
}

/* ---- the table ---- */

static const struct gcb_error_rule rules[] = {
    {
        .name = "fp16",
        .promise =
            {.name = "fp16-error",
             .claim =
                 "error at most 2^-11 |x| for 2^-14 <= |x| <= 65504, at most 2^-25 for smaller |x|",
             .source = "IEEE 754 binary16",
             .check = gcb_promise_check_elements},
        .visit = visit_fp16,
    },
    {
        .name = "bf16",
        .promise = {.name = "bf16-error",
                    .claim = "error at most 2^-8 |x| for normal values",
                    .source = "bfloat16",
                    .check = gcb_promise_check_elements},
        .visit = visit_bf16,
    },
    {
        .name = "range",
        .promise = {.name = "range-error",
                    .claim = "error at most 2^-m |x| for eps <= |x| <= max, at most eps for "
                             "smaller |x| (m: mantissa bits, eps: smallest value)",
                    .source = "FFT paper, section 3.3",
                    .check = gcb_promise_check_elements},
        .visit = visit_range,
    },
    {
        .name = "levels",
        .promise =
            {.name = "levels-error",
             .claim =
                 "mean of ||x - x'||^2: sum of (N/s)^2 p(1-p), at most min(d/s^2, sqrt(d)/s) N^2 "
                 "for a bucket (d elements, norm N, s levels, p: chance to round up; "
                 "false alarm below 1e-9)",
             .source = "QSGD, lemma 3.1",
             .check = gcb_promise_check_mean},
        .drawn = true,
        .visit = visit_levels,
        .largest_mean = largest_mean_of_levels,
    },
    {
        .name = "nearest-level",
        .promise = {.name = "nearest-level",
                    .claim =
                        "error of each element at most N/(2s) (N: the bucket's norm, s levels)",
                    .source = "rounding to the nearest level",
                    .check = gcb_promise_check_elements},
        .visit = visit_nearest,
    },
    {
        .name = "ternary",
        .promise = {.name = "ternary-error",
                    .claim = "mean of ||x - x'||^2: s ||x||_1 - ||x||^2 plus the error of clipped "
                             "elements (s: scale; false alarm below 1e-9)",
                    .source = "TernGrad, section 3",
                    .check = gcb_promise_check_mean},
        .drawn = true,
        .visit = visit_ternary,
    },
    {
        .name = "natural",
        .promise = {.name = "natural-error",
                    .claim =
                        "mean of ||x - x'||^2: sum of (|x| - a)(2a - |x|), at most ||x||^2 / 8 "
                        "(a: largest power of two up to |x|; false alarm below 1e-9)",
                    .source = "natural compression, theorem 1",
                    .check = gcb_promise_check_mean},
        .drawn = true,
        .visit = visit_natural,
        .largest_mean = largest_mean_of_natural,
    },
};

const struct gcb_error_rule *gcb_error_rule_at(size_t i)
{
    return i < sizeof(rules) / sizeof(rules[0]) ? &rules[i] : NULL;
}

const struct gcb_error_rule *gcb_error_rule_of(const struct gcb_method *m)
{
    const char *name =
        m->codec->error_rule_of ? m->codec->error_rule_of(m->value) : m->codec->error_rule;

    for (size_t i = 0; name && i < sizeof(rules) / sizeof(rules[0]); i++)
        if (strcmp(rules[i].name, name) == 0)
            return &rules[i];
    return NULL;
}
