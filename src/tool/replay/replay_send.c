#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/codec/packed.h"
#include "src/lib/sparse/stages.h"
#include "src/tool/replay/replay_state.h"

/* The exchange of one message in one step: all workers begin, the rounds run, and what arrived is
 * measured. */
struct sending {
    struct gcb_replay_state *s;
    size_t at, j; /* indices: of the step in the plan, of the message in the step */
    struct gcb_replay_message *message;
    struct gcb_replay_step_sums *step;
    bool sent;   /* false: this step sends nothing */
    bool sparse; /* the exchange was a sparse all-reduce */
    /* set by set_worker for the current worker: */
    uint32_t w;
    struct gcb_exchange *exchange;
    struct gcb_replay_worker *worker;
    const struct gcb_message_plan *plan;
    float *gradient;
    double norm; /* norm of the worker's gradients, if they are clipped, else NAN */
    /* set by end_worker: the worker's tensor before encoding; NULL: this step sends nothing */
    const float *encoded;
};

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
static void set_worker(struct sending *job, uint32_t w)
{
    job->w = w;
    job->exchange = job->message->exchanges[w];
    job->worker = &job->message->workers[w];
    job->plan = gcb_replay_message_at(job->s->plan, job->at, w, job->j);
    job->gradient = job->s->inputs + source_of(job->s, w) * job->s->largest;
    job->norm = clips(job->s) ? sqrt(job->step->workers[w].clipped) : NAN;
}

/* Puts method, step, worker and name of the message before an error's text. Returns `err`. */
static int explain(const struct sending *job, int err, struct gcb_diag *diag)
{
    return gcb_plan_explain(err, job->message->method.name, job->plan, job->s->config->source,
                            diag);
}

static double norm_sq(const struct gcb_replay_state *s, const float *x, uint64_t n)
{
    return x ? gcb_reduce_blocks(s->config->compute.kernels->reduce.sum_sq, x, n) : 0.0;
}

/* Reads the gradient of a message into `x`. Sets infinities and NaNs to 0 if the policy is ZERO.
 * Otherwise they are an error, because gcb_replay_open found none in this step. */
static int read_gradient(struct gcb_replay_state *s, const struct gcb_message_plan *plan, float *x,
                         struct gcb_diag *diag)
{
    const int err = gcb_layout_read(s->config->source, plan, x, diag);

    if (err || gcb_nonfinite_count(x, plan->count, s->config->compute.kernels) == 0)
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

/* Begins the current worker's exchange. Reads the gradient, unless an earlier worker has read the
 * same one. */
static int begin_worker(struct sending *job, struct gcb_diag *diag)
{
    struct gcb_replay_state *s = job->s;
    struct gcb_replay_norms *norms = &job->step->workers[job->w];
    struct gcb_memory *memory = gcb_exchange_memory(job->exchange);
    float *x = job->gradient;
    int err = source_of(s, job->w) == job->w ? read_gradient(s, job->plan, x, diag) : 0;

    if (err)
        return err;
    job->step->traffic.input_bytes += job->plan->input_bytes;
    job->worker->pending_bytes += job->plan->input_bytes;
    norms->gradient += norm_sq(s, x, job->plan->count);
    if (!isnan(job->norm))
        gcb_memory_set_norm(memory, job->norm);
    err = gcb_exchange_begin(job->exchange, job->step->at, x, diag);
    if (err)
        return explain(job, err, diag);
    gcb_memory_add_input(memory, x, s->owed);
    job->sent = gcb_exchange_input(job->exchange);
    return 0;
}

/* Adds the bytes of a round to the step's traffic. traffic->rounds becomes the largest number of
 * rounds of any message. */
static void on_round(void *ctx, unsigned round, const struct gcb_round *sent, uint64_t link_bytes)
{
    const struct sending *job = ctx;
    struct gcb_replay_traffic *traffic = &job->step->traffic;
    struct gcb_replay_state *s = job->s;

    if (traffic->rounds <= round)
        traffic->rounds = round + 1;
    if (round < GCB_REPLAY_ROUNDS)
        traffic->round_bytes[round] += link_bytes;
    traffic->link_bytes += link_bytes;
    if (gcb_method_collective(&job->message->method) == GCB_COLLECTIVE_HIERARCHICAL)
        traffic->between_bytes +=
            gcb_local_between(sent, s->workers, gcb_method_node(&job->message->method, s->workers));
}

/* Exchanges the current message between all workers, which are all in this process. on_round counts
 * the bytes. */
static int run_rounds(struct sending *job, struct gcb_diag *diag)
{
    struct gcb_local *local = &job->s->local;
    int err;

    local->workers = job->s->workers;
    local->observe = on_round;
    local->ctx = job;
    err = gcb_local_run(local, job->message->exchanges, diag);
    if (!err && job->step->traffic.rounds > GCB_REPLAY_ROUNDS)
        err = gcb_diag_set(diag, GCB_E_INTERNAL, "an exchange has more than %d rounds",
                           GCB_REPLAY_ROUNDS);
    return explain(job, err, diag);
}

/* Sets what only the encoder knows: the number of clamped elements, and the density asked for. */
static void ask_encoder(const struct sending *job, struct gcb_tally *t)
{
    const struct gcb_coder *encoder = gcb_exchange_encoder(job->exchange);
    double density;

    if (!encoder)
        return;
    t->clamped = gcb_coder_clamped(encoder);
    density = gcb_coder_codec_state(encoder)->density;
    if (!isnan(density)) {
        t->asked_of = job->plan->count;
        t->asked = density * (double)job->plan->count;
    }
}

/* Adds the parts of the worker's message, and the error of the decoded tensor, to the tally. */
static int tally_parts_and_error(const struct sending *job, struct gcb_tally *t,
                                 struct gcb_diag *diag)
{
    struct gcb_message_parts parts;
    const int err = gcb_exchange_describe(job->exchange, &parts, diag);

    gcb_fidelity_add(&t->fidelity, job->encoded, job->s->decoded, job->plan->count,
                     job->s->config->compute.kernels, job->s->config->compute.queue);
    return err ? err : gcb_tally_parts(t, &parts, diag);
}

/* Adds the worker's message and its error to the step. Adds nothing if this step sends nothing. */
static int tally_message(const struct sending *job, struct gcb_diag *diag)
{
    struct gcb_replay_norms *norms = &job->step->workers[job->w];
    struct gcb_tally t = {
        .messages = 1,
        .elements = job->plan->count,
        .input_bytes = job->worker->pending_bytes,
        .dense = job->plan->dense,
        .dtype = job->plan->dtype,
    };
    int err;

    if (!job->encoded)
        return 0;
    ask_encoder(job, &t);
    err = tally_parts_and_error(job, &t, diag);
    if (err)
        return err;
    job->worker->pending_bytes = 0;
    norms->encoded += t.fidelity.xx;
    norms->lost += t.fidelity.dd;
    gcb_tally_merge(&job->step->traffic.tally, &t);
    return 0;
}

/* Counts the age of each element, and notes which elements arrived. For the age, an element whose
 * value was 0 before encoding counts as sent, because nothing of it is missing. */
static void receive_span(void *ctx, uint64_t i)
{
    const struct sending *job = ctx;
    const uint64_t from = i * GCB_SPAN, to = from + gcb_span_length(job->plan->count, i);
    const float *decoded = job->s->decoded;
    uint16_t *age = job->worker->age;

    for (uint64_t k = from; k < to; k++) {
        if (decoded[k] != 0.0f)
            job->s->touched[k] = 1;
        if (decoded[k] != 0.0f || (job->encoded && job->encoded[k] == 0.0f))
            age[k] = 0;
        else if (age[k] < GCB_STALENESS_MAX)
            age[k]++;
    }
}

/* In an all-reduce, counts the k largest elements of the worker's tensor, and how many of them
 * arrived. The density gives k. Zeros are not counted; elements as large as the k-th are. An
 * all-reduce sends the same positions for all workers, so few may arrive. */
static void count_largest(const struct sending *job)
{
    const struct gcb_coder *encoder = gcb_exchange_encoder(job->exchange);
    const double density = encoder ? gcb_coder_codec_state(encoder)->density : (double)NAN;
    struct gcb_replay_traffic *traffic = &job->step->traffic;
    const uint64_t n = job->plan->count;
    const float *x = job->encoded;
    uint32_t least = 1, high = GCB_INF_BITS;
    uint64_t k;

    if (isnan(density) || n == 0 || !x ||
        gcb_method_collective(&job->message->method) != GCB_COLLECTIVE_ALLREDUCE)
        return;
    k = gcb_kept_of(density, n);
    while (high - least > 1) { /* finds the k-th largest magnitude */
        const uint32_t middle = least + (high - least) / 2;

        if (job->s->config->compute.kernels->select.count(x, n, middle) < k)
            high = middle;
        else
            least = middle;
    }
    for (uint64_t i = 0; i < n; i++) {
        const bool large = gcb_magnitude(x[i]) >= least;

        traffic->largest += large;
        traffic->largest_arrived += large && job->s->decoded[i] != 0.0f;
    }
}

/* Ends the current worker's exchange: measures what arrived, and updates the memory. */
static int end_worker(struct sending *job, struct gcb_diag *diag)
{
    struct gcb_replay_state *s = job->s;
    struct gcb_replay_traffic *traffic = &job->step->traffic;
    const float *residual = gcb_memory_residual(gcb_exchange_memory(job->exchange));
    const uint64_t n = job->plan->count;
    int err;

    job->encoded = gcb_exchange_input(job->exchange);
    memset(s->decoded, 0xff, n * sizeof(float)); /* an element left unwritten stays NaN */
    err = gcb_exchange_conclude(job->exchange, job->w ? NULL : s->update, s->decoded, diag);
    if (!err && job->w)
        gcb_exchange_learn_update(job->exchange, s->update);
    if (!err)
        err = tally_message(job, diag);
    if (err)
        return err;
    count_largest(job);
    traffic->again |=
        gcb_exchange_second_error(job->exchange, &traffic->again_lost, &traffic->again_sum);
    job->sparse = gcb_exchange_add_selection(job->exchange, s->selected);
    gcb_parallel(s->config->compute.queue, gcb_span_count(n), receive_span, job);
    err = gcb_exchange_learn(job->exchange, s->decoded, diag);
    if (!err)
        job->step->workers[job->w].residual += norm_sq(s, residual, n);
    return err;
}

/* Adds span i of this step's sums over workers to the message's arrays. Sets spans[i]. */
static void settle_span(void *ctx, uint64_t i)
{
    const struct sending *job = ctx;
    struct gcb_replay_message *m = job->message;
    const uint64_t from = i * GCB_SPAN, to = from + gcb_span_length(m->count, i);
    const float *update = job->s->update, *owed = job->s->owed;
    struct gcb_replay_span sum = {0};

    for (uint64_t k = from; k < to; k++) {
        m->drift[k] += (double)update[k] - (double)owed[k];
        m->owed[k] += (double)owed[k];
        sum.drift += m->drift[k] * m->drift[k];
        sum.owed += m->owed[k] * m->owed[k];
        sum.touched += job->s->touched[k];
        if (m->window)
            m->window[k] += owed[k];
    }
    job->s->spans[i] = sum;
}

/* Adds a message to the step's sums, after its last worker. Spans are added in order, so the sums
 * do not depend on the number of threads. */
static void settle(struct sending *job)
{
    struct gcb_replay_state *s = job->s;
    struct gcb_replay_message *m = job->message;
    struct gcb_replay_step_sums *step = job->step;
    const uint64_t spans = gcb_span_count(m->count);
    const float *due = m->window ? m->window : s->owed;

    gcb_parallel(s->config->compute.queue, spans, settle_span, job);
    for (uint64_t i = 0; i < spans; i++) {
        step->drift += s->spans[i].drift;
        step->owed += s->spans[i].owed;
        step->touched += s->spans[i].touched;
    }
    if (!job->sent)
        return;
    step->traffic.sparse |= job->sparse;
    if (job->sparse)
        gcb_fidelity_add(&step->traffic.selected, s->selected, s->update, m->count,
                         s->config->compute.kernels, s->config->compute.queue);
    gcb_fidelity_add(&step->traffic.updates, due, s->update, m->count, s->config->compute.kernels,
                     s->config->compute.queue);
    if (m->window)
        memset(m->window, 0, m->count * sizeof(*m->window));
}

int gcb_replay_send(struct gcb_replay_state *s, size_t at, size_t j,
                    struct gcb_replay_step_sums *step, struct gcb_diag *diag)
{
    struct sending job = {.s = s, .at = at, .j = j, .message = &s->messages[j], .step = step};
    const uint64_t n = job.message->count;
    int err = clips(s) && j == 0 ? measure_gradients(s, at, step, diag) : 0;

    memset(s->owed, 0, n * sizeof(*s->owed));
    memset(s->selected, 0, n * sizeof(*s->selected));
    memset(s->touched, 0, n);
    for (uint32_t w = 0; !err && w < s->workers; w++) {
        set_worker(&job, w);
        err = begin_worker(&job, diag);
    }
    if (err)
        return err;
    err = run_rounds(&job, diag);
    for (uint32_t w = 0; !err && w < s->workers; w++) {
        set_worker(&job, w);
        err = explain(&job, end_worker(&job, diag), diag);
    }
    if (!err)
        settle(&job);
    return err;
}
