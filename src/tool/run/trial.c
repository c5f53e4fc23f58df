#include "src/tool/run/trial.h"

#include <math.h>
#include <string.h>

#include "kernels/cuda/align.h"
#include "src/lib/codec/codec.h"
#include "src/lib/coder/device_coder.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/memory.h"
#include "src/tool/run/device_check.h"

/* ---- memcpy ---- */

static const struct gcb_codec_ops none = {.state_size = 0};
static const struct gcb_codec codec = {
    .name = "memcpy",
    .baseline = true,
    .summary = "copies float32: the lower bound for the time of any method",
    .source = "none",
    .guarantee = "lossless",
    .caps = GCB_CAP_LOSSLESS | GCB_CAP_UNBIASED | GCB_CAP_LINEAR,
    .ops = &none,
};
const struct gcb_method gcb_copy_method = {.name = "memcpy", .codec = &codec};

static int copy(void *job, struct gcb_diag *diag)
{
    const struct gcb_copy *c = job;

    memcpy(c->to, c->from, c->count * sizeof(*c->to));
    return 0;
}

/* Returns the copy that is timed as `work`: encoding copies the input to c->there, decoding copies
 * c->there to c->back. */
static struct gcb_operation copy_operation(struct gcb_copy *c, const struct gcb_view *in,
                                           enum gcb_timed_work work)
{
    c->from = work == GCB_TIMED_ENCODE ? in->data : c->there;
    c->to = work == GCB_TIMED_ENCODE ? c->there : c->back;
    c->count = in->count;
    if (work == GCB_TIMED_DECODE) /* NaNs, so that an element that is not copied is found */
        memset(c->back, 0xff, c->count * sizeof(*c->back));
    return (struct gcb_operation){.run = copy, .job = c};
}

/* ---- stages ---- */

/* Adds the time since the last report to the stage that the codec has ended: gcb_probe.mark. */
static void mark(void *ctx, enum gcb_stage stage)
{
    struct gcb_stages *s = ctx;
    const double now = gcb_clock();

    s->run[stage] += now - s->last;
    s->last = now;
    s->staged = true;
}

/* Runs the operation with an active probe, which fills s->run. */
static int run_once(struct gcb_stages *s, const struct gcb_timing *timing,
                    const struct gcb_operation *op, struct gcb_diag *diag)
{
    int err = timing->evict ? gcb_evict_run(timing->evict, diag) : 0;

    memset(s->run, 0, sizeof(s->run));
    if (err)
        return err;
    s->probe.mark = mark;
    s->last = gcb_clock();
    err = op->run(op->job, diag);
    s->probe.mark = NULL;
    return err;
}

int gcb_stages_measure(struct gcb_stages *s, const struct gcb_timing *timing, size_t runs,
                       const struct gcb_operation *op, struct gcb_diag *diag)
{
    double seconds[GCB_STAGES][GCB_STAGE_RUNS], scratch[GCB_STAGE_RUNS];
    size_t count = 0;
    int err = 0;

    s->staged = false;
    while (!err && count < runs && count < GCB_STAGE_RUNS) {
        err = run_once(s, timing, op, diag);
        for (int i = 0; i < GCB_STAGES; i++)
            seconds[i][count] = s->run[i];
        count++;
        if (!s->staged || gcb_timing_stopped(timing))
            break;
    }
    for (int i = 0; i < GCB_STAGES; i++) {
        struct gcb_stats stats;

        gcb_stats_of(&stats, seconds[i], count, scratch);
        s->seconds[i] = stats.median;
    }
    return err;
}

/* ---- the bench ---- */

/* Least budget of the cache of coders, in elements: about 32 MiB for the method with the largest
 * state. */
#define KEEP_ELEMENTS (UINT64_C(1) << 21)

static const struct gcb_method dense_method = {.name = "identity", .codec = &gcb_codec_identity};

/* One message of the current group. */
struct item {
    const struct gcb_trial_input *in;
    const struct gcb_method *method; /* identity for a dense message */
    struct gcb_coder_config config;  /* configuration of a coder on the host */
    struct gcb_room room;            /* memory of `wire` */
    struct gcb_wbuf wire;            /* the message */
    struct gcb_tally tally;
    double share; /* share of the group's times that this message gets */
};

/* What the device measured while a group was encoded or decoded. */
struct work {
    struct gcb_stats kernel; /* times of all timed calls, by the device's events */
    uint64_t launches;       /* of the last call */
};

/* Indices of a batch's samples: of the whole group, of memcpy, and of the current work by the
 * device's events. GROUP and COPY are the samples of encoding; the samples of decoding follow. */
enum { GROUP, COPY = GROUP + GCB_TIMED_SUM, EVENTS = COPY + GCB_TIMED_SUM, SAMPLES };

/* The current group. */
struct gcb_trial_batch {
    size_t count;       /* number of messages */
    struct gcb_step at; /* step and worker of all messages */
    struct item items[GCB_TRIAL_GROUP];
    /* one for each message: encoders, and later decoders. On a device the batch owns them; on the
     * host they belong to the bench's cache of coders. */
    struct gcb_coder *coders[GCB_TRIAL_GROUP];
    struct gcb_samples samples[SAMPLES];
    /* the members below are used only on a device */
    struct work work[GCB_TIMED_SUM]; /* of encoding and decoding the whole group */
    struct gcb_device_message messages[GCB_TRIAL_GROUP];
    struct gcb_device_received received[GCB_TRIAL_GROUP];
    struct gcb_frame frames[GCB_TRIAL_GROUP];
    struct gcb_device_buffer flush; /* larger than the device's caches; empty: warm caches */
    struct gcb_device_clock *clock; /* NULL: the clock cannot be read */
    uint64_t clock_mhz;             /* lowest clock that was read; 0: not known */
    bool timed; /* the current call is timed, and its time by the events is not stored yet */
};

/* Prepares what trials on a device need besides the place. */
static int init_device(struct gcb_trial_bench *b, struct gcb_diag *diag)
{
    const struct gcb_device *device = b->config.compute.device;
    const uint64_t least = UINT64_C(1) << 20, twice = 2 * device->facts.l2_bytes;
    struct gcb_trial_batch *g = b->batch;

    g->clock = device->module->clock.open(device->index);
    if (!b->config.timing.evict)
        return 0;
    g->flush.bytes = twice > least ? twice : least;
    return device->module->memory.alloc(&g->flush.dev, g->flush.bytes, diag);
}

/* Allocates the arrays of elements that the configuration needs. */
static int init_arrays(struct gcb_trial_bench *b, uint64_t largest, struct gcb_diag *diag)
{
    const struct gcb_trial_config *c = &b->config;
    const uint64_t most = c->sums || largest < GCB_TRIAL_SUM_MOST ? largest : GCB_TRIAL_SUM_MOST;
    const struct {
        float **array;
        bool needed;
        uint64_t count;
    } arrays[] = {
        {&b->decoded, true, largest},
        {&b->check_decoded, c->compute.device, largest},
        {&b->summed, !c->compute.device && (c->sums || c->check_sums), most},
        {&b->copy.there, c->copy, largest},
        {&b->copy.back, c->copy, largest},
    };

    b->most_summed = most;
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        if (!arrays[i].needed)
            continue;
        *arrays[i].array = gcb_alloc_array(arrays[i].count ? arrays[i].count : 1, sizeof(float));
        if (!*arrays[i].array)
            return gcb_diag_nomem(diag, arrays[i].count * sizeof(float), "decoded elements");
    }
    return 0;
}

int gcb_trial_bench_init(struct gcb_trial_bench *b, const struct gcb_trial_config *config,
                         uint64_t largest, struct gcb_diag *diag)
{
    int err;

    memset(b, 0, sizeof(*b));
    b->config = *config;
    b->place.device = config->compute.device;
    b->stages.probe.ctx = &b->stages;
    b->batch = gcb_must_zero(1, sizeof(*b->batch));
    b->coders = gcb_coders_create(largest > KEEP_ELEMENTS ? largest : KEEP_ELEMENTS);
    for (int i = 0; i < GCB_TIMED; i++)
        gcb_samples_init(&b->samples[i], &config->timing);
    for (int i = 0; i < SAMPLES; i++)
        gcb_samples_init(&b->batch->samples[i], &config->timing);
    err = init_arrays(b, largest, diag);
    return err || !config->compute.device ? err : init_device(b, diag);
}

/* Destroys the coders of a group on a device. */
static void release_coders(struct gcb_trial_bench *b)
{
    for (size_t i = 0; b->config.compute.device && i < GCB_TRIAL_GROUP; i++) {
        gcb_coder_destroy(b->batch->coders[i]);
        b->batch->coders[i] = NULL;
    }
}

static void fini_batch(struct gcb_trial_bench *b)
{
    struct gcb_trial_batch *g = b->batch;

    if (!g)
        return;
    gcb_place_fini(&b->place); /* first, because queued work may still use the memory */
    release_coders(b);
    if (b->config.compute.device) {
        b->config.compute.device->module->memory.free(g->flush.dev);
        b->config.compute.device->module->clock.close(g->clock);
    }
    for (size_t i = 0; i < GCB_TRIAL_GROUP; i++)
        gcb_room_fini(&g->items[i].room);
    for (int i = 0; i < SAMPLES; i++)
        gcb_samples_fini(&g->samples[i]);
    gcb_free(g);
}

void gcb_trial_bench_fini(struct gcb_trial_bench *b)
{
    fini_batch(b);
    gcb_coders_destroy(b->coders);
    gcb_room_fini(&b->check_room);
    gcb_free(b->decoded);
    gcb_free(b->check_decoded);
    gcb_free(b->summed);
    gcb_free(b->copy.there);
    gcb_free(b->copy.back);
    gcb_room_fini(&b->messages.room);
    for (int i = 0; i < GCB_TIMED; i++)
        gcb_samples_fini(&b->samples[i]);
    memset(b, 0, sizeof(*b));
}

/* ---- the messages of a group ---- */

/* Returns the method that encodes the message: identity for a dense message. */
static const struct gcb_method *method_of(const struct gcb_method *method,
                                          const struct gcb_message_plan *plan)
{
    return plan->dense && method->codec != &gcb_codec_identity ? &dense_method : method;
}

/* Returns the configuration of an encoder. Leaves `place` NULL, which means the host. */
static struct gcb_coder_config config_of(const struct gcb_trial_bench *b,
                                         const struct gcb_method *method,
                                         const struct gcb_trial_input *in)
{
    const bool trusted = b->config.compute.device || method->codec == &gcb_codec_identity;
    struct gcb_codec_env env = in->env;

    gcb_compute_env(&env, &b->config.compute);
    env.count = in->plan->count;
    env.probe = &b->stages.probe;
    return (struct gcb_coder_config){
        .env = env,
        /* gcb_encode looks for infinities and NaNs, so looking is part of the time, although
         * gcb_run has already dealt with them. A device does not look, because that would take
         * another launch. Neither does identity, because it is compared with memcpy. */
        .nonfinite = trusted ? GCB_NONFINITE_TRUSTED : GCB_NONFINITE_ERROR,
        .source = in->plan->dtype,
        .checksum = true,
        .max_elements = in->plan->count,
    };
}

/* Fills the batch with a group of messages. Keeps the room of each item. */
static void begin_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                        const struct gcb_trial_input in[], size_t count)
{
    struct gcb_trial_batch *g = b->batch;
    double bytes = 0.0;

    g->count = count;
    g->at = (struct gcb_step){.step = in[0].plan->step, .worker = in[0].plan->worker};
    g->clock_mhz = 0;
    for (size_t i = 0; i < count; i++)
        bytes += (double)in[i].plan->input_bytes;
    for (size_t i = 0; i < count; i++) {
        const struct gcb_message_plan *plan = in[i].plan;
        const struct gcb_method *own = method_of(method, plan);

        g->items[i] = (struct item){
            .in = &in[i],
            .method = own,
            .config = config_of(b, own, &in[i]),
            .room = g->items[i].room,
            .tally = {.messages = 1,
                      .elements = plan->count,
                      .input_bytes = plan->input_bytes,
                      .dense = plan->dense,
                      .nonfinite = in[i].nonfinite,
                      .dtype = plan->dtype},
            .share = bytes > 0.0 ? (double)plan->input_bytes / bytes : 1.0 / (double)count,
        };
    }
}

/* Calls `step` for each message, until one fails. b->at is the index of the message. */
static int for_each(struct gcb_trial_bench *b,
                    int (*step)(struct gcb_trial_bench *b, size_t i, struct gcb_diag *diag),
                    struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < b->batch->count; i++) {
        b->at = i;
        err = step(b, i, diag);
    }
    return err;
}

static struct gcb_encode_job job_of(const struct gcb_trial_bench *b, size_t i)
{
    const struct item *item = &b->batch->items[i];

    return (struct gcb_encode_job){
        .coder = b->batch->coders[i],
        .at = b->batch->at,
        .in = {.data = item->in->data, .count = item->in->plan->count},
        .raw = item->in->raw,
    };
}

/* ---- coding on the host: one message ---- */

/* Times the stages of an operation in at most `runs` runs, if the configuration asks for it. */
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

/* Times encoding or decoding, and then its stages. With config.copy, a message that identity
 * encodes is timed in turn with memcpy. */
static int time_on_host(struct gcb_trial_bench *b, enum gcb_timed_work work, struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[0];
    const struct gcb_encode_job job = job_of(b, 0);
    const struct gcb_mview y = {.data = item->in->original ? item->in->original->data : b->decoded,
                                .count = item->in->plan->count};
    struct gcb_encode_call encode = {.job = &job, .message = &item->wire};
    struct gcb_decode_call decode = {.coder = job.coder, .message = &item->wire, .out = &y};
    struct gcb_samples *const samples[2] = {&b->batch->samples[GROUP + work],
                                            &b->batch->samples[COPY + work]};
    struct gcb_operation ops[2] = {work == GCB_TIMED_ENCODE ? gcb_encode_operation(&encode)
                                                            : gcb_decode_operation(&decode)};
    const bool copies = b->config.copy && item->method->codec == &gcb_codec_identity;
    int err;

    if (copies) {
        b->copy.timed = item->in->plan;
        ops[1] = copy_operation(&b->copy, &job.in, work);
    }
    err = gcb_measure_in_turn(samples, &b->config.timing, ops, copies ? 2 : 1, diag);
    return err ? err : time_stages(b, &item->tally.times[work], &ops[0], samples[0]->count, diag);
}

/* ---- coding on a device: a group ---- */

/* Creates an encoder on the device. */
static int make_encoder(struct gcb_coder **out, struct gcb_trial_bench *b,
                        const struct gcb_method *method, const struct gcb_trial_input *in,
                        struct gcb_diag *diag)
{
    struct gcb_coder_config config = config_of(b, method, in);

    config.place = &b->place;
    if (in->raw) /* the encoder finds the infinities or NaNs and sends the tensor raw */
        config.nonfinite = GCB_NONFINITE_RAW;
    return gcb_coder_create(out, method_of(method, in->plan), &config, diag);
}

static uint64_t tensor_bytes(const struct item *item)
{
    return gcb_cuda_align256(item->config.env.count * sizeof(float));
}

/* Returns the bytes to reserve for the payload. After decoding, the input tensor replaces the
 * payload, to be compared with the decoded tensor. */
static uint64_t payload_bytes(const struct item *item, const struct gcb_coder *coder)
{
    const uint64_t payload = gcb_cuda_align256(gcb_coder_max_payload(coder));
    const uint64_t tensor = tensor_bytes(item);

    return payload > tensor ? payload : tensor;
}

/* Reserves memory at the place for the current coders, and sets the addresses of each message. */
static int take_space(struct gcb_trial_bench *b, struct gcb_diag *diag)
{
    struct gcb_trial_batch *g = b->batch;
    struct gcb_place_size size = {.scratch = gcb_device_group_scratch(g->coders, g->count),
                                  .messages = (unsigned)g->count};
    uint8_t *tensor, *payload;
    int err;

    for (size_t i = 0; i < g->count; i++) {
        const uint64_t measuring =
            gcb_fidelity_scratch(b->place.device, g->items[i].config.env.count);

        size.tensor += tensor_bytes(&g->items[i]);
        size.payload += payload_bytes(&g->items[i], g->coders[i]);
        size.scratch = size.scratch > measuring ? size.scratch : measuring;
    }
    err = gcb_place_reserve(&b->place, &size, diag);
    tensor = b->place.tensor.dev;
    payload = b->place.payload.dev;
    for (size_t i = 0; !err && i < g->count; i++) {
        g->messages[i] = (struct gcb_device_message){.batch = b->place.batch,
                                                     .i = (unsigned)i,
                                                     .in_dev = (float *)(void *)tensor,
                                                     .payload_dev = payload};
        g->received[i] = (struct gcb_device_received){
            .frame = &g->frames[i], .payload_dev = payload, .out_dev = (float *)(void *)tensor};
        tensor += tensor_bytes(&g->items[i]);
        payload += payload_bytes(&g->items[i], g->coders[i]);
    }
    return err;
}

/* Stores the time of the last call by the device's events, if that call was timed. The call's work
 * must have ended. Returns the call's launches, or 0 if it was not timed. */
static uint64_t collect(struct gcb_trial_bench *b)
{
    struct gcb_samples *events = &b->batch->samples[EVENTS];
    struct gcb_device_work work = {.launches = 0};

    if (b->batch->timed && !gcb_device_batch_work(b->place.batch, &work, NULL) &&
        events->count < events->cap) /* the next wait reports an error of this line */
        events->seconds[events->count++] = work.seconds;
    b->batch->timed = false;
    return work.launches;
}

/* Called before each timed call: stores the time of the last call, and if caches are to be cold,
 * flushes the device's caches. */
static int prepare_call(void *job, struct gcb_diag *diag)
{
    struct gcb_trial_bench *b = job;
    const struct gcb_device_module *module = b->place.device->module;
    struct gcb_device_stream *stream = gcb_device_batch_stream(b->place.batch);

    collect(b);
    b->batch->timed = true;
    if (!b->batch->flush.bytes)
        return 0;
    module->stream.zero(stream, b->batch->flush.dev, b->batch->flush.bytes);
    return module->stream.wait(stream, diag); /* also reports an error of the line above */
}

/* Ends a call that returned `err`. Waits for the queued work, unless `err` is an error other than
 * GCB_E_DEVICE. If the device failed, returns the stream's error, whose text says more. */
static int end_call(struct gcb_trial_bench *b, int err, struct gcb_diag *diag)
{
    const int ended =
        err && err != GCB_E_DEVICE ? err : gcb_device_batch_finish(b->place.batch, diag);

    return ended ? ended : err;
}

/* Encodes the group: the operation that is timed as encoding. */
static int encode_once(void *job, struct gcb_diag *diag)
{
    struct gcb_trial_bench *b = job;
    struct gcb_trial_batch *g = b->batch;
    bool stored = false;
    int err;

    gcb_device_batch_begin(b->place.batch); /* end_call reports its errors */
    err = gcb_device_group_encode_async(g->coders, &g->at, g->messages, g->count, diag);
    err = end_call(b, err, diag);
    for (size_t i = 0; !err && i < g->count; i++) {
        b->at = i;
        err = gcb_device_coder_encode_finish(g->coders[i], &g->messages[i], &g->frames[i], diag);
        stored |= g->frames[i].flags & GCB_WIRE_STORED;
    }
    /* the calls above have queued copies of the tensors that are sent raw */
    return err || !stored ? err : gcb_device_batch_wait(b->place.batch, diag);
}

/* Decodes the group: the operation that is timed as decoding. */
static int decode_once(void *job, struct gcb_diag *diag)
{
    struct gcb_trial_bench *b = job;
    struct gcb_trial_batch *g = b->batch;
    int err;

    gcb_device_batch_begin(b->place.batch); /* end_call reports its errors */
    err = gcb_device_group_decode_async(g->coders, g->received, g->messages, g->count, diag);
    err = end_call(b, err, diag);
    for (size_t i = 0; !err && i < g->count; i++) {
        b->at = i;
        err = gcb_device_coder_decode_finish(g->coders[i], &g->messages[i], diag);
    }
    return err;
}

static int upload_tensor(struct gcb_trial_bench *b, size_t i, struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[i];
    const double start = gcb_clock();
    const int err =
        gcb_device_batch_upload(b->place.batch, b->batch->messages[i].in_dev, item->in->data,
                                item->in->plan->count * sizeof(float), diag);

    item->tally.encode.transfer = gcb_clock() - start;
    return err;
}

/* Fills the output on the device with NaNs, so that an element that decoding leaves out is found,
 * and uploads the payload. */
static int upload_message(struct gcb_trial_bench *b, size_t i, struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[i];
    const struct gcb_device_message *m = &b->batch->messages[i];
    const uint64_t bytes = item->in->plan->count * sizeof(float);
    struct gcb_rbuf payload;
    double start;
    int err =
        gcb_frame_parse(&b->batch->frames[i], &payload, item->wire.data, item->wire.len, diag);

    if (err)
        return err;
    if (bytes)
        memset(b->decoded, 0xff, bytes);
    err = gcb_device_batch_upload(m->batch, m->in_dev, b->decoded, bytes, diag);
    start = gcb_clock();
    if (!err)
        err = gcb_device_batch_upload(m->batch, m->payload_dev, payload.data,
                                      b->batch->frames[i].payload_bytes, diag);
    item->tally.decode.transfer = gcb_clock() - start;
    return err;
}

/* Uploads the group's tensors or messages, and times encoding or decoding them. */
static int time_on_device(struct gcb_trial_bench *b, enum gcb_timed_work work,
                          struct gcb_diag *diag)
{
    const bool encodes = work == GCB_TIMED_ENCODE;
    const struct gcb_operation op = {
        .run = encodes ? encode_once : decode_once, .prepare = prepare_call, .job = b};
    struct gcb_trial_batch *g = b->batch;
    struct gcb_samples *events = &g->samples[EVENTS];
    struct gcb_timing timing = b->config.timing;
    uint64_t mhz;
    int err = take_space(b, diag);

    if (!err)
        err = for_each(b, encodes ? upload_tensor : upload_message, diag);
    timing.evict = NULL; /* prepare_call flushes the device's caches instead of the host's */
    events->count = 0;
    if (!err)
        err = gcb_measure(&g->samples[GROUP + work], &timing, &op, diag);
    if (err)
        return encodes ? err : gcb_device_check_decoded(err, diag);
    g->work[work].launches = collect(b);
    gcb_stats_of(&g->work[work].kernel, events->seconds, events->count, events->scratch);
    mhz = b->place.device->module->clock.mhz(g->clock); /* right after the last timed call */
    if (mhz && (!g->clock_mhz || mhz < g->clock_mhz))
        g->clock_mhz = mhz;
    return 0;
}

static struct gcb_device_check check_of(const struct gcb_trial_bench *b, const struct item *item)
{
    return (struct gcb_device_check){
        .method = item->method,
        .in = {.data = item->in->data, .count = item->in->plan->count},
        .message = &item->wire,
        .expected = &b->check,
        .decoded = b->decoded,
        .scratch = b->check_decoded,
        .coders = b->coders,
        .kernels = b->config.compute.kernels,
        .queue = b->config.compute.queue,
    };
}

/* Encodes the message on the CPU, into b->check, and compares it with the device's message. Sets
 * *cpu to the CPU's encoder. */
static int check_message(struct gcb_trial_bench *b, size_t i, struct gcb_coder **cpu,
                         struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[i];
    const struct gcb_device_check check = check_of(b, item);
    struct gcb_encode_job job = job_of(b, i);
    struct gcb_encode_call call = {.job = &job, .message = &b->check};
    int err = gcb_coders_encoder(b->coders, &job.coder, item->method, &item->config, diag);

    *cpu = job.coder;
    if (!err)
        err = gcb_coders_room(&b->check_room, &b->check, job.coder, job.raw, diag);
    if (!err)
        err = gcb_encode_operation(&call).run(&call, diag);
    if (err)
        return err;
    gcb_message_seal(b->check.data, b->check.len, 0);
    return gcb_device_check_message(&check, diag);
}

/* Downloads the decoded tensor to b->decoded, and measures its error on the device. Compares tensor
 * and error with the CPU's. Sets *parts to the parts of the message. */
static int check_tensor(struct gcb_trial_bench *b, size_t i, struct gcb_message_parts *parts,
                        struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[i];
    const struct gcb_device_check check = check_of(b, item);
    const uint64_t n = item->in->plan->count;
    struct gcb_device_batch *batch = b->place.batch;
    float *y = b->batch->messages[i].in_dev;
    float *x = (float *)(void *)b->batch->messages[i].payload_dev; /* replaces the payload */
    const double start = gcb_clock();
    int err = gcb_device_batch_download(batch, b->decoded, y, n * sizeof(float), diag);

    item->tally.decode.transfer += gcb_clock() - start;
    if (!err)
        err = gcb_device_batch_upload(batch, x, item->in->data, n * sizeof(float), diag);
    if (!err)
        err = gcb_fidelity_add_there(&item->tally.fidelity, batch, x, y, n, diag);
    if (!err)
        err = gcb_device_check_values(&check, &item->tally.fidelity, parts, diag);
    return err ? err : gcb_device_check_fidelity(&check, &item->tally.fidelity, diag);
}

size_t gcb_trial_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                       const struct gcb_trial_input in[], size_t count)
{
    struct gcb_coder **coders = b->batch->coders;
    size_t n = 0;

    release_coders(b);
    if (!b->config.compute.device || method->codec == gcb_copy_method.codec || count < 2 ||
        (gcb_method_caps(method) & GCB_CAP_DEVICE_MATH))
        return 1;
    while (n < count && n < GCB_TRIAL_GROUP && !make_encoder(&coders[n], b, method, &in[n], NULL) &&
           gcb_device_group_takes(coders[0], coders[n]))
        n++;
    if (n > 0 && n < GCB_TRIAL_GROUP) { /* coders[n], which may be NULL, is not in the group */
        gcb_coder_destroy(coders[n]);
        coders[n] = NULL;
    }
    return n ? n : 1;
}

/* ---- sums, on the host ---- */

/* True if sums of this trial's messages are checked or timed. */
static bool adds_up(const struct gcb_trial_bench *b, const struct gcb_trial_input *in)
{
    return b->summed && !in->original && in->plan->count <= b->most_summed;
}

/* Fills b->messages with the messages to add: the trial's message, and if sums are timed, also
 * encodings of the turned tensor. These encodings may take a third of max_time (GCB_SUMS_OTHERS),
 * and the time that the timed encodings have left. */
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

/*
 * Returns how far the sum of one message may be from the decoded message, as a share of the norm.
 * The result is 0 unless decoding the same message twice may differ: if FFTW chooses its plans by
 * measuring (then for every method), or if a library computes on a whole message with several
 * threads.
 */
static double sum_tolerance(const struct gcb_trial_bench *b, const struct gcb_method *method,
                            uint64_t count)
{
    const struct gcb_trial_config *c = &b->config;
    const unsigned caps = gcb_method_caps(method);
    double chunk = 0.0;
    bool whole;

    if (c->compute.fft_engine == GCB_FFT_FFTW_MEASURE)
        return GCB_DECODERS_APART;
    if (!(caps &
          (c->compute.fft_engine == GCB_FFT_OWN ? GCB_CAP_LIBRARY_MATH : GCB_CAP_DEVICE_MATH)))
        return 0.0;
    whole = !gcb_method_value(method, "chunk", &chunk) || chunk == 0.0 || chunk >= (double)count;
    return whole && c->compute.queue->threads > 1 ? GCB_DECODERS_APART : 0.0;
}

/* Checks the sum of the message and times sums, if the configuration asks for it and the trial was
 * not interrupted. */
static int add_up(struct gcb_trial_bench *b, const struct gcb_coder_config *config,
                  struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[0];
    const struct gcb_trial_input *in = item->in;
    const struct gcb_timing *t = &b->config.timing;
    struct gcb_sums_job job = {
        .from = &b->messages, .into = b->summed, .decoded = b->decoded, .count = in->plan->count};
    double left = INFINITY;
    int err;

    if (!adds_up(b, in) || item->tally.stop == GCB_STOP_INTERRUPTED)
        return 0;
    err = gcb_coders_sum(b->coders, &job.sum, item->method, &b->message, b->summed, config, diag);
    if (!err)
        err = gcb_sums_check(&job, sum_tolerance(b, item->method, job.count), diag);
    if (err || !b->config.sums)
        return err;
    if (t->max_time > 0.0) /* the whole trial may take twice max_time / GCB_SUMS_OTHERS */
        left = b->began + 2.0 / GCB_SUMS_OTHERS * t->max_time - gcb_clock();
    item->tally.sum_messages = b->messages.count;
    return gcb_sums_measure(&b->samples[GCB_TIMED_SUM], &b->samples[GCB_TIMED_SUM16], t, left, &job,
                            diag);
}

/* ---- a trial ---- */

/* Gets an encoder for message i, and room for the message. */
static int open_encoder(struct gcb_trial_bench *b, size_t i, struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[i];
    struct gcb_coder **coder = &b->batch->coders[i];
    int err = 0;

    if (!b->config.compute.device)
        err = gcb_coders_encoder(b->coders, coder, item->method, &item->config, diag);
    else if (!*coder) /* unless gcb_trial_group has made it */
        err = make_encoder(coder, b, item->method, item->in, diag);
    return err ? err : gcb_coders_room(&item->room, &item->wire, *coder, item->in->raw, diag);
}

/* After the timed encodings: writes the message's checksum, stores the figures that only the
 * encoder knows, and prepares messages to add. On a device, first downloads the message, and
 * compares it with the CPU's. */
static int take_message(struct gcb_trial_bench *b, size_t i, struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[i];
    const struct gcb_encode_job job = job_of(b, i);
    struct gcb_coder *cpu = job.coder;
    const double start = gcb_clock();
    int err = 0;

    if (b->config.compute.device) {
        err = gcb_device_coder_fetch(job.coder, &b->batch->messages[i], &b->batch->frames[i],
                                     &item->wire, diag);
        item->tally.encode.transfer += gcb_clock() - start;
    }
    if (err)
        return err;
    gcb_message_seal(item->wire.data, item->wire.len, 0);
    item->tally.clamped = job.raw ? 0 : gcb_coder_clamped(job.coder);
    if (b->config.compute.device)
        err = check_message(b, i, &cpu, diag);
    if (err)
        return err;
    gcb_tally_asked(&item->tally, cpu, item->method->codec);
    b->message = item->wire;
    return adds_up(b, item->in) ? take_messages(b, &job, diag) : 0;
}

static struct gcb_coder_config decoder_config(struct gcb_trial_bench *b, const struct item *item)
{
    return (struct gcb_coder_config){
        .place = b->config.compute.device ? &b->place : NULL,
        .env = {.fft_engine = item->config.env.fft_engine,
                .kernels = item->config.env.kernels,
                .queue = item->config.env.queue,
                .probe = item->config.env.probe},
        .max_elements = item->config.max_elements,
    };
}

/* Replaces coder i by a decoder made from the message, as a receiver would make it. */
static int open_decoder(struct gcb_trial_bench *b, size_t i, struct gcb_diag *diag)
{
    const struct item *item = &b->batch->items[i];
    struct gcb_coder **coder = &b->batch->coders[i];
    const struct gcb_coder_config config = decoder_config(b, item);

    if (!config.place)
        return gcb_coders_decoder(b->coders, coder, item->wire.data, item->wire.len, &config, diag);
    gcb_coder_destroy(*coder);
    *coder = NULL;
    return gcb_coder_create_decoder(coder, item->wire.data, item->wire.len, &config, diag);
}

/* Sets b->samples and the times of message i to the message's share of the group's times. */
static void tally_times(struct gcb_trial_bench *b, size_t i)
{
    const struct gcb_trial_batch *g = b->batch;
    struct gcb_tally *t = &b->batch->items[i].tally;
    const double share = g->items[i].share;

    for (int k = 0; k < GCB_TIMED; k++)
        if (k < GCB_TIMED_SUM)
            gcb_samples_scale(&b->samples[k], &g->samples[GROUP + k], share);
        else
            b->samples[k].count = 0;
    gcb_tally_times(t, b->samples);
    for (int k = 0; b->config.compute.device && k < GCB_TIMED_SUM; k++) {
        t->times[k].kernel = g->work[k].kernel.median * share;
        t->times[k].kernel_low = g->work[k].kernel.low * share;
        t->times[k].kernel_high = g->work[k].kernel.high * share;
        t->times[k].launches = g->work[k].launches;
    }
    if (!b->config.compute.device)
        return;
    t->on_device = 1;
    t->group = g->count;
    t->follows = i > 0;
    t->clock_mhz = g->clock_mhz;
}

/* Splits the error of the decoded tensor by its causes, if the method can and the input is still in
 * memory. */
static int split_error(struct gcb_trial_bench *b, struct item *item, struct gcb_diag *diag)
{
    const struct gcb_wbuf *wire = &item->wire;
    struct gcb_coder_config config = decoder_config(b, item);
    struct gcb_coder *decoder;
    int err;

    if (!item->method->codec->ops->split || item->in->original)
        return 0;
    config.place = NULL; /* codecs on a device do not split */
    err = gcb_coders_decoder(b->coders, &decoder, wire->data, wire->len, &config, diag);
    return err ? err
               : gcb_coder_split(decoder, wire->data, wire->len, item->in->data, b->decoded,
                                 &item->tally.fidelity.split, diag);
}

/* Measures the error of the decoded tensor, and finds the parts of the message. */
static int compare(struct gcb_trial_bench *b, size_t i, struct gcb_message_parts *parts,
                   struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[i];
    const struct gcb_trial_input *in = item->in;
    int err;

    if (b->config.compute.device)
        return check_tensor(b, i, parts, diag);
    err = gcb_coder_describe(b->batch->coders[i], item->wire.data, item->wire.len, parts, diag);
    if (!err && in->original)
        return gcb_original_compare(in->original, &item->tally.fidelity, 0, in->plan->count, diag);
    if (!err)
        gcb_fidelity_add(&item->tally.fidelity, in->data, b->decoded, in->plan->count,
                         b->config.compute.kernels, b->config.compute.queue);
    return err;
}

/* Passes the result of a message to config.take. */
static int give(struct gcb_trial_bench *b, const struct item *item, const float *decoded,
                struct gcb_diag *diag)
{
    const struct gcb_trial_input *in = item->in;
    struct gcb_run_trial trial = {
        .plan = in->plan,
        .name = in->env.path,
        .tally = item->tally,
        .samples = b->samples,
        .decoded = in->original ? in->original->data : decoded,
        .input = in->original ? NULL : in->data,
        .original = in->original,
    };

    return b->config.take(b->config.ctx, &trial, diag);
}

/* After the timed decodings: measures the error, checks and times sums, completes the tally, and
 * passes the result on. */
static int finish_message(struct gcb_trial_bench *b, size_t i, struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[i];
    const struct gcb_coder_config config = decoder_config(b, item);
    struct gcb_message_parts parts;
    int err = compare(b, i, &parts, diag);

    if (!err)
        err = split_error(b, item, diag);
    if (!err)
        err = gcb_tally_parts(&item->tally, &parts, diag);
    if (err)
        return err;
    tally_times(b, i);
    b->message = item->wire;
    err = add_up(b, &config, diag);
    gcb_tally_times(&item->tally, b->samples); /* again, with the times of sums */
    return err ? err : give(b, item, b->decoded, diag);
}

/* Runs the trial of memcpy. Measures the times, unless the trial of identity has measured them for
 * the same message. */
static int run_copy(struct gcb_trial_bench *b, struct gcb_diag *diag)
{
    struct item *item = &b->batch->items[0];
    const struct gcb_view in = job_of(b, 0).in;
    const uint64_t bytes = in.count * sizeof(float);
    struct gcb_copy *c = &b->copy;
    int err = 0;

    for (int k = 0; !err && c->timed != item->in->plan && k < GCB_TIMED_SUM; k++) {
        const struct gcb_operation op = copy_operation(c, &in, k);

        err = gcb_measure(&b->batch->samples[COPY + k], &b->config.timing, &op, diag);
    }
    if (err)
        return err;
    for (int k = 0; k < GCB_TIMED_SUM; k++)
        gcb_samples_scale(&b->batch->samples[GROUP + k], &b->batch->samples[COPY + k], 1.0);
    tally_times(b, 0);
    item->tally.dense = 0;
    item->tally.input_bytes = item->tally.wire_bytes = item->tally.value_bytes = bytes;
    item->tally.dtype = GCB_F32;
    item->tally.nominal_bits = item->tally.entropy0_bits = 8.0 * (double)bytes;
    gcb_fidelity_add(&item->tally.fidelity, in.data, c->back, in.count, b->config.compute.kernels,
                     b->config.compute.queue);
    return give(b, item, c->back, diag);
}

static int time_work(struct gcb_trial_bench *b, enum gcb_timed_work work, struct gcb_diag *diag)
{
    return b->config.compute.device ? time_on_device(b, work, diag) : time_on_host(b, work, diag);
}

/* Runs the trials of the messages in the batch. */
static int run_group(struct gcb_trial_bench *b, struct gcb_diag *diag)
{
    int err = for_each(b, open_encoder, diag);

    if (!err)
        err = time_work(b, GCB_TIMED_ENCODE, diag);
    if (!err)
        err = for_each(b, take_message, diag);
    if (!err)
        err = for_each(b, open_decoder, diag);
    if (!err)
        err = time_work(b, GCB_TIMED_DECODE, diag);
    if (!err)
        err = for_each(b, finish_message, diag);
    if (err)
        gcb_place_fini(&b->place); /* the place's stream may keep the error or queued work */
    release_coders(b);
    return err;
}

int gcb_trial_run_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                        const struct gcb_trial_input in[], size_t count, struct gcb_diag *diag)
{
    b->at = 0;
    b->began = gcb_clock();
    begin_group(b, method, in, count);
    if (method->codec != gcb_copy_method.codec)
        return run_group(b, diag);
    if (b->config.compute.device)
        return gcb_diag_set(
            diag, GCB_E_UNSUPPORTED,
            "memcpy runs only on the CPU; the device's copy bandwidth is the field gpu_copy_gbps "
            "of the environment row");
    return run_copy(b, diag);
}

/* ---- inputs that are read again ---- */

bool gcb_original_possible(const struct gcb_source *source, const struct gcb_message_plan *plan)
{
    for (size_t i = 0; i < plan->piece_count; i++) {
        const size_t tensor = plan->pieces[i].tensor;

        if (gcb_source_tensor(source, tensor)->count && !gcb_source_has_parts(source, tensor))
            return false;
    }
    return true;
}

int gcb_original_load(const struct gcb_original *o, struct gcb_diag *diag)
{
    const int err = gcb_layout_read(o->source, o->plan, o->data, diag);

    if (!err && o->zero)
        gcb_nonfinite_zero(o->data, o->plan->count);
    return err;
}

/* Reads the input's elements [from, from + count), which may be in several tensors, into the
 * window. */
static int fill_window(const struct gcb_original *o, uint64_t from, uint64_t count,
                       struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < o->plan->piece_count; i++) {
        const struct gcb_piece *piece = &o->plan->pieces[i];
        const uint64_t end = piece->offset + gcb_source_tensor(o->source, piece->tensor)->count;
        const uint64_t first = from > piece->offset ? from : piece->offset;
        const uint64_t last = from + count < end ? from + count : end;

        if (first < last)
            err = gcb_source_read_part(o->source, piece->tensor, first - piece->offset,
                                       last - first, o->window + (first - from), diag);
    }
    if (!err && o->zero)
        gcb_nonfinite_zero(o->window, count);
    return err;
}

int gcb_original_compare(const struct gcb_original *o, struct gcb_fidelity *f, uint64_t from,
                         uint64_t count, struct gcb_diag *diag)
{
    int err = 0;

    for (uint64_t at = 0; !err && at < count; at += o->window_elements) {
        const uint64_t left = count - at;
        const uint64_t n = left < o->window_elements ? left : o->window_elements;

        err = fill_window(o, from + at, n, diag);
        if (!err)
            gcb_fidelity_add(f, o->window, o->data + from + at, n, o->kernels, o->queue);
    }
    return err;
}
