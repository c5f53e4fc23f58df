#include "src/tool/measure/measure.h"

#include <math.h>
#include <string.h>

#include "src/tool/base/clock.h"
#include "src/tool/base/memory.h"

/* Returns the least number of timed calls. */
static size_t at_least(const struct gcb_timing *timing)
{
    return timing->repeat ? timing->repeat : 1;
}

const char *gcb_stop_name(enum gcb_stop stop)
{
    static const char *const names[] = {
        [GCB_STOP_PRECISION] = "precision",     [GCB_STOP_REPEAT] = "repeat",
        [GCB_STOP_SAMPLES] = "samples",         [GCB_STOP_TIME] = "time",
        [GCB_STOP_INTERRUPTED] = "interrupted",
    };

    return names[stop];
}

void gcb_samples_init(struct gcb_samples *s, const struct gcb_timing *timing)
{
    const size_t most = timing->max_samples ? timing->max_samples : GCB_MAX_SAMPLES;
    size_t cap = at_least(timing);

    memset(s, 0, sizeof(*s));
    /* without a precision and a min_time, no more than at_least() calls are timed */
    if ((timing->precision > 0.0 || timing->min_time > 0.0) && cap < most)
        cap = most;
    s->seconds = gcb_must_array(cap, 2 * sizeof(*s->seconds));
    s->scratch = s->seconds + cap;
    s->cap = cap;
}

void gcb_samples_fini(struct gcb_samples *s)
{
    gcb_free(s->seconds);
    memset(s, 0, sizeof(*s));
}

bool gcb_timing_stopped(const struct gcb_timing *timing)
{
    return timing->stop && timing->stop(timing->stop_ctx);
}

/* Operations measured in turn. */
struct round {
    struct gcb_samples *const *samples; /* samples of each operation */
    const struct gcb_operation *ops;
    size_t count; /* number of operations */
    const struct gcb_timing *timing;
    double started; /* start of the warm-up, by gcb_clock; 0 without max_time */
    double total;   /* seconds of all timed calls of the first operation */
    struct gcb_steady steady;
};

/* Times operation k once. Before that, empties the caches if `timing` asks for that, and calls the
 * operation's `prepare`. */
static int time_one(struct round *r, size_t k, struct gcb_diag *diag)
{
    struct gcb_samples *s = r->samples[k];
    double start;
    int err = r->timing->evict ? gcb_evict_run(r->timing->evict, diag) : 0;

    if (!err && r->ops[k].prepare)
        err = r->ops[k].prepare(r->ops[k].job, diag);
    if (err)
        return err;
    start = gcb_clock() - gcb_clock_left_out();
    err = r->ops[k].run(r->ops[k].job, diag);
    s->seconds[s->count] = gcb_clock() - gcb_clock_left_out() - start;
    if (k == 0)
        r->total += s->seconds[s->count];
    s->count++;
    return err;
}

/* Times each operation once. Each round begins with another operation, because an operation may
 * leave the caches warm for the next one. */
static int time_all(struct round *r, struct gcb_diag *diag)
{
    const size_t first = r->samples[0]->count % r->count;
    int err = 0;

    for (size_t i = 0; !err && i < r->count; i++)
        err = time_one(r, (first + i) % r->count, diag);
    return err;
}

/* True if the intervals of all operations are narrow enough. Updates the statistics of operations
 * up to the first one whose interval is too wide. */
static bool is_narrow(const struct round *r)
{
    for (size_t k = 0; k < r->count; k++) {
        struct gcb_samples *s = r->samples[k];

        gcb_stats_of(&s->stats, s->seconds, s->count, s->scratch);
        if (!gcb_steady_narrow(&s->stats, r->timing->precision))
            return false;
    }
    return true;
}

/* True if there are at least two samples of each operation and the time limit has passed: max_time,
 * or a larger GCB_MEASURE_GRACE if that applies. */
static bool out_of_time(const struct round *r)
{
    const size_t count = r->samples[0]->count;
    double most = r->timing->max_time;

    if (!(most > 0.0) || count < 2)
        return false;
    if (count < GCB_STATS_LEAST && !r->timing->strict)
        most = fmax(most, GCB_MEASURE_GRACE);
    return gcb_clock() - r->started >= most;
}

/* Returns why the measurement ends after this round, or GCB_STOP_NONE if it goes on. */
static enum gcb_stop why_stop(struct round *r)
{
    const struct gcb_timing *t = r->timing;
    const size_t count = r->samples[0]->count;
    const bool enough = count >= at_least(t) && r->total >= t->min_time;

    if (gcb_timing_stopped(t))
        return GCB_STOP_INTERRUPTED;
    if (enough && !(t->precision > 0.0))
        return GCB_STOP_REPEAT;
    if (enough && gcb_steady_due(&r->steady, count) &&
        gcb_steady_look(&r->steady, count, is_narrow(r)))
        return GCB_STOP_PRECISION;
    if (count >= r->samples[0]->cap) { /* no room for more samples */
        const bool precise = count >= GCB_STEADY_LEAST && t->precision > 0.0 && is_narrow(r);

        return precise ? GCB_STOP_PRECISION : GCB_STOP_SAMPLES;
    }
    return out_of_time(r) ? GCB_STOP_TIME : GCB_STOP_NONE;
}

int gcb_measure_in_turn(struct gcb_samples *const s[], const struct gcb_timing *timing,
                        const struct gcb_operation ops[], size_t count, struct gcb_diag *diag)
{
    struct round r = {.samples = s, .ops = ops, .count = count, .timing = timing};
    enum gcb_stop stop = GCB_STOP_NONE;
    int err = 0;

    for (size_t k = 0; k < count; k++)
        s[k]->count = 0;
    r.started = timing->max_time > 0.0 ? gcb_clock() : 0.0;
    for (unsigned i = 0; !err && i < timing->warmup && !gcb_timing_stopped(timing); i++)
        for (size_t k = 0; !err && k < count; k++)
            err = ops[k].run(ops[k].job, diag);
    while (!err && stop == GCB_STOP_NONE) {
        err = time_all(&r, diag);
        stop = why_stop(&r);
    }
    for (size_t k = 0; k < count; k++) {
        s[k]->stop = stop;
        gcb_stats_of(&s[k]->stats, s[k]->seconds, s[k]->count, s[k]->scratch);
    }
    return err;
}

int gcb_measure(struct gcb_samples *s, const struct gcb_timing *timing,
                const struct gcb_operation *op, struct gcb_diag *diag)
{
    return gcb_measure_in_turn(&s, timing, op, 1, diag);
}

static int encode_once(void *call, struct gcb_diag *diag)
{
    const struct gcb_encode_call *c = call;
    const struct gcb_encode_job *j = c->job;

    c->message->len = 0;
    if (j->raw)
        return gcb_coder_encode_raw(j->coder, &j->in, c->message, diag);
    return gcb_coder_encode(j->coder, &j->at, &j->in, c->message, diag);
}

struct gcb_operation gcb_encode_operation(struct gcb_encode_call *call)
{
    call->message->failed = false;
    return (struct gcb_operation){.run = encode_once, .job = call};
}

static int decode_once(void *call, struct gcb_diag *diag)
{
    const struct gcb_decode_call *c = call;

    return gcb_coder_decode(c->coder, c->message->data, c->message->len, c->out, diag);
}

struct gcb_operation gcb_decode_operation(struct gcb_decode_call *call)
{
    if (call->out->count) /* a float whose bytes are all 0xff is a NaN */
        memset(call->out->data, 0xff, call->out->count * sizeof(*call->out->data));
    return (struct gcb_operation){.run = decode_once, .job = call};
}

void gcb_samples_scale(struct gcb_samples *out, const struct gcb_samples *in, double factor)
{
    const struct gcb_stats *s = &in->stats;

    out->count = in->count;
    out->stop = in->stop;
    for (size_t i = 0; i < in->count; i++)
        out->seconds[i] = in->seconds[i] * factor;
    out->stats = (struct gcb_stats){
        .median = s->median * factor,
        .min = s->min * factor,
        .max = s->max * factor,
        .mad = s->mad * factor,
        .low = s->low * factor,
        .high = s->high * factor,
    };
}

bool gcb_steady_due(const struct gcb_steady *s, size_t count)
{
    return count >= GCB_STEADY_LEAST && count > s->looked + s->looked / 8;
}

bool gcb_steady_look(struct gcb_steady *s, size_t count, bool narrow)
{
    const bool before = s->narrow;

    *s = (struct gcb_steady){.looked = count, .narrow = narrow};
    return before && narrow;
}

bool gcb_steady_narrow(const struct gcb_stats *stats, double precision)
{
    return stats->high - stats->low <= 2.0 * precision * stats->median;
}

#define LEAST 1e-9   /* seconds for a piece if no time is left */
#define GENEROUS 3.0 /* a piece may take this many times its share */
#define KEPT 0.5     /* part of the initial share that is kept for each later piece */

void gcb_budget_start(struct gcb_budget *b, double seconds, double weight)
{
    b->deadline = gcb_clock() + seconds;
    b->weight = weight;
    b->fair = weight > 0.0 ? seconds / weight : 0.0;
}

double gcb_budget_take(struct gcb_budget *b, double weight)
{
    const double left = b->deadline - gcb_clock();
    const double share = weight < b->weight ? left * weight / b->weight : left;
    double spare; /* seconds that need not be kept for later pieces */

    b->weight = fmax(b->weight - weight, 0.0);
    spare = left - KEPT * b->fair * b->weight;
    return fmax(LEAST, fmin(GENEROUS * share, fmax(spare, share)));
}
