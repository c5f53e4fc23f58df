#include <math.h>
#include <string.h>

#include "src/lib/codec/packed.h"
#include "src/tool/replay/replay_state.h"

/* Returns the first worker that has the same gradients as worker w. */
static uint32_t source_of(const struct gcb_replay_state *s, uint32_t w)
{
    return w % s->plan->sources;
}

/* True if the memory clips gradients by their norm. */
static bool clips(const struct gcb_replay_state *s)
{
    return s->memory.kind == GCB_MEMORY_DGC && s->memory.clip != 0.0;
}

/* Makes w the current worker. */
static void set_worker(struct gcb_replay_sending *a, uint32_t w)
{
    a->w = w;
    a->exchange = a->message->exchanges[w];
    a->worker = &a->message->workers[w];
    a->plan = gcb_replay_message_at(a->s->plan, a->at, w, a->j);
    a->gradient = a->s->inputs + source_of(a->s, w) * a->s->largest;
    a->norm = clips(a->s) ? sqrt(a->step->workers[w].clipped) : NAN;
}

/* Puts the names of method and message before the text of an error. Returns `err`. */
static int explain(const struct gcb_replay_sending *a, int err, struct gcb_diag *diag)
{
    return gcb_plan_explain(err, a->message->method.name, a->plan, a->s->config->source, diag);
}

static double norm_sq(const struct gcb_replay_state *s, const float *x, uint64_t n)
{
    return x ? gcb_reduce_blocks(s->config->kernels->reduce.sum_sq, x, n) : 0.0;
}

/* ---- the beginning ---- */

/* Reads the gradient of a message into `x`. */
static int read_gradient(struct gcb_replay_state *s, const struct gcb_message_plan *plan, float *x,
                         struct gcb_diag *diag)
{
    const int err = gcb_layout_read(s->config->source, plan, x, diag);

    if (err || gcb_nonfinite_count(x, plan->count, s->config->kernels) == 0)
        return err;
    if (s->config->nonfinite != GCB_POLICY_ZERO)
        return gcb_diag_set(diag, GCB_E_IO, "the file changed while it was read");
    gcb_nonfinite_zero(x, plan->count);
    return 0;
}

/* Measures the squared norm of all gradients of each worker. Clipping needs it before the first
 * message. */
static int measure_gradients(struct gcb_replay_state *s, size_t at,
                             struct gcb_replay_step_sums *step, struct gcb_diag *diag)
{
    int err = 0;

    for (uint32_t w = 0; !err && w < s->plan->sources; w++)
        for (size_t j = 0; !err && j < s->count; j++) {
            const struct gcb_message_plan *plan = gcb_replay_message_at(s->plan, at, w, j);

            err = read_gradient(s, plan, s->inputs, diag);
            if (!err)
                step->workers[w].clipped += norm_sq(s, s->inputs, plan->count);
        }
    for (uint32_t w = s->plan->sources; w < s->workers; w++)
        step->workers[w].clipped = step->workers[source_of(s, w)].clipped;
    return err;
}

/* Begins the current worker's exchange: reads the gradient and adds it to the memory. */
static int begin_worker(struct gcb_replay_sending *a, struct gcb_diag *diag)
{
    struct gcb_replay_state *s = a->s;
    struct gcb_replay_norms *norms = &a->step->workers[a->w];
    struct gcb_memory *memory = gcb_exchange_memory(a->exchange);
    float *x = a->gradient;
    int err = source_of(s, a->w) == a->w ? read_gradient(s, a->plan, x, diag) : 0;

    if (err)
        return err;
    a->step->traffic.input_bytes += a->plan->input_bytes;
    a->worker->pending_bytes += a->plan->input_bytes;
    norms->gradient += norm_sq(s, x, a->plan->count);
    if (!isnan(a->norm))
        gcb_memory_set_norm(memory, a->norm);
    err = gcb_exchange_begin(a->exchange, a->step->at, x, diag);
    if (err)
        return explain(a, err, diag);
    gcb_memory_add_input(memory, x, s->owed);
    a->sent = gcb_exchange_input(a->exchange);
    return 0;
}

/* ---- the rounds ---- */

/* Counts the bytes of a round, and remembers where the workers' messages are, because the device's
 * messages are compared with them. They stay in s->local until its next run. */
static void on_round(void *ctx, unsigned round, const struct gcb_round *sent, uint64_t link_bytes)
{
    const struct gcb_replay_sending *a = ctx;
    struct gcb_replay_traffic *traffic = &a->step->traffic;
    struct gcb_replay_state *s = a->s;
    uint8_t *bytes = s->local.bytes;

    if (traffic->rounds <= round)
        traffic->rounds = round + 1;
    if (round < GCB_REPLAY_ROUNDS)
        traffic->round_bytes[round] += link_bytes;
    traffic->link_bytes += link_bytes;
    for (uint32_t w = 0; w < s->workers; w++, bytes += s->wires[w - 1].len)
        s->wires[w] = (struct gcb_wbuf){.data = bytes, .len = sent[w].bytes};
}

static int run_rounds(struct gcb_replay_sending *a, struct gcb_diag *diag)
{
    struct gcb_local *local = &a->s->local;
    int err;

    local->workers = a->s->workers;
    local->observe = on_round;
    local->ctx = a;
    err = gcb_local_run(local, a->message->exchanges, diag);
    if (!err && a->step->traffic.rounds > GCB_REPLAY_ROUNDS)
        err = gcb_diag_set(diag, GCB_E_INTERNAL, "an exchange has more than %d rounds",
                           GCB_REPLAY_ROUNDS);
    return explain(a, err, diag);
}

/* ---- the end ---- */

/* Counts the values that a tuned range float coded, and the values beyond its `max`. */
static void count_tuned(const struct gcb_replay_sending *a, const struct gcb_tally *t)
{
    double bits;

    if (!a->message->tuned || t->stored || !gcb_method_value(&a->message->method, "bits", &bits))
        return;
    a->step->traffic.tuned_values += (uint64_t)((double)t->value_bytes * 8.0 / bits);
    a->step->traffic.tuned_clamped += t->clamped;
}

/* Adds to the tally what the encoder knows about its message. */
static void ask_encoder(const struct gcb_replay_sending *a, struct gcb_tally *t)
{
    const struct gcb_coder *encoder = gcb_exchange_encoder(a->exchange);
    double density, largest;

    if (!encoder)
        return;
    t->clamped = gcb_coder_clamped(encoder);
    largest = gcb_coder_codec_state(encoder)->largest;
    if (largest > a->message->largest)
        a->message->largest = largest;
    density = gcb_coder_codec_state(encoder)->density;
    if (!isnan(density)) {
        t->asked_of = a->plan->count;
        t->asked = density * (double)a->plan->count;
    }
}

/* Adds the parts of the worker's message and its error to the tally. */
static int describe(const struct gcb_replay_sending *a, struct gcb_tally *t, struct gcb_diag *diag)
{
    struct gcb_message_parts parts;
    const int err = gcb_exchange_describe(a->exchange, &parts, diag);

    gcb_fidelity_add(&t->fidelity, a->encoded, a->s->decoded, a->plan->count, a->s->config->kernels,
                     a->s->config->queue);
    return err ? err : gcb_tally_parts(t, &parts, diag);
}

/* Runs the all-reduce of all workers on the device, except its end. */
static int reduce_on_device(struct gcb_replay_sending *a, struct gcb_diag *diag)
{
    struct gcb_replay_state *s = a->s;
    int err = 0;

    for (uint32_t w = 0; w < s->workers && !err; w++) {
        set_worker(a, w);
        a->encoded = gcb_exchange_input(a->exchange);
        err = gcb_replay_device_compensate(a, diag);
    }
    if (!err && a->sent)
        err = gcb_replay_device_rounds(a, diag);
    return explain(a, err, diag);
}

/* Runs the rest of the worker's step on the device, compares it with the CPU's, and adds its
 * message to the tally. */
static int compare_device(const struct gcb_replay_sending *a, struct gcb_tally *t,
                          struct gcb_diag *diag)
{
    int err = 0;

    if (!a->worker->on_device.reduce) {
        err = gcb_replay_device_compensate(a, diag);
        return err || !a->encoded ? err : gcb_replay_device_code(a, t, diag);
    }
    if (a->encoded)
        err = gcb_replay_device_conclude(a, t->clamped, diag);
    return err || !a->encoded ? err : describe(a, t, diag);
}

/* Adds what the worker sent, and what arrived of it, to the step. */
static int tally_message(const struct gcb_replay_sending *a, struct gcb_diag *diag)
{
    struct gcb_replay_norms *norms = &a->step->workers[a->w];
    const bool on_device = a->worker->on_device.memory;
    struct gcb_tally t = {
        .messages = 1,
        .elements = a->plan->count,
        .input_bytes = a->worker->pending_bytes,
        .dense = a->plan->dense,
        .dtype = a->plan->dtype,
    };
    int err = 0;

    if (a->encoded)
        ask_encoder(a, &t);
    if (on_device)
        err = compare_device(a, &t, diag);
    else if (a->encoded)
        err = describe(a, &t, diag);
    if (err || !a->encoded)
        return err;
    a->worker->pending_bytes = 0;
    norms->encoded += t.fidelity.xx;
    norms->lost += t.fidelity.dd;
    count_tuned(a, &t);
    gcb_tally_merge(&a->step->traffic.tally, &t);
    return 0;
}

/* Counts the age of each element, and notes which elements were sent. An element that was
 * encoded as 0 counts as sent. */
static void receive_span(void *ctx, uint64_t i)
{
    const struct gcb_replay_sending *a = ctx;
    const uint64_t from = i * GCB_SPAN, to = from + gcb_span_length(a->plan->count, i);
    const float *decoded = a->s->decoded;
    uint16_t *age = a->worker->age;

    for (uint64_t k = from; k < to; k++) {
        if (decoded[k] != 0.0f)
            a->s->touched[k] = 1;
        if (decoded[k] != 0.0f || (a->encoded && a->encoded[k] == 0.0f))
            age[k] = 0;
        else if (age[k] < GCB_STALENESS_MAX)
            age[k]++;
    }
}

/* Ends the current worker's exchange: measures what arrived, and updates the memory. */
static int end_worker(struct gcb_replay_sending *a, struct gcb_diag *diag)
{
    struct gcb_replay_state *s = a->s;
    struct gcb_replay_traffic *traffic = &a->step->traffic;
    const float *residual = gcb_memory_residual(gcb_exchange_memory(a->exchange));
    const uint64_t n = a->plan->count;
    int err;

    a->encoded = gcb_exchange_input(a->exchange);
    memset(s->decoded, 0xff, n * sizeof(float)); /* NaNs show missing elements */
    err = gcb_exchange_conclude(a->exchange, a->w ? NULL : s->update, s->decoded, diag);
    if (a->w)
        gcb_exchange_learn_update(a->exchange, s->update);
    if (!err)
        err = tally_message(a, diag);
    if (err)
        return err;
    traffic->again |=
        gcb_exchange_second_error(a->exchange, &traffic->again_lost, &traffic->again_sum);
    a->sparse = gcb_exchange_add_selection(a->exchange, s->selected);
    gcb_parallel(s->config->queue, gcb_span_count(n), receive_span, a);
    err = gcb_exchange_learn(a->exchange, s->decoded, diag);
    if (!err && a->worker->on_device.memory)
        err = gcb_replay_device_update(a, residual, diag);
    if (!err)
        a->step->workers[a->w].residual += norm_sq(s, residual, n);
    return err;
}

/* Adds what was owed and what arrived to the sums of a span of elements. */
static void settle_span(void *ctx, uint64_t i)
{
    const struct gcb_replay_sending *a = ctx;
    struct gcb_replay_message *m = a->message;
    const uint64_t from = i * GCB_SPAN, to = from + gcb_span_length(m->count, i);
    const float *update = a->s->update, *owed = a->s->owed;
    struct gcb_replay_span sum = {0};

    for (uint64_t k = from; k < to; k++) {
        m->drift[k] += (double)update[k] - (double)owed[k];
        m->owed[k] += (double)owed[k];
        sum.drift += m->drift[k] * m->drift[k];
        sum.owed += m->owed[k] * m->owed[k];
        sum.touched += a->s->touched[k];
        if (m->window)
            m->window[k] += owed[k];
    }
    a->s->spans[i] = sum;
}

/* Adds a message to the step's sums, after its last worker. Spans are added in order, so the sums
 * do not depend on the number of threads. */
static void settle(struct gcb_replay_sending *a)
{
    struct gcb_replay_state *s = a->s;
    struct gcb_replay_message *m = a->message;
    struct gcb_replay_step_sums *step = a->step;
    const uint64_t spans = gcb_span_count(m->count);
    const float *due = m->window ? m->window : s->owed;

    gcb_parallel(s->config->queue, spans, settle_span, a);
    for (uint64_t i = 0; i < spans; i++) {
        step->drift += s->spans[i].drift;
        step->owed += s->spans[i].owed;
        step->touched += s->spans[i].touched;
    }
    if (!a->sent)
        return;
    step->traffic.sparse |= a->sparse;
    if (a->sparse)
        gcb_fidelity_add(&step->traffic.selected, s->selected, s->update, m->count,
                         s->config->kernels, s->config->queue);
    gcb_fidelity_add(&step->traffic.updates, due, s->update, m->count, s->config->kernels,
                     s->config->queue);
    if (m->window)
        memset(m->window, 0, m->count * sizeof(*m->window));
}

int gcb_replay_send(struct gcb_replay_state *s, size_t at, size_t j,
                    struct gcb_replay_step_sums *step, struct gcb_diag *diag)
{
    struct gcb_replay_sending a = {
        .s = s, .at = at, .j = j, .message = &s->messages[j], .step = step};
    const uint64_t n = a.message->count;
    int err = clips(s) && j == 0 ? measure_gradients(s, at, step, diag) : 0;

    if (n) { /* memset takes no NULL */
        memset(s->owed, 0, n * sizeof(*s->owed));
        memset(s->selected, 0, n * sizeof(*s->selected));
        memset(s->touched, 0, n);
    }
    for (uint32_t w = 0; !err && w < s->workers; w++) {
        set_worker(&a, w);
        err = begin_worker(&a, diag);
    }
    if (err)
        return err;
    err = run_rounds(&a, diag);
    if (!err && s->device && gcb_replay_device_reduces(s->device) &&
        a.message->workers[0].on_device.memory)
        err = reduce_on_device(&a, diag);
    for (uint32_t w = 0; !err && w < s->workers; w++) {
        set_worker(&a, w);
        err = explain(&a, end_worker(&a, diag), diag);
    }
    if (!err)
        settle(&a);
    return err;
}
