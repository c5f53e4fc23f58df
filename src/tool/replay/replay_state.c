#include "src/tool/replay/replay_state.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/codec.h"
#include "src/lib/codec/packed.h"
#include "src/lib/memory/device_memory.h"
#include "src/tool/replay/replay_figures.h"
#include "src/tool/trial/run.h"

/* Sums over one span of elements. */
struct gcb_replay_span {
    double drift, owed; /* squared norms */
    uint64_t touched;   /* elements that some worker sent */
};

static const struct gcb_method dense_method = {.name = "identity", .codec = &gcb_codec_identity};

static int init_worker(struct gcb_replay_state *s, struct gcb_replay_worker *worker, uint64_t n,
                       struct gcb_diag *diag)
{
    int err;

    worker->age = gcb_alloc_zero(n, sizeof(*worker->age));
    if (!worker->age)
        return gcb_diag_nomem(diag, n * sizeof(*worker->age), "what workers keep between steps");
    err = gcb_memory_create(&worker->memory, &s->memory, n, s->workers, s->config->queue,
                            s->config->kernels, diag);
    if (err || !s->device)
        return err;
    return gcb_replay_device_start(s->device, &worker->on_device, &s->memory, n, s->workers, diag);
}

static int init_message(struct gcb_replay_state *s, struct gcb_replay_message *message,
                        const struct gcb_message_plan *plan, const struct gcb_method *method,
                        struct gcb_diag *diag)
{
    const bool has_window = s->memory.kind == GCB_MEMORY_DELAY && s->memory.delay > 1;
    const uint64_t n = plan->count;
    int err = 0;

    message->count = n;
    message->method = plan->dense ? dense_method : *method;
    message->workers = gcb_alloc_zero(s->workers, sizeof(*message->workers));
    message->drift = gcb_alloc_zero(n, sizeof(*message->drift));
    message->owed = gcb_alloc_zero(n, sizeof(*message->owed));
    if (has_window)
        message->window = gcb_alloc_zero(n, sizeof(*message->window));
    if (!message->workers || !message->drift || !message->owed || (has_window && !message->window))
        return gcb_diag_nomem(diag, 0, "what workers keep between steps");
    for (uint32_t w = 0; !err && w < s->workers; w++)
        err = init_worker(s, &message->workers[w], n, diag);
    return err;
}

static int take_buffers(struct gcb_replay_state *s, uint64_t largest)
{
    const uint64_t n = largest ? largest : 1;

    s->input = gcb_alloc_array(n, sizeof(float));
    s->decoded = gcb_alloc_array(n, sizeof(float));
    s->owed = gcb_alloc_array(n, sizeof(float));
    s->update = gcb_alloc_array(n, sizeof(float));
    s->touched = gcb_alloc(n);
    s->spans = gcb_alloc_array(gcb_span_count(n), sizeof(*s->spans));
    return s->input && s->decoded && s->owed && s->update && s->touched && s->spans ? 0
                                                                                    : GCB_E_NOMEM;
}

int gcb_replay_state_init(struct gcb_replay_state *s, const struct gcb_replay_config *config,
                          const struct gcb_replay_plan *plan, const struct gcb_method *method,
                          struct gcb_diag *diag)
{
    const struct gcb_layout *layout = config->layout;
    int err;

    memset(s, 0, sizeof(*s));
    s->config = config;
    s->workers = plan->workers;
    gcb_method_memory(&s->memory, method);
    s->messages = gcb_alloc_zero(plan->messages, sizeof(*s->messages));
    if (!s->messages || take_buffers(s, layout->largest))
        return gcb_diag_nomem(diag, 0, "what workers keep between steps");
    err = gcb_coders_create(&s->decoders, layout->largest, diag);
    if (!err && config->device)
        err = gcb_replay_device_create(&s->device, config->device, layout->largest, diag);
    for (; !err && s->count < plan->messages;
         s->count++) /* counts a failed message too: fini releases it */
        err = init_message(s, &s->messages[s->count], &layout->messages[s->count], method, diag);
    return err;
}

static void fini_message(struct gcb_replay_message *message, uint32_t workers)
{
    for (uint32_t w = 0; message->workers && w < workers; w++) {
        gcb_replay_device_end(&message->workers[w].on_device);
        gcb_memory_destroy(message->workers[w].memory);
        gcb_coder_destroy(message->workers[w].encoder);
        gcb_free(message->workers[w].age);
    }
    gcb_free(message->workers);
    gcb_sum_close(message->sum);
    gcb_free(message->window);
    gcb_free(message->drift);
    gcb_free(message->owed);
}

void gcb_replay_state_fini(struct gcb_replay_state *s)
{
    for (size_t j = 0; j < s->count; j++)
        fini_message(&s->messages[j], s->workers);
    gcb_free(s->messages);
    gcb_free(s->input);
    gcb_free(s->decoded);
    gcb_free(s->owed);
    gcb_free(s->update);
    gcb_free(s->touched);
    gcb_free(s->spans);
    gcb_room_fini(&s->room);
    gcb_coders_destroy(s->decoders);
    gcb_replay_device_destroy(s->device);
    memset(s, 0, sizeof(*s));
}

int gcb_replay_assign(struct gcb_replay_state *s, struct gcb_replay_message *message,
                      const char *key, double value, struct gcb_diag *diag)
{
    for (uint32_t w = 0; w < s->workers; w++) {
        gcb_coder_destroy(message->workers[w].encoder);
        message->workers[w].encoder = NULL;
        gcb_replay_device_forget(&message->workers[w].on_device);
    }
    return gcb_method_assign(&message->method, key, value, diag);
}

/* ---- one message of one worker ---- */

struct sending {
    struct gcb_replay_state *s;
    struct gcb_replay_message *message;
    struct gcb_replay_worker *worker;
    const struct gcb_message_plan *plan;
    struct gcb_replay_step_sums *step;
    const float *encoded; /* the values to encode; NULL if nothing is sent */
};

/* Type of the values to encode. With a memory they are float32 sums, otherwise gradients in the source's type. */
static enum gcb_dtype type_of(const struct sending *a)
{
    return a->s->memory.kind == GCB_MEMORY_NONE ? a->plan->dtype : GCB_F32;
}

static int make_encoder(const struct sending *a, struct gcb_diag *diag)
{
    const struct gcb_replay_config *c = a->s->config;
    char name[40];
    int err;
    struct gcb_coder_config config = {
        .env = {.seed = c->seed,
                .fft_rigor = c->fft_rigor,
                .kernels = c->kernels,
                .queue = c->queue},
        .nonfinite = GCB_NONFINITE_ERROR, /* sums of finite gradients may overflow */
        .source = type_of(a),
        .checksum = true,
    };

    if (a->worker->encoder)
        return 0;
    gcb_plan_env(&config.env, name, c->source, a->plan, &c->output_layers);
    err = gcb_coder_create(&a->worker->encoder, &a->message->method, &config, diag);
    if (err || !a->s->device)
        return err;
    return gcb_replay_device_encoder(a->s->device, &a->worker->on_device, &a->message->method,
                                     &config, diag);
}

/* Counts the values that a tuned range float coded, and the values beyond its `max`. */
static void count_tuned(const struct sending *a, const struct gcb_tally *t)
{
    double bits;

    if (!a->message->tuned || t->stored || !gcb_method_value(&a->message->method, "bits", &bits))
        return;
    a->step->traffic.tuned_values += (uint64_t)((double)t->value_bytes * 8.0 / bits);
    a->step->traffic.tuned_clamped += t->clamped;
}

/* Encodes into s->wire. */
static int encode(const struct sending *a, struct gcb_tally *t, struct gcb_diag *diag)
{
    const struct gcb_view in = {.data = a->encoded, .count = a->plan->count};
    struct gcb_coder *encoder = a->worker->encoder;
    struct gcb_wbuf *wire = &a->s->wire;
    double density, largest;
    int err = gcb_coders_room(&a->s->room, wire, encoder, false, diag);

    if (!err)
        err = gcb_coder_encode(encoder, &a->step->at, &in, wire, diag);
    if (err)
        return err;
    gcb_message_seal(wire->data, wire->len, 0);
    t->clamped = gcb_coder_clamped(encoder);
    largest = gcb_coder_largest(encoder);
    if (largest > a->message->largest)
        a->message->largest = largest;
    density = gcb_coder_density(encoder);
    if (!isnan(density)) {
        t->asked_of = in.count;
        t->asked = density * (double)in.count;
    }
    return 0;
}

/* Adds the error: decoded values against encoded values. */
static void add_error(const struct sending *a, struct gcb_tally *t)
{
    gcb_fidelity_add(&t->fidelity, a->encoded, a->s->decoded, a->plan->count, a->s->config->kernels,
                     a->s->config->queue);
}

/* Decodes s->wire into s->decoded. */
static int decode(const struct sending *a, struct gcb_tally *t, struct gcb_diag *diag)
{
    struct gcb_replay_state *s = a->s;
    const struct gcb_coder_config config = {
        .env = {.fft_rigor = s->config->fft_rigor,
                .kernels = s->config->kernels,
                .queue = s->config->queue},
        .max_elements = a->plan->count,
    };
    const struct gcb_mview y = {.data = s->decoded, .count = a->plan->count};
    struct gcb_message_parts parts;
    struct gcb_coder *decoder;
    int err = gcb_coders_decoder(s->decoders, &decoder, s->wire.data, s->wire.len, &config, diag);

    if (!err)
        err = gcb_coder_decode(decoder, s->wire.data, s->wire.len, &y, diag);
    if (!err)
        err = gcb_coder_describe(decoder, s->wire.data, s->wire.len, &parts, diag);
    if (err)
        return err;
    add_error(a, t);
    return gcb_tally_parts(t, &parts, diag);
}

/* Encodes and decodes on the device, and compares with the CPU's message in s->wire. The tally counts the device's. */
static int pass_device(const struct sending *a, struct gcb_tally *t, struct gcb_diag *diag)
{
    struct gcb_replay_state *s = a->s;
    struct gcb_device_check check = {
        .method = &a->message->method,
        .in = {.data = a->encoded, .count = a->plan->count},
        .expected = &s->wire,
        .decoded = s->decoded,
        .scratch = gcb_replay_device_scratch(s->device),
        .coders = s->decoders,
        .kernels = s->config->kernels,
        .queue = s->config->queue,
    };
    struct gcb_message_parts parts;
    int err = gcb_replay_device_encode(s->device, &a->worker->on_device, &a->step->at, &check,
                                       &t->clamped, diag);

    if (!err)
        err = gcb_replay_device_decode(s->device, &check, s->decoded, diag);
    if (err)
        return err;
    add_error(a, t);
    err = gcb_device_check_values(&check, &t->fidelity, &parts, diag);
    return err ? err : gcb_tally_parts(t, &parts, diag);
}

/* Encodes a message and decodes it into s->decoded. */
static int send_message(const struct sending *a, struct gcb_replay_norms *norms,
                        struct gcb_diag *diag)
{
    struct gcb_tally t = {
        .messages = 1,
        .elements = a->plan->count,
        .input_bytes = a->worker->pending_bytes,
        .dense = a->plan->dense,
        .dtype = a->plan->dtype,
    };
    int err = make_encoder(a, diag);

    if (!err)
        err = encode(a, &t, diag);
    memset(a->s->decoded, 0xff, t.elements * sizeof(float)); /* NaNs show missing elements */
    if (!err)
        err = a->s->device ? pass_device(a, &t, diag) : decode(a, &t, diag);
    if (err)
        return err;
    a->worker->pending_bytes = 0;
    norms->encoded += t.fidelity.xx;
    norms->lost += t.fidelity.dd;
    count_tuned(a, &t);
    gcb_tally_merge(&a->step->traffic.tally, &t);
    return 0;
}

/* Adds the message in s->wire to the sum that becomes the update, as every worker would. */
static int add_message(const struct sending *a, struct gcb_diag *diag)
{
    const struct gcb_replay_state *s = a->s;
    const struct gcb_coder_config config = {
        .env = {.fft_rigor = s->config->fft_rigor,
                .kernels = s->config->kernels,
                .queue = s->config->queue},
    };
    const struct gcb_wbuf *wire = &s->wire;
    int err = a->message->sum ? 0
                              : gcb_sum_create_like(&a->message->sum, wire->data, wire->len,
                                                    s->update, &config, diag);

    return err ? err : gcb_sum_add(a->message->sum, wire->data, wire->len, 1.0f, diag);
}

/* Counts the age of each element, and notes which elements were sent. An element that was encoded as 0 counts as
 * sent. */
static void receive_span(void *ctx, uint64_t i)
{
    const struct sending *a = ctx;
    const uint64_t from = i * GCB_SPAN, to = from + gcb_span_length(a->plan->count, i);
    uint16_t *age = a->worker->age;

    for (uint64_t k = from; k < to; k++) {
        const float sent = a->encoded ? a->s->decoded[k] : 0.0f;

        if (sent != 0.0f)
            a->s->touched[k] = 1;
        if (sent != 0.0f || (a->encoded && a->encoded[k] == 0.0f))
            age[k] = 0;
        else if (age[k] < GCB_STALENESS_MAX)
            age[k]++;
    }
}

static int read_gradient(struct gcb_replay_state *s, const struct gcb_message_plan *plan,
                         struct gcb_diag *diag)
{
    const int err = gcb_layout_read(s->config->source, plan, s->input, diag);

    if (err || gcb_nonfinite_count(s->input, plan->count, s->config->kernels) == 0)
        return err;
    if (s->config->nonfinite != GCB_POLICY_ZERO)
        return gcb_diag_set(diag, GCB_E_IO, "the file changed while it was read");
    gcb_nonfinite_zero(s->input, plan->count);
    return 0;
}

static double norm_sq(const struct gcb_replay_state *s, const float *x, uint64_t n)
{
    return x ? gcb_reduce_blocks(s->config->kernels->reduce.sum_sq, x, n) : 0.0;
}

static bool clips(const struct gcb_replay_state *s)
{
    return s->memory.kind == GCB_MEMORY_DGC && s->memory.clip != 0.0;
}

/* Clipping needs the norm of all gradients of a worker before its first message. */
static int measure_gradients(struct gcb_replay_state *s, size_t first,
                             struct gcb_replay_step_sums *step, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < s->workers * s->count; i++) {
        const struct gcb_message_plan *plan = &s->config->layout->messages[first + i];

        err = read_gradient(s, plan, diag);
        if (!err)
            step->workers[i / s->count].clipped += norm_sq(s, s->input, plan->count);
    }
    return err;
}

static int set_norm(const struct sending *a, const struct gcb_replay_norms *norms,
                    struct gcb_diag *diag)
{
    const double norm = sqrt(norms->clipped);

    gcb_memory_set_norm(a->worker->memory, norm);
    return a->s->device ? gcb_device_memory_set_norm(a->worker->on_device.memory, norm, diag) : 0;
}

/* Adds the gradient to the memory, and sets a->encoded to the memory's output. */
static int compensate(struct sending *a, const struct gcb_replay_norms *norms,
                      struct gcb_diag *diag)
{
    struct gcb_replay_state *s = a->s;
    const struct gcb_view gradient = {.data = s->input, .count = a->plan->count};
    const int err = clips(s) ? set_norm(a, norms, diag) : 0;

    if (err)
        return err;
    a->encoded = gcb_memory_compensate(a->worker->memory, s->input);
    gcb_memory_add_input(a->worker->memory, s->input, s->owed);
    if (!s->device)
        return 0;
    return gcb_replay_device_compensate(s->device, &a->worker->on_device, &gradient, a->encoded,
                                        diag);
}

/* Updates the memory with the decoded tensor, if a message was sent. */
static int update(const struct sending *a, struct gcb_diag *diag)
{
    struct gcb_replay_state *s = a->s;
    struct gcb_memory *memory = a->worker->memory;

    if (a->encoded)
        gcb_memory_update(memory, s->decoded);
    if (!s->device)
        return 0;
    return gcb_replay_device_update(s->device, &a->worker->on_device, gcb_memory_residual(memory),
                                    a->plan->count, diag);
}

/* Puts the names of method and message before the text of an error. */
static int explain(const struct sending *a, int err, struct gcb_diag *diag)
{
    return gcb_plan_explain(err, a->message->method.name, a->plan, a->s->config->source, diag);
}

static int run_worker(struct sending *a, struct gcb_replay_norms *norms, struct gcb_diag *diag)
{
    struct gcb_replay_state *s = a->s;
    int err = read_gradient(s, a->plan, diag);

    if (err)
        return err;
    a->step->traffic.input_bytes += a->plan->input_bytes;
    a->worker->pending_bytes += a->plan->input_bytes;
    norms->gradient += norm_sq(s, s->input, a->plan->count);
    a->step->at.worker = a->plan->worker;
    err = compensate(a, norms, diag);
    if (!err && a->encoded)
        err = send_message(a, norms, diag);
    if (!err && a->encoded)
        err = add_message(a, diag);
    if (err)
        return explain(a, err, diag);
    gcb_parallel(s->config->queue, gcb_span_count(a->plan->count), receive_span, a);
    err = update(a, diag);
    if (err)
        return explain(a, err, diag);
    norms->residual += norm_sq(s, gcb_memory_residual(a->worker->memory), a->plan->count);
    return 0;
}

/* ---- one message of all workers ---- */

static void settle_span(void *ctx, uint64_t i)
{
    const struct sending *a = ctx;
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

/* Adds up a message after its last worker. Spans are added in order, so the sums do not depend on the number of
 * threads. */
static void settle(struct sending *a)
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
    if (!a->encoded)
        return;
    gcb_fidelity_add(&step->traffic.updates, due, s->update, m->count, s->config->kernels,
                     s->config->queue);
    if (m->window)
        memset(m->window, 0, m->count * sizeof(*m->window));
}

int gcb_replay_send(struct gcb_replay_state *s, size_t j, size_t first,
                    struct gcb_replay_step_sums *step, struct gcb_diag *diag)
{
    struct sending a = {.s = s, .message = &s->messages[j], .step = step};
    const uint64_t n = a.message->count;
    int err = clips(s) && j == 0 ? measure_gradients(s, first, step, diag) : 0;

    if (n) { /* memset takes no NULL */
        memset(s->owed, 0, n * sizeof(*s->owed));
        memset(s->update, 0, n * sizeof(*s->update));
        memset(s->touched, 0, n);
    }
    for (uint32_t w = 0; !err && w < s->workers; w++) {
        a.worker = &a.message->workers[w];
        a.plan = &s->config->layout->messages[first + w * s->count + j];
        err = run_worker(&a, &step->workers[w], diag);
    }
    if (!err && a.encoded)
        err = gcb_sum_finish(a.message->sum, NULL, diag);
    if (!err)
        settle(&a);
    return err;
}
