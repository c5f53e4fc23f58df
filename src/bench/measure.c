#include "src/bench/measure.h"

#include <string.h>

#include "src/base/alloc.h"
#include "src/base/clock.h"

struct encode_job {
    const struct gcb_encode_job *job;
    struct gcb_wbuf *message;
};

struct decode_job {
    struct gcb_coder *coder;
    const struct gcb_wbuf *message;
    const struct gcb_mview *out;
};

static size_t at_least(const struct gcb_timing *timing)
{
    return timing->repeat ? timing->repeat : 1;
}

int gcb_samples_init(struct gcb_samples *s, const struct gcb_timing *timing, struct gcb_diag *diag)
{
    size_t cap = at_least(timing);

    memset(s, 0, sizeof(*s));
    if (timing->min_time > 0.0 && cap < GCB_MAX_SAMPLES)
        cap = GCB_MAX_SAMPLES;
    s->seconds = gcb_alloc_array(cap, 2 * sizeof(*s->seconds));
    if (!s->seconds)
        return gcb_diag_nomem(diag, 2 * cap * sizeof(*s->seconds), "timings");
    s->scratch = s->seconds + cap;
    s->cap = cap;
    return 0;
}

void gcb_samples_fini(struct gcb_samples *s)
{
    gcb_free(s->seconds);
    memset(s, 0, sizeof(*s));
}

static bool stopped(const struct gcb_timing *timing)
{
    return timing->stop && timing->stop(timing->stop_ctx);
}

int gcb_measure(struct gcb_samples *s, const struct gcb_timing *timing,
                const struct gcb_operation *op, struct gcb_diag *diag)
{
    double total = 0.0;
    int err = 0;

    s->count = 0;
    for (unsigned i = 0; !err && i < timing->warmup && !stopped(timing); i++)
        err = op->run(op->job, diag);
    while (!err && s->count < s->cap) {
        const double start = gcb_clock();

        err = op->run(op->job, diag);
        s->seconds[s->count] = gcb_clock() - start;
        total += s->seconds[s->count++];
        if (stopped(timing) || (s->count >= at_least(timing) && total >= timing->min_time))
            break;
    }
    gcb_stats_of(&s->stats, s->seconds, s->count, s->scratch);
    return err;
}

static int encode_once(void *job, struct gcb_diag *diag)
{
    const struct encode_job *e = job;
    const struct gcb_encode_job *j = e->job;

    e->message->len = 0;
    if (j->raw)
        return gcb_coder_encode_raw(j->coder, &j->in, e->message, diag);
    return gcb_coder_encode(j->coder, &j->at, &j->in, e->message, diag);
}

int gcb_measure_encode(struct gcb_samples *s, const struct gcb_timing *timing,
                       const struct gcb_encode_job *job, struct gcb_wbuf *message,
                       struct gcb_diag *diag)
{
    struct encode_job own = {.job = job, .message = message};
    const struct gcb_operation op = {.run = encode_once, .job = &own};

    message->failed = false;
    return gcb_measure(s, timing, &op, diag);
}

static int decode_once(void *job, struct gcb_diag *diag)
{
    const struct decode_job *j = job;

    return gcb_coder_decode(j->coder, j->message->data, j->message->len, j->out, diag);
}

int gcb_measure_decode(struct gcb_samples *s, const struct gcb_timing *timing,
                       struct gcb_coder *decoder, const struct gcb_wbuf *message,
                       const struct gcb_mview *out, struct gcb_diag *diag)
{
    struct decode_job job = {.coder = decoder, .message = message, .out = out};
    const struct gcb_operation op = {.run = decode_once, .job = &job};

    if (out->count)
        memset(out->data, 0xff, out->count * sizeof(*out->data)); /* every element a NaN */
    return gcb_measure(s, timing, &op, diag);
}
