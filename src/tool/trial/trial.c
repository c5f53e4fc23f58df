#include "src/tool/trial/trial.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/codec.h"
#include "src/tool/base/clock.h"
#include "src/tool/trial/device_check.h"
#include "src/tool/trial/device_trial.h"

/* The cache of coders holds coders for at least this many elements in total: about 32 MiB for the method with the largest state. */
#define KEEP_ELEMENTS (UINT64_C(1) << 21)

static const struct gcb_method dense_method = {.name = "identity", .codec = &gcb_codec_identity};

static int init_sums(struct gcb_trial_bench *b, uint64_t largest, struct gcb_diag *diag)
{
    const struct gcb_trial_config *c = &b->config;
    int err = gcb_samples_init(&b->sum, &c->timing, diag);

    if (!err)
        err = gcb_samples_init(&b->sum16, &c->timing, diag);
    if (err || c->device || !(c->sums || c->check_sums))
        return err;
    b->most_summed = c->sums || largest < GCB_TRIAL_SUM_MOST ? largest : GCB_TRIAL_SUM_MOST;
    b->summed = gcb_alloc_array(b->most_summed ? b->most_summed : 1, sizeof(*b->summed));
    return b->summed ? 0 : gcb_diag_nomem(diag, b->most_summed * sizeof(*b->summed), "a sum");
}

int gcb_trial_bench_init(struct gcb_trial_bench *b, const struct gcb_trial_config *config,
                         uint64_t largest, struct gcb_diag *diag)
{
    int err;

    memset(b, 0, sizeof(*b));
    b->config = *config;
    b->place.device = config->device;
    gcb_stages_init(&b->stages);
    err = gcb_coders_create(&b->coders, largest > KEEP_ELEMENTS ? largest : KEEP_ELEMENTS, diag);
    if (err)
        return err;
    b->decoded = gcb_alloc_array(largest ? largest : 1, sizeof(*b->decoded));
    if (config->device)
        b->check_decoded = gcb_alloc_array(largest ? largest : 1, sizeof(*b->check_decoded));
    if (!b->decoded || (config->device && !b->check_decoded))
        return gcb_diag_nomem(diag, largest * sizeof(*b->decoded), "decoded elements");
    err = gcb_samples_init(&b->encode, &config->timing, diag);
    if (!err)
        err = gcb_samples_init(&b->decode, &config->timing, diag);
    if (!err)
        err = init_sums(b, largest, diag);
    if (err || !config->copy)
        return err;
    return gcb_copy_init(&b->copy, &config->timing, largest, diag);
}

void gcb_trial_bench_fini(struct gcb_trial_bench *b)
{
    gcb_place_fini(&b->place); /* first, because it waits for work with the rest */
    gcb_device_bench_destroy(b->on_device);
    gcb_coders_destroy(b->coders);
    gcb_room_fini(&b->room);
    gcb_room_fini(&b->check_room);
    gcb_free(b->decoded);
    gcb_free(b->check_decoded);
    gcb_free(b->summed);
    gcb_sums_messages_fini(&b->messages);
    gcb_samples_fini(&b->encode);
    gcb_samples_fini(&b->decode);
    gcb_samples_fini(&b->sum);
    gcb_samples_fini(&b->sum16);
    gcb_copy_fini(&b->copy);
    memset(b, 0, sizeof(*b));
}

const struct gcb_method *gcb_trial_method(const struct gcb_method *method,
                                          const struct gcb_message_plan *plan)
{
    return plan->dense && method->codec != &gcb_codec_identity ? &dense_method : method;
}

struct gcb_tally gcb_trial_tally(const struct gcb_trial_input *in)
{
    return (struct gcb_tally){
        .messages = 1,
        .elements = in->plan->count,
        .input_bytes = in->plan->input_bytes,
        .dense = in->plan->dense,
        .nonfinite = in->nonfinite,
        .dtype = in->plan->dtype,
    };
}

struct gcb_coder_config gcb_trial_coder_config(const struct gcb_trial_bench *b,
                                               const struct gcb_trial_input *in)
{
    return (struct gcb_coder_config){
        .env = {.count = in->plan->count,
                .shape = in->env.shape,
                .rank = in->env.rank,
                .role = in->env.role,
                .path = in->env.path,
                .seed = b->config.seed,
                .fft_rigor = b->config.fft_rigor,
                .kernels = b->config.kernels,
                .queue = b->config.queue,
                .probe = &b->stages.probe},
        /* The run has dealt with infinities and NaNs, but gcb_encode looks for them, and so its time counts. A device
         * cannot look without another launch. */
        .nonfinite = b->config.device ? GCB_NONFINITE_TRUSTED : GCB_NONFINITE_ERROR,
        .source = in->plan->dtype,
        .checksum = true,
        .max_elements = in->plan->count,
    };
}

/* Times the stages of an operation, as often as it was timed itself. */
static int time_stages(struct gcb_trial_bench *b, struct gcb_times *out,
                       const struct gcb_operation *op, size_t runs, struct gcb_diag *diag)
{
    int err;

    if (!b->config.stages)
        return 0;
    err = gcb_stages_measure(&b->stages, &b->config.timing, runs, op, diag);
    if (err || !b->stages.staged)
        return err;
    out->staged = 1;
    memcpy(out->stage, b->stages.seconds, sizeof(out->stage));
    return 0;
}

/* Is memcpy timed together with this trial? */
static bool copies(const struct gcb_trial_bench *b, const struct gcb_method *method)
{
    return b->config.copy && method->codec == &gcb_codec_identity;
}

/* Times encoding and its stages; if the method is identity, in turn with memcpy. */
static int time_encode(struct gcb_trial_bench *b, struct gcb_times *out,
                       const struct gcb_method *method, const struct gcb_encode_job *job,
                       struct gcb_diag *diag)
{
    struct gcb_encode_call call = {.job = job, .message = &b->message};
    struct gcb_samples *const samples[2] = {&b->encode, &b->copy.encode};
    struct gcb_operation ops[2] = {gcb_encode_operation(&call)};
    const bool copy = copies(b, method);
    int err;

    if (copy) {
        gcb_copy_begin(&b->copy, job->in.data, job->in.count);
        ops[1] = gcb_copy_there(&b->copy);
    }
    err = gcb_measure_in_turn(samples, &b->config.timing, ops, copy ? 2 : 1, diag);
    return err ? err : time_stages(b, out, &ops[0], b->encode.count, diag);
}

static int time_decode(struct gcb_trial_bench *b, struct gcb_times *out,
                       const struct gcb_method *method, struct gcb_coder *decoder,
                       const struct gcb_mview *y, struct gcb_diag *diag)
{
    struct gcb_decode_call call = {.coder = decoder, .message = &b->message, .out = y};
    struct gcb_samples *const samples[2] = {&b->decode, &b->copy.decode};
    struct gcb_operation ops[2] = {gcb_decode_operation(&call)};
    const bool copy = copies(b, method);
    int err;

    if (copy) {
        ops[1] = gcb_copy_back(&b->copy);
        b->copy.measured = true;
    }
    err = gcb_measure_in_turn(samples, &b->config.timing, ops, copy ? 2 : 1, diag);
    return err ? err : time_stages(b, out, &ops[0], b->decode.count, diag);
}

/* Are messages of this trial added, to check sums or to time them? */
static bool adds_up(const struct gcb_trial_bench *b, const struct gcb_trial_input *in)
{
    return b->summed && !in->original && in->plan->count <= b->most_summed;
}

/* Encodes messages to add, which also get the time that the timed encodings have left. */
static int take_messages(struct gcb_trial_bench *b, const struct gcb_encode_job *job,
                         struct gcb_diag *diag)
{
    const struct gcb_timing *t = &b->config.timing;
    const double left = fmax(0.0, b->began + t->max_time - gcb_clock());
    const double seconds = t->max_time > 0.0 ? left + t->max_time / 3.0 : 0.0;

    if (b->config.sums)
        return gcb_sums_encode(&b->messages, &b->message, job, b->summed, seconds, t, diag);
    b->messages.message[0] = b->message;
    b->messages.count = 1;
    return 0;
}

static int encode(struct gcb_trial_bench *b, struct gcb_tally *out, const struct gcb_method *method,
                  const struct gcb_trial_input *in, const struct gcb_coder_config *config,
                  struct gcb_diag *diag)
{
    struct gcb_encode_job job = {
        .at = {.step = in->plan->step, .worker = in->plan->worker},
        .in = {.data = in->data, .count = in->plan->count},
        .raw = in->raw,
    };
    int err = gcb_coders_encoder(b->coders, &job.coder, method, config, diag);

    if (!err)
        err = gcb_coders_room(&b->room, &b->message, job.coder, in->raw, diag);
    if (!err)
        err = time_encode(b, &out->encode, method, &job, diag);
    if (err)
        return err;
    gcb_message_seal(b->message.data, b->message.len, 0);
    out->clamped = in->raw ? 0 : gcb_coder_clamped(job.coder);
    gcb_tally_asked(out, job.coder, method->codec);
    return adds_up(b, in) ? take_messages(b, &job, diag) : 0;
}

/*
 * How far the sum of one message may be from its decoding, as a share of the norm. 0: not at all. Two transforms of a
 * whole message differ if several threads work on them, or if FFTW chose their plans by measuring.
 */
static double sum_tolerance(const struct gcb_trial_bench *b, const struct gcb_method *method,
                            uint64_t count)
{
    const struct gcb_trial_config *c = &b->config;
    double chunk = 0.0;
    bool whole;

    if (!(gcb_method_caps(method) & GCB_CAP_LIBRARY_MATH))
        return 0.0;
    whole = !gcb_method_value(method, "chunk", &chunk) || chunk == 0.0 || chunk >= (double)count;
    return c->fft_rigor != GCB_FFT_ESTIMATE || (whole && c->queue->threads > 1) ? GCB_DECODERS_APART
                                                                                : 0.0;
}

/* Checks the sum of the message, and times sums, as the configuration asks for. */
static int add_up(struct gcb_trial_bench *b, struct gcb_tally *out, const struct gcb_method *method,
                  const struct gcb_trial_input *in, const struct gcb_coder_config *config,
                  struct gcb_diag *diag)
{
    const struct gcb_timing *t = &b->config.timing;
    struct gcb_sums_job job = {
        .from = &b->messages, .into = b->summed, .decoded = b->decoded, .count = in->plan->count};
    double left = INFINITY;
    int err;

    b->sum.count = b->sum16.count = 0;
    if (!adds_up(b, in) || out->stop == GCB_STOP_INTERRUPTED)
        return 0;
    err = gcb_coders_sum(b->coders, &job.sum, method, &b->message, b->summed, config, diag);
    if (!err)
        err = gcb_sums_check(&job, sum_tolerance(b, method, job.count), diag);
    if (err || !b->config.sums)
        return err;
    if (t->max_time > 0.0)
        left = b->began + 2.0 / GCB_SUMS_OTHERS * t->max_time - gcb_clock();
    err = gcb_sums_measure(&b->sum, &b->sum16, t, left, &job, diag);
    if (!err)
        gcb_tally_sums(out, &b->sum, &b->sum16, b->messages.count);
    return err;
}

static int decode(struct gcb_trial_bench *b, struct gcb_tally *out, const struct gcb_method *method,
                  const struct gcb_trial_input *in, const struct gcb_coder_config *config,
                  struct gcb_diag *diag)
{
    const struct gcb_mview y = {.data = in->original ? in->original->data : b->decoded,
                                .count = in->plan->count};
    struct gcb_message_parts parts;
    struct gcb_coder *decoder;
    int err =
        gcb_coders_decoder(b->coders, &decoder, b->message.data, b->message.len, config, diag);

    if (!err)
        err = time_decode(b, &out->decode, method, decoder, &y, diag);
    if (!err)
        err = gcb_coder_describe(decoder, b->message.data, b->message.len, &parts, diag);
    if (err)
        return err;
    gcb_tally_times(out, &b->encode, &b->decode);
    if (in->original)
        err = gcb_original_compare(in->original, &out->fidelity, 0, y.count, diag);
    else
        gcb_fidelity_add(&out->fidelity, in->data, y.data, y.count, b->config.kernels,
                         b->config.queue);
    if (!err)
        err = gcb_tally_parts(out, &parts, diag);
    return err ? err : add_up(b, out, method, in, config, diag);
}

/* Runs the trial of memcpy. Its times were measured in the trial of identity, or are measured now. */
static int run_copy(struct gcb_trial_bench *b, struct gcb_tally *out,
                    const struct gcb_trial_input *in, struct gcb_diag *diag)
{
    struct gcb_copy *c = &b->copy;
    struct gcb_operation op;
    int err = 0;

    if (!c->measured || c->in != in->data || c->count != in->plan->count) {
        gcb_copy_begin(c, in->data, in->plan->count);
        op = gcb_copy_there(c);
        err = gcb_measure(&c->encode, &b->config.timing, &op, diag);
        op = gcb_copy_back(c);
        if (!err)
            err = gcb_measure(&c->decode, &b->config.timing, &op, diag);
    }
    c->measured = false;
    if (err)
        return err;
    out->dense = 0;
    gcb_copy_tally(out, c);
    gcb_fidelity_add(&out->fidelity, in->data, c->back, c->count, b->config.kernels,
                     b->config.queue);
    return 0;
}

static int run_on_cpu(struct gcb_trial_bench *b, struct gcb_tally *out,
                      const struct gcb_method *method, const struct gcb_trial_input *in,
                      struct gcb_diag *diag)
{
    struct gcb_coder_config config = gcb_trial_coder_config(b, in);
    const struct gcb_coder_config decoder = {
        .env = {.fft_rigor = config.env.fft_rigor,
                .kernels = config.env.kernels,
                .queue = config.env.queue,
                .probe = config.env.probe},
        .max_elements = config.max_elements,
    };
    int err;

    *out = gcb_trial_tally(in);
    b->began = gcb_clock();
    if (method->codec == gcb_copy_method.codec)
        return run_copy(b, out, in, diag);
    method = gcb_trial_method(method, in->plan);
    if (method->codec == &gcb_codec_identity) /* it is compared with memcpy */
        config.nonfinite = GCB_NONFINITE_TRUSTED;
    err = encode(b, out, method, in, &config, diag);
    return err ? err : decode(b, out, method, in, &decoder, diag);
}

size_t gcb_trial_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                       const struct gcb_trial_input in[], size_t count)
{
    if (!b->config.device || method->codec == gcb_copy_method.codec)
        return 1;
    return gcb_device_trial_group(b, method, in, count);
}

int gcb_trial_run_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                        const struct gcb_trial_input in[], size_t count,
                        const struct gcb_trial_taker *taker, struct gcb_diag *diag)
{
    struct gcb_tally tally;
    int err;

    b->at = 0;
    if (b->config.device && method->codec == gcb_copy_method.codec)
        return gcb_diag_set(
            diag, GCB_E_UNSUPPORTED,
            "memcpy runs only on the CPU; the device's copy bandwidth is the field gpu_copy_gbps "
            "of the environment row");
    if (b->config.device)
        return gcb_device_trial(b, method, in, count, taker, diag);
    err = run_on_cpu(b, &tally, method, in, diag);
    return err ? err : taker->take(taker->ctx, 0, &tally, diag);
}

static int take_tally(void *ctx, size_t i, const struct gcb_tally *tally, struct gcb_diag *diag)
{
    struct gcb_tally *out = ctx;

    (void)i;
    (void)diag;
    *out = *tally;
    return 0;
}

int gcb_trial_run(struct gcb_trial_bench *b, struct gcb_tally *out, const struct gcb_method *method,
                  const struct gcb_trial_input *in, struct gcb_diag *diag)
{
    const struct gcb_trial_taker taker = {take_tally, out};

    return gcb_trial_run_group(b, method, in, 1, &taker, diag);
}
