#include "src/tool/run/promises.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "src/lib/codec/range.h"

/* Returns the value of a parameter of the method, or 0 without this parameter. */
static double number(const struct gcb_rule_input *in, const char *key)
{
    double value = 0.0;

    gcb_method_value(in->method, key, &value);
    return value;
}

/* The first term allows for the rounding of float32 arithmetic, the second for probabilities that
 * are multiples of 2^-32, and the third for values that are multiples of the smallest float32. */
double gcb_element_slack(float x, const struct gcb_element_error *e)
{
    return 0x1p-20 * fabs((double)x) + 0x1p-32 * e->step + GCB_PROMISE_STEP;
}

/* ---- range floats: a relative error in a range, an absolute error below it ---- */

/* The error is relative between the values of the smallest and the largest code of the message's
 * format. Larger elements may be clamped. Below the smallest code the error is absolute. Below
 * 2^-126 it is too, because the steps between values are not smaller there
 * (kernels/range/range_elem.h). Returns false if the message has no scale. */
static bool visit_range(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    struct gcb_range_params p = {.bits = (uint64_t)number(in, "bits")};
    struct gcb_range_format format;
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    double least, largest, step;

    if (gcb_frame_parse(&frame, &payload, in->message, in->length, NULL) ||
        gcb_range_get_scale(&format, &p, &payload))
        return false;
    least = (double)gcb_range_decode(1, &format);
    largest = (double)gcb_range_decode(format.top, &format);
    step = ldexp(1.0, -(int)format.mantissa);
    for (uint64_t i = 0; i < in->count; i++) {
        const double x = fabs((double)in->x[i]);
        double most = fmax(least, 0x1p-126 * step);

        if (x >= fmax(least, 0x1p-126))
            most = step * fmin(x, largest) + fmax(x - largest, 0.0);
        each(ctx, i, &(struct gcb_element_error){.most = most});
    }
    return true;
}

/* ---- QSGD: levels are N/s apart in each bucket; N is the bucket's largest magnitude or its L2
 * norm ---- */

/* Returns s, the number of levels above zero. */
static double level_count(const struct gcb_rule_input *in)
{
    const double levels = number(in, "levels");

    return levels > 0.0 ? levels : exp2(number(in, "bits") - 1.0) - 1.0;
}

/* Elements that share a norm. Starts zeroed. */
struct bucket {
    uint64_t first, count;
    double max;    /* largest magnitude */
    double energy; /* sum of squares */
};

/* Moves on to the next bucket, and finds its largest magnitude and its energy. Returns false after
 * the last bucket. */
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

static bool uses_l2_norm(const struct gcb_rule_input *in)
{
    return strcmp(gcb_promise_choice(in->method, "norm"), "l2") == 0;
}

/* Visits the elements, which are rounded at random or to the nearest level. */
static bool visit_buckets(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    const bool drawn = gcb_error_rule_of(in->method)->drawn;
    const double s = level_count(in);
    struct bucket b = {0, 0, 0.0, 0.0};

    while (next_bucket(&b, in)) {
        /* the message has the norm as a float32, which is at most FLT_MAX */
        const double norm = uses_l2_norm(in) ? fmin(sqrt(b.energy), FLT_MAX) : b.max;
        const double step = norm / s; /* distance between two levels */

        for (uint64_t i = b.first; i < b.first + b.count; i++) {
            const double level = norm > 0.0 ? fmin(fabs((double)in->x[i]) * s / norm, s) : 0.0;
            struct gcb_element_error e = {.most = step, .step = step, .up = level - floor(level)};

            if (!drawn) {
                e.most = step / 2.0 + gcb_element_slack(in->x[i], &e);
                e.step = e.up = 0.0;
            }
            each(ctx, i, &e);
        }
    }
    return true;
}

/* Returns the largest mean of the squared error that the claim of the rule "levels" gives, summed
 * over buckets. */
static double largest_mean_of_levels(const struct gcb_rule_input *in)
{
    const double s = level_count(in);
    struct bucket b = {0, 0, 0.0, 0.0};
    double sum = 0.0;

    while (next_bucket(&b, in)) {
        const double d = (double)b.count;

        if (uses_l2_norm(in))
            sum += fmin(d / (s * s), sqrt(d) / s) * b.energy;
        else
            sum += d / (4.0 * s * s) * b.max * b.max;
    }
    return sum;
}

/* ---- TernGrad: each magnitude becomes 0 or s; magnitudes beyond s are clipped to s ---- */

/* Returns s: max |x|, or `clip` standard deviations if that is less. There is no clipping if `clip`
 * is 0 or the standard deviation is at most 1e-5 max |x|. */
static double ternary_scale(const float *x, uint64_t n, double clip)
{
    double max = 0.0, sum = 0.0, squares = 0.0, mean, deviation;

    for (uint64_t i = 0; i < n; i++) {
        max = fmax(max, fabs((double)x[i]));
        sum += (double)x[i];
    }
    mean = sum / (double)n;
    for (uint64_t i = 0; i < n; i++)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    deviation = sqrt(squares / (double)n);
    return clip > 0.0 && deviation > 1e-5 * max ? fmin(max, clip * deviation) : max;
}

static bool visit_ternary(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    const double s = ternary_scale(in->x, in->count, number(in, "clip"));

    for (uint64_t i = 0; i < in->count; i++) {
        const double x = fabs((double)in->x[i]);
        struct gcb_element_error e = {.most = x - s};

        if (x <= s)
            e = (struct gcb_element_error){.most = s, .step = s, .up = s > 0.0 ? x / s : 0.0};
        each(ctx, i, &e);
    }
    return true;
}

/* ---- natural compression: each magnitude becomes a neighbouring power of two; below 2^-126, it
 * becomes 0 or 2^-126 ---- */

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

/* Returns the largest mean of the squared error: an eighth of the energy, and more for elements
 * below 2^-126, because these become 0 or 2^-126. */
static double largest_mean_of_natural(const struct gcb_rule_input *in)
{
    double sum = 0.0;

    for (uint64_t i = 0; i < in->count; i++) {
        const double x = fabs((double)in->x[i]);

        sum += x < 0x1p-126 ? x * 0x1p-126 : x * x / 8.0;
    }
    return sum;
}

/* ---- small floats with or without a scale, and integers with a scale for each block ---- */

/* Elements that share a scale, and their smallest and largest value. Starts zeroed. */
struct span {
    uint64_t first, count;
    float lo, hi;
};

/* Moves on to the next `size` elements. Returns false after the last ones. */
static bool next_span(struct span *b, const struct gcb_rule_input *in, uint64_t size)
{
    const uint64_t left = in->count - b->first - b->count;

    b->first += b->count;
    b->count = left < size ? left : size;
    for (uint64_t i = b->first; i < b->first + b->count; i++) {
        b->lo = i == b->first ? in->x[i] : fminf(b->lo, in->x[i]);
        b->hi = i == b->first ? in->x[i] : fmaxf(b->hi, in->x[i]);
    }
    return b->count > 0;
}

static float largest_of(const struct span *b)
{
    return fmaxf(fabsf(b->lo), fabsf(b->hi));
}

/* A format: mantissa bits, exponents of the smallest normal value and of the largest value, and the
 * largest value. */
struct small_float {
    int mantissa, least, greatest;
    float largest;
};

/* Returns the distance between the values of a format around t, for a t of at least 0. */
static double step_at(const struct small_float *f, double t)
{
    const int exponent = t > 0.0 ? ilogb(t) : f->least;

    return ldexp(1.0, (exponent > f->least ? exponent : f->least) - f->mantissa);
}

/* Returns the power of two that scales a block whose largest magnitude is `most`. */
static double power_scale(const struct gcb_rule_input *in, const struct small_float *f, float most)
{
    const char *rule = gcb_promise_choice(in->method, "scale-rule");
    int exponent = most > 0.0f ? ilogbf(most) : -127;

    if (strcmp(rule, "rceil") == 0) {
        const double share = frexp((double)(most / f->largest), &exponent);

        exponent -= share <= 0.5;
    } else {
        if (strcmp(rule, "even") == 0 &&
            (double)most >= ldexp(2.0 - ldexp(1.0, -f->mantissa - 1), exponent))
            exponent++;
        exponent -= f->greatest;
    }
    return ldexp(1.0, exponent > -127 ? exponent : -127);
}

/* Returns the scale of a block, or 0 if the scale is so small that elements may become zeros.
 * `shared`: the method's parameter `scale`. `most` and `all`: the largest magnitudes of block and
 * tensor. */
static double block_scale(const struct gcb_rule_input *in, const struct small_float *f,
                          const char *shared, float most, float all)
{
    static const struct small_float e4m3 = {3, -6, 8, 448.0f};
    const char *format =
        strstr(shared, "block") ? gcb_promise_choice(in->method, "scale-format") : "fp32";
    const bool drawn = gcb_error_rule_of(in->method)->drawn;
    const bool whole = strcmp(shared, "tensor+block") == 0;
    const float tensor = whole ? all / (448.0f * f->largest) : 1.0f;
    double scale;

    if (strcmp(shared, "none") == 0)
        return 1.0;
    if (strcmp(format, "e8m0") == 0) {
        scale = power_scale(in, f, most);
        return drawn || scale > 0x1p-127 ? scale : 0.0;
    }
    if (strcmp(format, "fp32") == 0 && isinf(f->largest / most))
        return drawn ? 1.0 / (double)FLT_MAX : 0.0;
    if (strcmp(format, "fp32") == 0)
        return (double)most / (double)f->largest;
    if (tensor < 0x1p-117f) /* e4m3 begins at 2^-9, so the scale may be below 2^-126 */
        return 0.0;
    scale = fmax((double)(most / f->largest / tensor), 0x1p-6);
    if (strcmp(gcb_promise_choice(in->method, "scale-rule"), "te") == 0)
        scale = (double)(most * (448.0f * f->largest / all * (1.0f / f->largest)));
    scale = fmin(scale, 448.0);
    return (double)tensor * step_at(&e4m3, scale) * rint(scale / step_at(&e4m3, scale));
}

/* Returns the error of a magnitude x in a format whose values are multiplied by `scale`. With a
 * scale of 0, x may become 0. */
static struct gcb_element_error small_error(const struct small_float *f, double scale, double x,
                                            bool drawn)
{
    const double t = scale > 0.0 ? x / scale : 0.0, step = step_at(f, t);

    if (scale == 0.0)
        return (struct gcb_element_error){.most = x};
    if (t > (double)f->largest)
        return (struct gcb_element_error){.most = x - scale * (double)f->largest};
    if (!drawn)
        return (struct gcb_element_error){.most = scale * step / 2.0};
    return (struct gcb_element_error){
        .most = scale * step, .step = scale * step, .up = t / step - floor(t / step)};
}

/* Visits the elements of fp16, of bf16, or of the method `float`, whose `element` is an index into
 * formats. */
static bool visit_small(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    static const struct small_float formats[] = {
        {3, -6, 8, 448.0f}, {2, -14, 15, 57344.0f}, {1, 0, 2, 6.0f}};
    static const struct small_float fp16 = {10, -14, 15, 65504.0f},
                                    bf16 = {7, -126, 127, 0x1.fep127f};
    const char *name = in->method->codec->name;
    const bool scaled = strcmp(name, "float") == 0;
    const bool drawn = gcb_error_rule_of(in->method)->drawn;
    const char *shared = scaled ? gcb_promise_choice(in->method, "scale") : "none";
    const struct small_float *f = scaled                      ? &formats[(int)number(in, "element")]
                                  : strcmp(name, "fp16") == 0 ? &fp16
                                                              : &bf16;
    struct span all = {.count = 0}, b = {.count = 0};

    next_span(&all, in, in->count);
    while (next_span(&b, in, strstr(shared, "block") ? (uint64_t)number(in, "block") : in->count)) {
        const double scale = block_scale(in, f, shared, largest_of(&b), largest_of(&all));

        for (uint64_t i = b.first; i < b.first + b.count; i++) {
            struct gcb_element_error e = small_error(f, scale, fabs((double)in->x[i]), drawn);

            if (!drawn)
                e.most += gcb_element_slack(in->x[i], &e);
            each(ctx, i, &e);
        }
    }
    return true;
}

/* Visits elements that become codes from 0 to 2^bits - 1, a step apart. With offset=minimum, code 0
 * is the block's minimum; otherwise the code `zero` stands for 0.0. */
static bool visit_affine(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    const bool drawn = gcb_error_rule_of(in->method)->drawn, minimum = number(in, "offset") != 0.0;
    const double top = exp2(number(in, "bits")) - 1.0;
    struct span b = {.count = 0};

    while (next_span(&b, in, (uint64_t)number(in, "block"))) {
        const float lo = minimum || b.lo < 0.0f ? b.lo : 0.0f,
                    hi = minimum || b.hi > 0.0f ? b.hi : 0.0f;
        const float width = (hi - lo) / (float)top, by = width > 0.0f ? width : 1.0f;
        const float zero = minimum ? 0.0f : rintf(-lo / by);
        const double step = (double)width;

        for (uint64_t i = b.first; i < b.first + b.count; i++) {
            /* in float32, as the method: a value near a code must have the method's probability */
            const double t = (double)((in->x[i] - (minimum ? lo : 0.0f)) / by + zero);
            const double cut = fmin(fmax(t, 0.0), top);
            struct gcb_element_error e = {.most = fmax(fabs(t - cut) * step, step / 2.0)};

            if (drawn && t == cut)
                e = (struct gcb_element_error){.most = step, .step = step, .up = t - floor(t)};
            else if (drawn)
                e.most = fabs(t - cut) * step;
            else
                e.most += 0x1p-20 * (fabs((double)lo) + fabs((double)hi)) + GCB_PROMISE_STEP * top;
            each(ctx, i, &e);
        }
    }
    return true;
}

/* ---- code books ---- */

/* The code book `dynamic` divides each decade below the block's largest magnitude into equal steps.
 * The middles of the steps are the book's values. The first decade has 64 steps, and each smaller
 * decade has half as many. */
static bool visit_dynamic(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx)
{
    struct span b = {.count = 0};

    while (next_span(&b, in, (uint64_t)number(in, "block"))) {
        const double most = (double)largest_of(&b);

        for (uint64_t i = b.first; i < b.first + b.count; i++) {
            const double x = fabs((double)in->x[i]);
            double end = most, half = most * 0.45 / 64.0;
            struct gcb_element_error e = {.most = 0.0};

            for (int k = 6; k > 0 && x <= end * 0.1; k--) {
                end *= 0.1;
                half *= 0.2;
            }
            e.most = fmin(half, x);
            e.most += gcb_element_slack(in->x[i], &e);
            each(ctx, i, &e);
        }
    }
    return true;
}

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
            return gcb_promise_broken(c, (double)i, NAN,
                                      "element %llu is decoded as %.9g, not %.9g",
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

static enum gcb_promise_status check_elements(struct gcb_promise_case *c)
{
    const struct gcb_error_rule *rule = gcb_error_rule_of(c->job.method);
    struct gcb_rule_input in = {c->job.method, c->job.x, c->job.config.env.count, NULL, 0};
    struct worst worst = {c->job.x, c->y, 0.0, 0};

    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    if (gcb_promise_is_trivial(c))
        return GCB_PROMISE_IDLE;
    in.message = c->message.data;
    in.length = c->message.len;
    if (!rule->visit(&in, compare_error, &worst))
        return gcb_promise_broken(c, NAN, NAN, "the message has no scale");
    if (worst.share <= 1.0)
        return gcb_promise_kept(c, worst.share, 1.0);
    return gcb_promise_broken(c, worst.share, 1.0,
                              "element %llu is %.9g, decoded as %.9g: %.3g times its allowed error",
                              (unsigned long long)worst.at, (double)c->job.x[worst.at],
                              (double)c->y[worst.at], worst.share);
}

/* ---- contraction ---- */

/* True if a decoded tensor is never farther from the original than zeros are. Methods that draw
 * random numbers do not promise this, and others may have the capability NO_CONTRACTION. */
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
    /* 1e-6: rounding of float32 arithmetic */
    return gcb_promise_at_most(
        c, gcb_promise_distance(c->job.x, c->y, c->job.config.env.count) / c->energy,
        (1.0 + rounding) * (1.0 + rounding) + 1e-6, "squared error over squared norm");
}

/* ---- rotation: norms and errors with the scales `unbiased` and `least` ---- */

static bool rotates(const struct gcb_method *m)
{
    const char *scale = gcb_promise_choice(m, "scale");

    return strcmp(scale, "unbiased") == 0 || strcmp(scale, "least") == 0;
}

/* With a smaller mean square, float32 may round scales by more than the check allows. */
#define LEAST_SQUARE 0x1p-200

static enum gcb_promise_status check_rotation(struct gcb_promise_case *c)
{
    const uint64_t n = c->job.config.env.count;
    const bool least = strcmp(gcb_promise_choice(c->job.method, "scale"), "least") == 0;
    double norm, error, more;

    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    if (gcb_promise_is_trivial(c))
        return GCB_PROMISE_IDLE;
    if (c->energy < LEAST_SQUARE * (double)n)
        return gcb_promise_idle(c, GCB_PROMISE_TINY);
    norm = gcb_promise_energy(c->y, n);
    error = gcb_promise_distance(c->job.x, c->y, n);
    more = least ? fmax(error - (c->energy - norm), 0.0) : fabs(error - (norm - c->energy));
    return gcb_promise_at_most(c, more / c->energy, 1e-5,
                               "the error and the norms differ by this share of the energy");
}

const struct gcb_promise gcb_promises_error[] = {
    {"rotation", "||x - x'||^2 = ||x'||^2 - ||x||^2; scale=least: at most ||x||^2 - ||x'||^2",
     "EDEN, section 3; DRIVE, section 4", rotates, check_rotation, GCB_PROMISE_ANYWHERE},
    {"lossless", "the decoded tensor equals the input bit for bit", "the capability LOSSLESS",
     is_lossless, check_lossless, GCB_PROMISE_ANYWHERE},
    {"contraction", "||x - x'||^2 <= ||x||^2 (x': the decoded tensor)", "needed for error feedback",
     contracts, check_contraction, GCB_PROMISE_ANYWHERE},
    {.name = NULL},
};

/*
 * ---- promises about random draws, checked over RUNS seeds ----
 *
 * The error rule of a method that rounds at random gives the values that each element may become,
 * and their probabilities. So the mean and the variance of the errors are known exactly. A method
 * that draws independently and keeps its promise fails such a check with at most the probability
 * that the claim states. Rotations have no such rule, so averages-out allows a factor instead.
 * draws-apart compares pairs of messages, not RUNS seeds.
 */

#define RUNS 32 /* number of seeds */
/* A check over RUNS seeds uses at most this many elements, from the start of the tensor. */
#define SAMPLE (UINT64_C(1) << 20)

/* Returns the input of a rule that rounds at random. Such a rule does not read the message. */
static struct gcb_rule_input input_of(const struct gcb_promise_job *job)
{
    return (struct gcb_rule_input){job->method, job->x, job->config.env.count, NULL, 0};
}

/* Returns a job that encodes at most the first SAMPLE elements, with another seed in each run. */
static struct gcb_promise_job sample_of(const struct gcb_promise_case *c, unsigned run)
{
    struct gcb_promise_job job = c->job;

    if (job.config.env.count > SAMPLE) {
        job.config.env.count = SAMPLE;
        job.config.env.shape = job.config.env.joined = NULL;
        job.config.env.rank = 0;
    }
    job.config.env.seed = c->job.config.env.seed + run;
    return job;
}

#define LOG_ALARM 21.42 /* ln(2 / 1e-9), for a probability of 1e-9 */

/*
 * Returns how far a sum of independent terms may be from its mean. The variances of the terms add
 * up to `variance`, and no term is farther than `most` from its own mean. Then the sum is farther
 * from its mean than the result with a probability of at most 1e-9, whatever the distribution
 * (Bernstein's inequality).
 */
static double largest_deviation(double variance, double most)
{
    const double a = LOG_ALARM * most / 3.0;

    return a + sqrt(a * a + 2.0 * LOG_ALARM * variance);
}

/* ---- draws-apart: seeds, workers and steps draw differently ---- */

/* True if the method has a rule by which elements are rounded at random. */
static bool draws(const struct gcb_method *m)
{
    const struct gcb_error_rule *rule = gcb_error_rule_of(m);

    return rule && rule->drawn;
}

/* Two levels that are nearer to each other than this may be decoded to the same value. */
#define LEVELS_APART (4.0 * GCB_PROMISE_STEP)

/* Adds the probability that two draws of an element differ. */
static void count_difference(void *ctx, uint64_t i, const struct gcb_element_error *e)
{
    double *expected = ctx;

    if (e->step >= LEVELS_APART)
        *expected += 2.0 * e->up * (1.0 - e->up);
}

/* With fewer expected differences, two independent draws may be too similar by chance. */
#define ENOUGH_DIFFERENCES 50.0

static enum gcb_promise_status check_draws_apart(struct gcb_promise_case *c)
{
    const struct gcb_rule_input in = input_of(&c->job);
    struct gcb_promise_job seed = c->job, worker = c->job, step = c->job;
    const struct {
        const struct gcb_promise_job *job;
        const char *words;
    } others[] = {{&seed, "seeds"}, {&worker, "workers"}, {&step, "steps"}};
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
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        double differing;

        if (!gcb_promise_send_other(c, others[i].job))
            return GCB_PROMISE_BROKEN;
        differing = (double)gcb_promise_differing(c->y, c->z, in.count);
        if (differing < least)
            return gcb_promise_broken(
                c, differing, least,
                "two %s draw too similarly: %.0f elements differ, but at least %.0f should",
                others[i].words, differing, least);
    }
    return gcb_promise_kept(c, NAN, NAN);
}

/* ---- unbiased ---- */

/* The errors of all elements are summed several times, each time with other weights. The weights of
 * one sum are a direction. */
#define DIRECTIONS 4

/* Sets the weights of an element x. */
static void set_weights(double w[DIRECTIONS], float x)
{
    w[0] = (double)x;             /* finds a norm that is too small or too large */
    w[1] = 1.0;                   /* finds shifted elements */
    w[2] = x < 0.0f ? -1.0 : 1.0; /* finds small elements that are pulled to zero */
    w[3] = fabs((double)x);       /* finds large elements that are shifted */
}

/* The sums of errors in each direction. */
struct directions {
    const float *x;              /* the tensor */
    double variance[DIRECTIONS]; /* variance of the sum of one run */
    double most[DIRECTIONS];     /* largest term */
    double slack[DIRECTIONS];    /* what float32 arithmetic may add to the sum of one run */
    double sum[DIRECTIONS];      /* sum over all runs */
};

/* Adds an element to variance, most and slack. */
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

/* Adds the errors of the decoded tensor y to the sums. */
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
    for (unsigned run = 0; run < RUNS; run++) {
        const struct gcb_promise_job job = sample_of(c, run);

        if (!gcb_promise_send_other(c, &job))
            return GCB_PROMISE_BROKEN;
        add_errors(&s, c->z, job.config.env.count);
    }
    for (size_t k = 0; k < DIRECTIONS; k++) {
        const double limit = largest_deviation(RUNS * s.variance[k], s.most[k]) + RUNS * s.slack[k];

        if (limit > 0.0)
            worst = fmax(worst, fabs(s.sum[k]) / limit);
    }
    return gcb_promise_at_most(c, worst, 1.0, "mean error as a multiple of what chance allows");
}

/* ---- averages-out: a rotation's errors have no bias, unless few elements are large ---- */

static bool averages_out(const struct gcb_method *m)
{
    return strcmp(gcb_promise_choice(m, "scale"), "unbiased") == 0;
}

/* If fewer elements than this share the energy of a tile (effective_count), the rotated tile
 * has few different values, and the error need not average out. */
#define FEW_ELEMENTS 64.0

/* Returns how many elements of equal magnitude would have the sums of squares and of fourth powers
 * that x has; 0 if all elements are zero. */
static double effective_count(const float *x, uint64_t n)
{
    double second = 0.0, fourth = 0.0;

    for (uint64_t i = 0; i < n; i++) {
        const double square = (double)x[i] * (double)x[i];

        second += square;
        fourth += square * square;
    }
    return fourth > 0.0 ? second * second / fourth : 0.0;
}

/* Without a bias, the mean of RUNS decoded tensors has 1/RUNS of the squared error of one decoded
 * tensor. Twice as much is allowed. */
static enum gcb_promise_status check_averages_out(struct gcb_promise_case *c)
{
    const uint64_t n = c->job.config.env.count < SAMPLE ? c->job.config.env.count : SAMPLE;
    double each = 0.0;
    float *sum = c->y;

    if (c->energy < LEAST_SQUARE * (double)c->job.config.env.count)
        return gcb_promise_idle(c, GCB_PROMISE_TINY);
    for (uint64_t i = 0; i < n; i += GCB_TILE)
        if (effective_count(c->job.x + i, gcb_tile_length(n, i)) < FEW_ELEMENTS)
            return gcb_promise_idle(c, "few elements have the energy of a block");
    memset(sum, 0, n * sizeof(*sum));
    for (unsigned run = 0; run < RUNS; run++) {
        const struct gcb_promise_job job = sample_of(c, run);

        if (!gcb_promise_send_other(c, &job))
            return GCB_PROMISE_BROKEN;
        each += gcb_promise_distance(job.x, c->z, n);
        for (uint64_t i = 0; i < n; i++)
            sum[i] += c->z[i] - job.x[i];
    }
    if (each <= 1e-10 * c->energy)
        return gcb_promise_idle(c, "the error is as small as rounding");
    return gcb_promise_at_most(
        c, gcb_promise_energy(sum, n) / each, 2.0,
        "squared error of the mean over 32 seeds, times 32, over that of one");
}

/* ---- the mean of the squared error ---- */

/* What is expected of the sum of squared errors. */
struct squared {
    double mean, variance;
    double most;  /* largest term */
    double slack; /* rounding of norms, levels and decoded values */
    const float *x;
};

/* Adds the squared error of an element, which is up^2 or down^2, or without a draw fixed^2. */
static void add_squared(void *ctx, uint64_t i, const struct gcb_element_error *e)
{
    struct squared *s = ctx;
    const double up = e->step * (1.0 - e->up), down = e->step * e->up;
    const double second = e->step * e->step * e->up * (1.0 - e->up);
    const double fixed = e->step > 0.0 ? 0.0 : e->most; /* the error of an element without a draw */
    const double noise = 0x1p-22 * fabs((double)s->x[i]);

    s->mean += second + fixed * fixed;
    s->variance += e->up * pow(up, 4) + (1.0 - e->up) * pow(down, 4) - second * second;
    s->most = fmax(s->most, fmax(up * up, down * down));
    s->slack += GCB_PROMISE_STEP * (3.0 * e->step + 2.0 * fixed + GCB_PROMISE_STEP) +
                noise * (2.0 * fixed + noise);
}

#define CODING 1e-5 /* what float32 norms and levels may add, as a share of the mean */

static enum gcb_promise_status check_mean(struct gcb_promise_case *c)
{
    const struct gcb_promise_job first = sample_of(c, 0);
    const struct gcb_rule_input in = input_of(&first);
    const struct gcb_error_rule *rule = gcb_error_rule_of(in.method);
    struct squared s = {.x = first.x};
    double sum = 0.0, most, chance;

    rule->visit(&in, add_squared, &s);
    if (s.mean == 0.0)
        return gcb_promise_idle(c, "every element is exactly on a level, so nothing is drawn");
    for (unsigned run = 0; run < RUNS; run++) {
        const struct gcb_promise_job job = sample_of(c, run);

        if (!gcb_promise_send_other(c, &job))
            return GCB_PROMISE_BROKEN;
        if (c->stored)
            return gcb_promise_idle(c, "the message was sent raw");
        sum += gcb_promise_distance(job.x, c->z, job.config.env.count);
    }
    most = rule->largest_mean ? rule->largest_mean(&in) : INFINITY;
    if (s.mean > most * (1.0 + 1e-9)) /* 1e-9: rounding of the sums */
        return gcb_promise_broken(c, s.mean, most,
                                  "the expected squared error %g is above the paper's limit %g",
                                  s.mean, most);
    chance = largest_deviation(RUNS * s.variance, s.most) +
             RUNS * (CODING * s.mean + 0x1p-32 * s.most + s.slack);
    return gcb_promise_at_most(c, fabs(sum - RUNS * s.mean) / chance, 1.0,
                               "difference between the measured and the expected squared error, "
                               "over the largest difference that chance explains");
}

const struct gcb_promise gcb_promises_random[] = {
    {"draws-apart", "two seeds, workers or steps give different draws", "docs/method.md", draws,
     check_draws_apart, GCB_PROMISE_ANYWHERE},
    {"unbiased", "the mean of the decoded tensors over seeds is the input (false alarm below 4e-9)",
     "QSGD, lemma 3.1; TernGrad", is_unbiased, check_unbiased, GCB_PROMISE_ANYWHERE},
    {"averages-out", "the squared error of the mean over 32 seeds is at most 2/32 of that of one",
     "DRIVE, theorem 2; EDEN, theorem 2.1", averages_out, check_averages_out, GCB_PROMISE_ANYWHERE},
    {.name = NULL},
};

/* ---- the table of rules ---- */

static const struct gcb_error_rule rules[] = {
    {
        .name = "fp16",
        .promise =
            {.name = "fp16-error",
             .claim =
                 "error at most 2^-11 |x| for 2^-14 <= |x| <= 65504, at most 2^-25 for smaller "
                 "|x|; larger values may be clamped",
             .source = "IEEE 754 binary16",
             .check = check_elements},
        .visit = visit_small,
    },
    {
        .name = "bf16",
        .promise = {.name = "bf16-error",
                    .claim = "error at most 2^-8 |x| for normal values",
                    .source = "bfloat16",
                    .check = check_elements},
        .visit = visit_small,
    },
    {
        .name = "range",
        .promise = {.name = "range-error",
                    .claim = "error at most 2^-m |x| for eps <= |x| <= max, at most eps for "
                             "smaller |x| (m: mantissa bits, eps: smallest value)",
                    .source = "FFT paper, section 3.3",
                    .check = check_elements},
        .visit = visit_range,
    },
    {
        .name = "levels",
        .promise =
            {.name = "levels-error",
             .claim =
                 "mean of ||x - x'||^2: sum of (N/s)^2 p(1-p), at most min(d/s^2, sqrt(d)/s) N^2 "
                 "for a bucket, with norm=max d/(4 s^2) N^2 (d elements, norm N, s levels, p: "
                 "chance to round up; false alarm below 1e-9)",
             .source = "QSGD, lemma 3.1",
             .check = check_mean},
        .drawn = true,
        .visit = visit_buckets,
        .largest_mean = largest_mean_of_levels,
    },
    {
        .name = "nearest-level",
        .promise = {.name = "nearest-level",
                    .claim =
                        "error of each element at most N/(2s) (N: the bucket's norm, s levels)",
                    .source = "rounding to the nearest level",
                    .check = check_elements},
        .visit = visit_buckets,
    },
    {
        .name = "ternary",
        .promise = {.name = "ternary-error",
                    .claim = "mean of ||x - x'||^2: s ||x||_1 - ||x||^2 plus the error of clipped "
                             "elements (s: scale; false alarm below 1e-9)",
                    .source = "TernGrad, section 3",
                    .check = check_mean},
        .drawn = true,
        .visit = visit_ternary,
    },
    {
        .name = "natural",
        .promise = {.name = "natural-error",
                    .claim =
                        "mean of ||x - x'||^2: sum of (|x| - a)(2a - |x|), at most ||x||^2 / 8 "
                        "for |x| >= 2^-126 (a: largest power of two up to |x|; false alarm below "
                        "1e-9)",
                    .source = "natural compression, theorem 1",
                    .check = check_mean},
        .drawn = true,
        .visit = visit_natural,
        .largest_mean = largest_mean_of_natural,
    },
    {
        .name = "small-float",
        .promise = {.name = "small-float-error",
                    .claim = "error at most half a step of the format at |x| over the scale; "
                             "elements above the largest value times the scale saturate",
                    .source = "rounding to nearest",
                    .check = check_elements},
        .visit = visit_small,
    },
    {
        .name = "drawn-float",
        .promise = {.name = "drawn-float-error",
                    .claim = "mean of ||x - x'||^2: sum of d^2 p(1-p) (d: step of the format times "
                             "the scale, p: chance to round up; false alarm below 1e-9)",
                    .source = "stochastic rounding",
                    .check = check_mean},
        .drawn = true,
        .visit = visit_small,
    },
    {
        .name = "affine",
        .promise = {.name = "affine-error",
                    .claim = "error at most half a step, (max - min) / (2^bits - 1) of the block",
                    .source = "rounding to nearest",
                    .check = check_elements},
        .visit = visit_affine,
    },
    {
        .name = "drawn-affine",
        .promise = {.name = "drawn-affine-error",
                    .claim = "mean of ||x - x'||^2: sum of d^2 p(1-p) (d: step of the block, p: "
                             "chance to round up; false alarm below 1e-9)",
                    .source = "stochastic rounding",
                    .check = check_mean},
        .drawn = true,
        .visit = visit_affine,
    },
    {
        .name = "dynamic",
        .promise = {.name = "dynamic-error",
                    .claim = "error at most half a step of the element's decade, and at most |x|",
                    .source = "rounding to nearest",
                    .check = check_elements},
        .visit = visit_dynamic,
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
