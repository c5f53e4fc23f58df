#include "src/tool/trial/device_trial.h"

#include <string.h>

#include "src/lib/device/device_coder.h"
#include "src/tool/base/clock.h"
#include "src/tool/metric/device_fidelity.h"
#include "src/tool/trial/device_bench.h"
#include "src/tool/trial/device_check.h"

/* A trial under way. */
struct work {
    struct gcb_device_bench *kept;
    const struct gcb_device_module *module;
    const struct gcb_method *method;
    struct gcb_device_message m;
    struct gcb_device_coder *coder;
    struct gcb_step at;
    struct gcb_frame frame;
    bool timed;        /* the call at hand is, and its time was not taken yet */
    uint64_t launches; /* of one call */
    uint64_t launched; /* before it */
};

/* Device memory for the coder at hand, and for measuring what it decodes: the tensor comes there again then, in the
 * payload's place. */
static int take_room(struct work *w, uint64_t count, struct gcb_diag *diag)
{
    struct gcb_device_workspace *r = &w->kept->space;
    const uint64_t bytes = count * sizeof(float), bound = gcb_device_coder_max_payload(w->coder);
    const uint64_t coding = gcb_device_coder_scratch(w->coder);
    const uint64_t measuring = gcb_device_fidelity_scratch(r->device, count);
    const struct gcb_device_workspace_size size = {.tensor = bytes,
                                                   .payload = bound > bytes ? bound : bytes,
                                                   .scratch =
                                                       coding > measuring ? coding : measuring};
    const int err = gcb_device_workspace_reserve(r, &size, diag);

    w->m = (struct gcb_device_message){
        .batch = r->batch, .in_dev = r->tensor.dev, .payload_dev = r->payload.dev};
    return err;
}

/* Takes the device's time of the call before, of which all is done. */
static void collect(struct work *w)
{
    double seconds;

    if (w->timed && w->kept->kernel.count < w->kept->kernel.cap &&
        !w->module->event_seconds(&seconds, w->kept->from, w->kept->to,
                                  NULL)) /* or the stream has the fault */
        w->kept->kernel.seconds[w->kept->kernel.count++] = seconds;
    w->timed = false;
}

static void before(void *job)
{
    struct work *w = job;

    collect(w);
    w->timed = true;
    if (!w->kept->flush.bytes)
        return;
    w->module->zero(gcb_device_batch_stream(w->m.batch), w->kept->flush.dev, w->kept->flush.bytes);
    w->module->wait(gcb_device_batch_stream(w->m.batch), NULL); /* a failure stays in the stream */
}

static void begin(struct work *w)
{
    struct gcb_device_stream *s = gcb_device_batch_stream(w->m.batch);

    gcb_device_batch_begin(w->m.batch); /* failures of queueing come with the wait */
    w->launched = w->module->launches(s);
    w->module->event_record(w->kept->from, s);
}

/* Behind what was queued. */
static void mark(struct work *w)
{
    struct gcb_device_stream *s = gcb_device_batch_stream(w->m.batch);

    w->module->event_record(w->kept->to, s);
    w->launches = w->module->launches(s) - w->launched;
}

/* Waits for what was queued. What the device failed of, the stream has better words for than who queued it. */
static int end(struct work *w, int err, struct gcb_diag *diag)
{
    int ended;

    mark(w);
    ended = err && err != GCB_E_DEVICE ? err : gcb_device_batch_finish(w->m.batch, diag);
    return ended ? ended : err;
}

static int encode_once(void *job, struct gcb_diag *diag)
{
    struct work *w = job;
    int err;

    begin(w);
    err = gcb_device_coder_encode_async(w->coder, &w->at, &w->m, diag);
    err = end(w, err, diag);
    if (!err)
        err = gcb_device_coder_encode_finish(w->coder, &w->m, &w->frame, diag);
    if (err || !(w->frame.flags & GCB_WIRE_STORED))
        return err;
    mark(w); /* the raw tensor was queued just now */
    return w->module->wait(gcb_device_batch_stream(w->m.batch), diag);
}

static int decode_once(void *job, struct gcb_diag *diag)
{
    struct work *w = job;
    int err;

    begin(w);
    err = gcb_device_coder_decode_async(w->coder, &w->frame, w->m.payload_dev, w->m.in_dev, &w->m,
                                        diag);
    err = end(w, err, diag);
    return err ? err : gcb_device_coder_decode_finish(w->coder, &w->m, diag);
}

static int measure(struct work *w, struct gcb_samples *samples, const struct gcb_trial_bench *b,
                   int (*run)(void *job, struct gcb_diag *diag), struct gcb_diag *diag)
{
    const struct gcb_operation op = {.run = run, .prepare = before, .job = w};
    struct gcb_samples *kernel = &w->kept->kernel;
    struct gcb_timing timing = b->config.timing;
    int err;

    timing.evict = NULL; /* the device's caches count, not the host's */
    kernel->count = 0;
    err = gcb_measure(samples, &timing, &op, diag);
    collect(w);
    gcb_stats_of(&kernel->stats, kernel->seconds, kernel->count, kernel->scratch);
    return err;
}

/* The clock as the last timed call left it. */
static void note_clock(const struct work *w, struct gcb_tally *out)
{
    const unsigned mhz = w->module->clock_mhz(w->kept->clock);

    if (mhz && (!out->clock_mhz || mhz < out->clock_mhz))
        out->clock_mhz = mhz;
}

/* Takes what the device's events measured. */
static void take_times(struct gcb_times *out, const struct work *w)
{
    const struct gcb_stats *kernel = &w->kept->kernel.stats;

    out->kernel = kernel->median;
    out->kernel_low = kernel->low;
    out->kernel_high = kernel->high;
    out->launches = w->launches;
}

/* Encodes on the device; b->message is what came of it. */
static int encode(struct work *w, struct gcb_trial_bench *b, struct gcb_tally *out,
                  const struct gcb_trial_input *in, struct gcb_diag *diag)
{
    double start = gcb_clock();
    int err = gcb_device_batch_upload(w->m.batch, w->m.in_dev, in->data,
                                      in->plan->count * sizeof(float), diag);

    out->encode.transfer = gcb_clock() - start;
    if (!err)
        err = measure(w, &b->encode, b, encode_once, diag);
    if (err)
        return err;
    note_clock(w, out);
    take_times(&out->encode, w);
    out->clamped = in->raw ? 0 : gcb_device_coder_clamped(w->coder);
    start = gcb_clock();
    err = gcb_device_coder_fetch(w->coder, &w->m, &w->frame, &b->message, diag);
    out->encode.transfer += gcb_clock() - start;
    if (!err)
        gcb_message_seal(b->message.data, b->message.len, 0);
    return err;
}

/* A decoder, and the message as it comes over a network: in the host's memory. */
static int take_decoder(struct work *w, struct gcb_trial_bench *b,
                        const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    const struct gcb_coder_config decoder = {.max_elements = config->max_elements};

    gcb_device_coder_destroy(w->coder);
    w->coder = NULL;
    return gcb_device_coder_create_decoder(&w->coder, b->config.device, b->message.data,
                                           b->message.len, &decoder, diag);
}

/* Every element a NaN: one that the decoder leaves out cannot pass for a good one. */
static int spoil(struct work *w, struct gcb_trial_bench *b, uint64_t bytes, struct gcb_diag *diag)
{
    if (bytes)
        memset(b->decoded, 0xff, bytes);
    return gcb_device_batch_upload(w->m.batch, w->m.in_dev, b->decoded, bytes, diag);
}

static int time_decode(struct work *w, struct gcb_trial_bench *b, struct gcb_diag *diag)
{
    const int err = measure(w, &b->decode, b, decode_once, diag);

    if (err == GCB_E_CORRUPT) /* nobody has touched it */
        return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                            "the device refuses a message that it wrote itself");
    return err;
}

/* Decodes there what was fetched: the payload is uploaded, the tensor comes back. */
static int decode(struct work *w, struct gcb_trial_bench *b, struct gcb_tally *out,
                  const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    const uint64_t bytes = config->max_elements * sizeof(float);
    struct gcb_rbuf payload;
    double start;
    int err = gcb_frame_parse(&w->frame, &payload, b->message.data, b->message.len, diag);

    if (!err)
        err = take_decoder(w, b, config, diag);
    if (!err)
        err = take_room(w, config->max_elements, diag);
    if (!err)
        err = spoil(w, b, bytes, diag);
    start = gcb_clock();
    if (!err)
        err = gcb_device_batch_upload(w->m.batch, w->m.payload_dev, payload.data,
                                      w->frame.payload_bytes, diag);
    out->decode.transfer = gcb_clock() - start;
    if (!err)
        err = time_decode(w, b, diag);
    if (err)
        return err;
    note_clock(w, out);
    take_times(&out->decode, w);
    start = gcb_clock();
    err = gcb_device_batch_download(w->m.batch, b->decoded, w->m.in_dev, bytes, diag);
    out->decode.transfer += gcb_clock() - start;
    return err;
}

/* How far what was decoded, which is still there, is from the input, which is brought there again. */
static int compare(struct work *w, struct gcb_tally *out, const struct gcb_trial_input *in,
                   struct gcb_diag *diag)
{
    const uint64_t n = in->plan->count;
    float *x = w->kept->space.payload.dev; /* it has done its work */
    const int err = gcb_device_batch_upload(w->m.batch, x, in->data, n * sizeof(float), diag);

    return err ? err : gcb_device_fidelity_add(&out->fidelity, w->m.batch, x, w->m.in_dev, n, diag);
}

/* The way of one message. */
static int there_and_back(struct work *w, struct gcb_trial_bench *b, struct gcb_tally *out,
                          const struct gcb_trial_input *in, const struct gcb_coder_config *config,
                          struct gcb_diag *diag)
{
    struct gcb_coder_config own = *config;
    int err;

    if (in->raw) /* as the CPU's caller decides it, the coder on the device does */
        own.nonfinite = GCB_NONFINITE_RAW;
    err = gcb_device_coder_create(&w->coder, b->config.device, w->method, &own, diag);
    if (!err)
        err = take_room(w, in->plan->count, diag);
    if (!err)
        err = encode(w, b, out, in, diag);
    if (!err)
        err = gcb_device_check_message(b, out, w->method, in, config, diag);
    if (!err)
        err = decode(w, b, out, config, diag);
    return err ? err : compare(w, out, in, diag);
}

int gcb_device_trial(struct gcb_trial_bench *b, struct gcb_tally *out,
                     const struct gcb_method *method, const struct gcb_trial_input *in,
                     const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct work w = {.module = b->config.device->module,
                     .method = method,
                     .at = {.step = in->plan->step, .worker = in->plan->worker}};
    struct gcb_coder *coder;
    int err = gcb_coders_encoder(b->coders, &coder, method, config, diag);

    if (!err)
        err = gcb_coders_room(&b->room, &b->message, coder, diag); /* the same bound on both */
    if (!err && !b->on_device)
        err = gcb_device_bench_create(&b->on_device, b->config.device, &b->config.timing, diag);
    w.kept = b->on_device;
    if (!err)
        err = there_and_back(&w, b, out, in, config, diag);
    if (err) { /* its stream keeps what went wrong, and may be at work still */
        gcb_device_bench_destroy(b->on_device);
        b->on_device = NULL;
    }
    gcb_device_coder_destroy(w.coder);
    if (err)
        return err;
    out->on_device = 1;
    gcb_tally_times(out, &b->encode, &b->decode);
    return gcb_device_check_values(b, out, method, in, config, diag);
}
