#include "src/tool/payoff/payoff_load.h"

#include <math.h>
#include <string.h>

bool gcb_payoff_adding_measured(const struct gcb_payoff_case *c)
{
    return c->total.value[GCB_PAYOFF_SUM] >= 0.0;
}

struct gcb_payoff_baselines gcb_payoff_find_baselines(const struct gcb_payoff_cases *cases,
                                                      size_t group)
{
    struct gcb_payoff_baselines b = {{gcb_payoff_find_baseline(cases, group, "identity"),
                                      gcb_payoff_find_baseline(cases, group, "fp16"),
                                      gcb_payoff_find_baseline(cases, group, "bf16")}};

    /* either conversion stands for the other: both are one pass over memory */
    if (!b.cases[GCB_BASELINE_FP16])
        b.cases[GCB_BASELINE_FP16] = b.cases[GCB_BASELINE_BF16];
    if (!b.cases[GCB_BASELINE_BF16])
        b.cases[GCB_BASELINE_BF16] = b.cases[GCB_BASELINE_FP16];
    return b;
}

/* ---- another size ---- */

/* Returns the relative error of a fitted line: the larger of its error over the messages and its error in their sum.
 * The sum shows if the line misses a few large messages. */
static double find_miss(const struct gcb_fit *fit, const struct gcb_payoff_sums *t, double measured)
{
    const double sum = gcb_fit_at(fit, t->messages, 4.0 * t->elements);

    return fmax(fit->error, fabs(sum / measured - 1.0));
}

/* Does the load of the case depend on the quantity? */
static bool is_used(const struct gcb_payoff_case *c, enum gcb_payoff_quantity q,
                    const struct gcb_payoff_model *model)
{
    const unsigned decoded =
        GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE) | GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_TWOSHOT);

    if (q == GCB_PAYOFF_BYTES || model->coding > 0.0)
        return q == GCB_PAYOFF_BYTES;
    if (q == GCB_PAYOFF_DECODE)
        return c->collectives & decoded || !(c->total.value[GCB_PAYOFF_SUM16] >= 0.0);
    return c->total.value[q] >= 0.0;
}

static void set_misses(struct gcb_payoff_scale *s, const struct gcb_payoff_case *c,
                       const struct gcb_payoff_model *model)
{
    static const char *const names[GCB_PAYOFF_QUANTITIES] = {
        "bytes", "encoding times", "decoding times", "adding times", "adding times"};
    double worst = -1.0;

    for (size_t i = 0; i < GCB_PAYOFF_QUANTITIES; i++) {
        const double most = i == GCB_PAYOFF_BYTES ? GCB_PAYOFF_BYTES_MISS : GCB_PAYOFF_TIMES_MISS;

        if (!is_used(c, i, model))
            continue;
        s->misses[i] = find_miss(&c->fit[i], &c->total, c->total.value[i]);
        if (!(s->misses[i] / most > worst))
            continue;
        worst = s->misses[i] / most;
        s->miss = s->misses[i];
        s->doubt = worst > 1.0 ? names[i] : NULL;
    }
}

static void make_scale(struct gcb_payoff_scale *s, const struct gcb_payoff_case *c,
                       const struct gcb_payoff_model *model)
{
    const double bytes = 4.0 * c->total.elements / c->exchanges;
    const double messages = c->total.messages / c->exchanges;
    const struct gcb_fit *encode = &c->fit[GCB_PAYOFF_ENCODE];
    double each;

    *s = (struct gcb_payoff_scale){
        .bytes = model->bytes > 0.0 ? model->bytes : bytes,
        .messages = model->messages > 0.0 ? model->messages : messages,
        .miss = NAN,
    };
    if (!(c->exchanges > 0.0) && model->messages == 0.0) /* unknown how many: keep their size */
        s->messages = c->total.messages * s->bytes / (4.0 * c->total.elements);
    s->transfers = model->shares ? (double)model->share_count : ceil(s->bytes / model->bucket);
    if (s->bytes == bytes && s->messages == messages)
        return;
    s->fitted = true;
    for (size_t i = 0; i < GCB_PAYOFF_SUM; i++)
        s->fitted &= c->fit[i].good;
    if (s->fitted)
        set_misses(s, c, model);
    each = s->bytes / s->messages;
    s->extrapolated = each > 2.0 * encode->most || each < 0.5 * encode->least;
}

/* Returns a quantity for one worker and exchange. NAN: not measured. */
static double quantity(const struct gcb_payoff_case *c, const struct gcb_payoff_scale *s,
                       enum gcb_payoff_quantity q, enum gcb_bound bound)
{
    const double total = c->total.value[q];
    const double median = s->fitted ? gcb_fit_at(&c->fit[q], s->messages, s->bytes)
                                    : total * (s->bytes / (4.0 * c->total.elements));
    const double end = bound == GCB_BOUND_LOW ? c->total.low[q] : c->total.high[q];

    if (bound == GCB_BOUND_MEDIAN || isnan(total))
        return isnan(total) ? NAN : median;
    if (isnan(end))
        return bound == GCB_BOUND_LOW ? 0.0 : INFINITY;
    if (median == 0.0)
        return 0.0;
    return bound == GCB_BOUND_LOW ? median * (end / total) / (1.0 + s->misses[q])
                                  : median * (end / total) * (1.0 + s->misses[q]);
}

/* ---- loads ---- */

/* Adding reads two arrays and writes one, which is 1.5 times the bytes of a copy. 0 if copying was not measured. */
static double time_of_adding(const struct gcb_payoff_case *c, double bytes)
{
    return c->copy > 0.0 ? 1.5 * bytes / c->copy : 0.0;
}

/*
 * Sets the cost of a sum of n messages to n s1 + what a whole sum of 16 messages takes beyond 16 s1; s1 is the time of
 * one addition. If 16 additions in a row take less than 16 single ones, as with cold caches, s1 is a sixteenth of them.
 */
static void set_sum(struct gcb_load *out, const struct gcb_payoff_case *c,
                    const struct gcb_payoff_scale *s, enum gcb_bound bound)
{
    const enum gcb_bound other = GCB_BOUND_HIGH - bound; /* the other end */
    const double one = quantity(c, s, GCB_PAYOFF_SUM, bound);
    const bool known = bound == GCB_BOUND_MEDIAN || !isnan(c->total.low[GCB_PAYOFF_SUM16]);
    const double all = quantity(c, s, GCB_PAYOFF_SUM16, known ? bound : GCB_BOUND_MEDIAN);
    const double most = quantity(c, s, GCB_PAYOFF_SUM, other);

    if (isnan(one)) { /* not measured: at most a decoding, and an addition of its result */
        out->sum = bound == GCB_BOUND_LOW ? 0.0 : out->decode + out->add_gradient;
    } else if (isnan(all) || !known) { /* a sum begins and ends with at most a decoding */
        out->sum = one;
        out->finish = bound == GCB_BOUND_LOW ? 0.0 : out->decode;
        if (bound == GCB_BOUND_HIGH && all > 16.0 * most)
            out->finish = fmax(out->decode, all - 16.0 * most);
        if (bound == GCB_BOUND_LOW && all < 16.0 * one)
            out->sum = all / 16.0;
    } else {
        out->sum = fmin(one, all / 16.0);
        out->finish = isinf(all) ? all : fmax(0.0, all - 16.0 * most);
    }
}

/* Multiplies the work of the processor. */
static void slow_down(struct gcb_load *l, double factor)
{
    double *const times[] = {&l->encode, &l->decode,       &l->sum, &l->finish,
                             &l->add,    &l->add_gradient, &l->pass};

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        *times[i] *= factor;
}

/* Sets the least times that a memory of `rate` bytes per second allows: every byte is read or written once. */
static void set_perfect_coder(struct gcb_load *l, double rate)
{
    const double m = l->gradient / rate, w = l->bytes / rate;

    l->encode = l->decode = l->averages > 0.0 ? 0.0 : m + w;
    l->sum = l->add = 3.0 * w;
    l->finish = m;
    l->add_gradient = 3.0 * m;
    l->pass = 2.0 * m;
}

static void set_machine(struct gcb_load *l, const struct gcb_payoff_case *c,
                        const struct gcb_payoff_model *model)
{
    const double threads = (double)c->threads;

    if (model->coding > 0.0)
        set_perfect_coder(l, model->coding);
    else if (model->cores > 0.0 && threads > model->cores)
        slow_down(l, threads / model->cores);
}

static struct gcb_load begin_load(const struct gcb_payoff_case *c, const struct gcb_payoff_scale *s,
                                  const struct gcb_payoff_model *model, enum gcb_bound bound)
{
    return (struct gcb_load){
        .bound = bound,
        .transfers = s->transfers,
        .shares = model->shares,
        .gradient = s->bytes,
        .add_gradient = time_of_adding(c, s->bytes),
        .pass = c->copy > 0.0 ? s->bytes / c->copy : 0.0,
        .compute = model->compute,
        .inner_steps = model->inner_steps,
    };
}

static struct gcb_load load_method(const struct gcb_payoff_case *c,
                                   const struct gcb_payoff_scale *s,
                                   const struct gcb_payoff_model *model, enum gcb_bound bound)
{
    struct gcb_load l = begin_load(c, s, model, bound);

    l.collectives = c->collectives;
    l.sizes = c->sizes;
    l.bytes = quantity(c, s, GCB_PAYOFF_BYTES, bound);
    l.headers = c->total.headers * s->messages / c->total.messages;
    l.encode = quantity(c, s, GCB_PAYOFF_ENCODE, bound);
    l.decode = quantity(c, s, GCB_PAYOFF_DECODE, bound);
    l.add = time_of_adding(c, l.bytes);
    set_sum(&l, c, s, bound);
    if (model->host_copy > 0.0 && strncmp(c->device, "cuda", 4) != 0)
        l.copy = 2.0 * s->bytes / model->host_copy;
    set_machine(&l, c, model);
    return l;
}

/* The load of a baseline, which an all-reduce carries. `measured` is its case or NULL. */
static struct gcb_load load_baseline(enum gcb_baseline which, const struct gcb_payoff_case *c,
                                     const struct gcb_payoff_case *measured,
                                     const struct gcb_payoff_scale *scale,
                                     const struct gcb_payoff_model *model, enum gcb_bound bound)
{
    struct gcb_load l = begin_load(c, scale, model, bound);
    struct gcb_payoff_scale own;

    l.collectives = GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE);
    l.bytes = which == GCB_BASELINE_FP32 ? scale->bytes : scale->bytes / 2.0;
    l.averages = which == GCB_BASELINE_FP32;
    l.add = time_of_adding(c, l.bytes);
    if (measured) {
        make_scale(&own, measured, model);
        if (which != GCB_BASELINE_FP32) {
            l.encode = quantity(measured, &own, GCB_PAYOFF_ENCODE, bound);
            l.decode = quantity(measured, &own, GCB_PAYOFF_DECODE, bound);
        }
        if (gcb_payoff_adding_measured(measured))
            l.add = quantity(measured, &own, GCB_PAYOFF_SUM, bound);
    }
    set_machine(&l, c, model);
    return l;
}

void gcb_payoff_load(struct gcb_payoff_loads *out, struct gcb_payoff_scale *scale,
                     const struct gcb_payoff_case *c, const struct gcb_payoff_baselines *baselines,
                     const struct gcb_payoff_model *model)
{
    make_scale(scale, c, model);
    for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++) {
        out->method[b] = load_method(c, scale, model, b);
        for (enum gcb_baseline i = 0; i < GCB_BASELINES; i++)
            out->baselines[b][i] = load_baseline(i, c, baselines->cases[i], scale, model, b);
    }
    out->lossy = out->method[GCB_BOUND_MEDIAN];
    out->lossy.collectives = c->lossy;
}

bool gcb_payoff_stages(struct gcb_fft_stages *out, const struct gcb_payoff_case *c)
{
    const double bytes = 4.0 * c->total.elements;
    const double *t = c->total.stage;

    for (size_t i = 0; i < 4; i++)
        if (!(t[i] >= 0.0))
            return false;
    *out = (struct gcb_fft_stages){
        .transform = bytes / t[0],
        .select = bytes / t[1],
        .quantise = 4.0 * bytes / t[2], /* the paper counts four passes at this rate */
        .index = bytes / t[3],
    };
    return true;
}
