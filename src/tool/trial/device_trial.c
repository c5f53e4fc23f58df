#include "src/tool/trial/device_trial.h"

#include <math.h>
#include <string.h>

#include "kernels/cuda/align.h"
#include "src/lib/base/alloc.h"
#include "src/lib/coder/device_coder.h"
#include "src/tool/base/clock.h"
#include "src/tool/metric/device_fidelity.h"
#include "src/tool/trial/device_check.h"

/* One message of the current group. */
struct item {
    const struct gcb_trial_input *in;
    const struct gcb_method *method; /* identity for a dense message */
    struct gcb_coder_config config;
    struct gcb_frame frame;
    struct gcb_wbuf wire; /* the whole message, in host memory */
    struct gcb_tally tally;
    double share; /* share of the group's times that this message gets */
};

struct gcb_device_bench {
    const struct gcb_device_module *module;
    struct gcb_device_event *from, *to;
    /* larger than the device's caches; empty: the caches stay warm */
    struct gcb_device_buffer flush;
    struct gcb_samples encode, decode; /* times of the group, by the host's clock */
    struct gcb_samples kernel;         /* times of the last measurement, by the device's events */
    struct gcb_stats encode_kernel, decode_kernel; /* times by the device's events */
    struct gcb_device_clock *clock;                /* NULL: the clock cannot be read */
    uint8_t *wires;                                /* all messages of a group, in host memory */
    uint64_t wires_size;

    /* the current group */
    struct gcb_trial_bench *b;
    const struct gcb_trial_taker *taker;
    struct gcb_step at;
    size_t count;
    struct item items[GCB_TRIAL_GROUP];
    struct gcb_coder *coders[GCB_TRIAL_GROUP];
    struct gcb_device_message messages[GCB_TRIAL_GROUP];
    struct gcb_device_received received[GCB_TRIAL_GROUP];
    uint64_t clock_mhz; /* lowest clock that was read; 0: not known */
    uint64_t encode_launches, decode_launches;
    uint64_t launched; /* kernels started before the current call */
    uint64_t launches; /* kernels started by the current call */
    bool timed; /* the current call is timed, and its time by the events is not collected yet */
};

/* ---- created once ---- */

/* Returns twice the size of the L2 cache: filling that much memory evicts everything. */
static uint64_t flush_bytes(const struct gcb_device *device)
{
    const uint64_t least = UINT64_C(1) << 20, twice = 2 * device->facts.l2_bytes;

    return twice > least ? twice : least;
}

static int create_bench(struct gcb_device_bench **out, const struct gcb_device *device,
                        const struct gcb_timing *timing, struct gcb_diag *diag)
{
    struct gcb_device_bench *d = gcb_alloc_zero(1, sizeof(*d));
    int err;

    if (!d)
        return gcb_diag_nomem(diag, sizeof(*d), "trials on a device");
    d->module = device->module;
    d->clock = device->module->clock_open(device->index);
    err = device->module->event_create(&d->from, diag);
    if (!err)
        err = device->module->event_create(&d->to, diag);
    if (!err && timing->evict) {
        d->flush.bytes = flush_bytes(device);
        err = device->module->alloc(&d->flush.dev, d->flush.bytes, diag);
    }
    if (!err)
        err = gcb_samples_init(&d->encode, timing, diag);
    if (!err)
        err = gcb_samples_init(&d->decode, timing, diag);
    if (!err)
        err = gcb_samples_init(&d->kernel, timing, diag);
    if (err)
        gcb_device_bench_destroy(d);
    else
        *out = d;
    return err;
}

static void release_coders(struct gcb_device_bench *d)
{
    for (size_t i = 0; i < GCB_TRIAL_GROUP; i++) {
        gcb_coder_destroy(d->coders[i]);
        d->coders[i] = NULL;
    }
}

void gcb_device_bench_destroy(struct gcb_device_bench *d)
{
    if (!d)
        return;
    release_coders(d);
    d->module->event_destroy(d->from);
    d->module->event_destroy(d->to);
    d->module->free(d->flush.dev);
    d->module->clock_close(d->clock);
    gcb_samples_fini(&d->encode);
    gcb_samples_fini(&d->decode);
    gcb_samples_fini(&d->kernel);
    gcb_free(d->wires);
    gcb_free(d);
}

/* ---- coders and memory ---- */

static int make_encoder(struct gcb_coder **out, struct gcb_trial_bench *b,
                        const struct gcb_method *method, const struct gcb_trial_input *in,
                        struct gcb_diag *diag)
{
    struct gcb_coder_config config = gcb_trial_coder_config(b, in);

    config.place = &b->place;
    if (in->raw) /* the encoder finds infinities and NaNs, and then sends the message raw */
        config.nonfinite = GCB_NONFINITE_RAW;
    return gcb_coder_create(out, gcb_trial_method(method, in->plan), &config, diag);
}

size_t gcb_device_trial_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                              const struct gcb_trial_input in[], size_t count)
{
    struct gcb_coder *first = NULL, *next = NULL;
    size_t n = 1;

    if (count < 2 || (gcb_method_caps(method) & GCB_CAP_LIBRARY_MATH) ||
        make_encoder(&first, b, method, &in[0], NULL))
        return 1;
    for (; gcb_device_group_takes(first, first) && n < count && n < GCB_TRIAL_GROUP; n++) {
        const bool takes =
            !make_encoder(&next, b, method, &in[n], NULL) && gcb_device_group_takes(first, next);

        gcb_coder_destroy(next);
        next = NULL;
        if (!takes)
            break;
    }
    gcb_coder_destroy(first);
    return n;
}

static uint64_t tensor_bytes(const struct item *item)
{
    return gcb_cuda_align256(item->config.env.count * sizeof(float));
}

/* Room for the payload, and later for the input tensor, with which the decoded tensor is compared. */
static uint64_t payload_bytes(const struct item *item, const struct gcb_coder *coder)
{
    const uint64_t payload = gcb_cuda_align256(gcb_device_coder_max_payload(coder));
    const uint64_t tensor = tensor_bytes(item);

    return payload > tensor ? payload : tensor;
}

/* Takes device memory for the current coders, and sets where each message is in it. */
static int take_space(struct gcb_device_bench *d, struct gcb_diag *diag)
{
    struct gcb_place *w = &d->b->place;
    struct gcb_place_size size = {.scratch = gcb_device_group_scratch(d->coders, d->count),
                                  .messages = (unsigned)d->count};
    uint8_t *tensor, *payload;
    int err;

    for (size_t i = 0; i < d->count; i++) {
        const uint64_t measuring =
            gcb_device_fidelity_scratch(w->device, d->items[i].config.env.count);

        size.tensor += tensor_bytes(&d->items[i]);
        size.payload += payload_bytes(&d->items[i], d->coders[i]);
        size.scratch = size.scratch > measuring ? size.scratch : measuring;
    }
    err = gcb_place_reserve(w, &size, diag);
    tensor = w->tensor.dev;
    payload = w->payload.dev;
    for (size_t i = 0; !err && i < d->count; i++) {
        d->messages[i] = (struct gcb_device_message){.batch = w->batch,
                                                     .i = (unsigned)i,
                                                     .in_dev = (float *)(void *)tensor,
                                                     .payload_dev = payload};
        d->received[i] = (struct gcb_device_received){.frame = &d->items[i].frame,
                                                      .payload_dev = payload,
                                                      .out_dev = (float *)(void *)tensor};
        tensor += tensor_bytes(&d->items[i]);
        payload += payload_bytes(&d->items[i], d->coders[i]);
    }
    return err;
}

/* Host memory for all messages. */
static int take_wires(struct gcb_device_bench *d, struct gcb_diag *diag)
{
    uint64_t bytes = 0, at = 0;

    for (size_t i = 0; i < d->count; i++)
        bytes += gcb_coder_bound(d->coders[i]);
    if (bytes > d->wires_size) {
        gcb_free(d->wires);
        d->wires_size = 0;
        d->wires = gcb_alloc(bytes);
        if (!d->wires)
            return gcb_diag_nomem(diag, bytes, "messages");
        d->wires_size = bytes;
    }
    for (size_t i = 0; i < d->count; i++) {
        d->items[i].wire =
            (struct gcb_wbuf){.data = d->wires + at, .cap = gcb_coder_bound(d->coders[i])};
        at += d->items[i].wire.cap;
    }
    return 0;
}

/* Calls `step` for each message, with the index of the message in b->at. */
static int for_each(struct gcb_device_bench *d,
                    int (*step)(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag),
                    struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < d->count; i++) {
        d->b->at = i;
        err = step(d, i, diag);
    }
    return err;
}

/* ---- timing ---- */

/* Stores the time of the last call by the device's events. The work of that call has ended. */
static void collect(struct gcb_device_bench *d)
{
    double seconds;

    if (d->timed && d->kernel.count < d->kernel.cap &&
        !d->module->event_seconds(&seconds, d->from, d->to, NULL)) /* the stream reports errors */
        d->kernel.seconds[d->kernel.count++] = seconds;
    d->timed = false;
}

static struct gcb_device_stream *stream_of(struct gcb_device_bench *d)
{
    return gcb_device_batch_stream(d->b->place.batch);
}

static void prepare_call(void *job)
{
    struct gcb_device_bench *d = job;

    collect(d);
    d->timed = true;
    if (!d->flush.bytes)
        return;
    d->module->zero(stream_of(d), d->flush.dev, d->flush.bytes);
    d->module->wait(stream_of(d), NULL); /* the stream keeps an error for the next wait */
}

static void begin_call(struct gcb_device_bench *d)
{
    gcb_device_batch_begin(d->b->place.batch); /* gcb_device_batch_finish reports its errors */
    d->launched = d->module->launches(stream_of(d));
    d->module->event_record(d->from, stream_of(d));
}

/* Sets the end of the timed interval, and of the count of launches, after the work queued so far. */
static void mark_end(struct gcb_device_bench *d)
{
    d->module->event_record(d->to, stream_of(d));
    d->launches = d->module->launches(stream_of(d)) - d->launched;
}

/* Waits for the queued work. If the device failed, the stream's message says more than the message of `err`. */
static int end_call(struct gcb_device_bench *d, int err, struct gcb_diag *diag)
{
    int ended;

    mark_end(d);
    ended = err && err != GCB_E_DEVICE ? err : gcb_device_batch_finish(d->b->place.batch, diag);
    return ended ? ended : err;
}

static int finish_encode(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag)
{
    return gcb_device_coder_encode_finish(d->coders[i], &d->messages[i], &d->items[i].frame, diag);
}

static int finish_decode(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag)
{
    return gcb_device_coder_decode_finish(d->coders[i], &d->messages[i], diag);
}

static int encode_once(void *job, struct gcb_diag *diag)
{
    struct gcb_device_bench *d = job;
    bool stored = false;
    int err;

    begin_call(d);
    err = gcb_device_group_encode_async(d->coders, &d->at, d->messages, d->count, diag);
    err = end_call(d, err, diag);
    if (!err)
        err = for_each(d, finish_encode, diag);
    for (size_t i = 0; !err && i < d->count; i++)
        stored |= d->items[i].frame.flags & GCB_WIRE_STORED;
    if (err || !stored)
        return err;
    mark_end(d); /* finish_encode has queued the tensors that are sent raw */
    return d->module->wait(stream_of(d), diag);
}

static int decode_once(void *job, struct gcb_diag *diag)
{
    struct gcb_device_bench *d = job;
    int err;

    begin_call(d);
    err = gcb_device_group_decode_async(d->coders, d->received, d->messages, d->count, diag);
    err = end_call(d, err, diag);
    return err ? err : for_each(d, finish_decode, diag);
}

static int measure(struct gcb_device_bench *d, struct gcb_samples *samples,
                   struct gcb_stats *kernel, int (*run)(void *job, struct gcb_diag *diag),
                   struct gcb_diag *diag)
{
    const struct gcb_operation op = {.run = run, .prepare = prepare_call, .job = d};
    struct gcb_timing timing = d->b->config.timing;
    uint64_t mhz;
    int err;

    timing.evict = NULL; /* prepare_call flushes the device's caches instead of the host's */
    d->kernel.count = 0;
    err = gcb_measure(samples, &timing, &op, diag);
    collect(d);
    gcb_stats_of(kernel, d->kernel.seconds, d->kernel.count, d->kernel.scratch);
    mhz = err ? 0 : d->module->clock_mhz(d->clock); /* right after the last timed call */
    if (mhz && (!d->clock_mhz || mhz < d->clock_mhz))
        d->clock_mhz = mhz;
    return err;
}

/* ---- encode and decode ---- */

static int upload_tensor(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag)
{
    struct item *item = &d->items[i];
    const double start = gcb_clock();
    const int err =
        gcb_device_batch_upload(d->b->place.batch, d->messages[i].in_dev, item->in->data,
                                item->in->plan->count * sizeof(float), diag);

    item->tally.encode.transfer = gcb_clock() - start;
    return err;
}

static int fetch_message(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag)
{
    struct item *item = &d->items[i];
    const double start = gcb_clock();
    const int err =
        gcb_device_coder_fetch(d->coders[i], &d->messages[i], &item->frame, &item->wire, diag);

    item->tally.encode.transfer += gcb_clock() - start;
    item->tally.clamped = item->in->raw ? 0 : gcb_coder_clamped(d->coders[i]);
    if (!err)
        gcb_message_seal(item->wire.data, item->wire.len, 0);
    return err;
}

static struct gcb_device_check check_of(const struct gcb_device_bench *d, const struct item *item)
{
    struct gcb_trial_bench *b = d->b;

    return (struct gcb_device_check){
        .method = item->method,
        .in = {.data = item->in->data, .count = item->in->plan->count},
        .message = &item->wire,
        .expected = &b->check,
        .decoded = b->decoded,
        .scratch = b->check_decoded,
        .coders = b->coders,
        .kernels = b->config.kernels,
        .queue = b->config.queue,
    };
}

/* Encodes on the CPU, into b->check, and compares the messages. Some figures of the tally come from
 * the CPU's encoder. */
static int check_message(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag)
{
    struct gcb_trial_bench *b = d->b;
    struct item *item = &d->items[i];
    const struct gcb_device_check check = check_of(d, item);
    struct gcb_encode_job job = {.at = d->at, .in = check.in, .raw = item->in->raw};
    struct gcb_encode_call call = {.job = &job, .message = &b->check};
    int err = gcb_coders_encoder(b->coders, &job.coder, item->method, &item->config, diag);

    if (!err)
        err = gcb_coders_room(&b->check_room, &b->check, job.coder, job.raw, diag);
    if (!err)
        err = gcb_encode_operation(&call).run(&call, diag);
    if (err)
        return err;
    gcb_message_seal(b->check.data, b->check.len, 0);
    gcb_tally_asked(&item->tally, job.coder, item->method->codec);
    return gcb_device_check_message(&check, diag);
}

/* Replaces coder i by a decoder made from the message in host memory, as a receiver would make it. */
static int make_decoder(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag)
{
    struct item *item = &d->items[i];
    const struct gcb_coder_config config = {.place = &d->b->place,
                                            .max_elements = item->config.max_elements};

    gcb_coder_destroy(d->coders[i]);
    d->coders[i] = NULL;
    return gcb_coder_create_decoder(&d->coders[i], item->wire.data, item->wire.len, &config, diag);
}

/* Fills the output with NaNs, so that a missing element is noticed, and uploads the payload. */
static int upload_message(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag)
{
    struct item *item = &d->items[i];
    const uint64_t bytes = item->in->plan->count * sizeof(float);
    struct gcb_rbuf payload;
    double start;
    int err = gcb_frame_parse(&item->frame, &payload, item->wire.data, item->wire.len, diag);

    if (err)
        return err;
    if (bytes)
        memset(d->b->decoded, 0xff, bytes);
    err = gcb_device_batch_upload(d->b->place.batch, d->messages[i].in_dev, d->b->decoded, bytes,
                                  diag);
    start = gcb_clock();
    if (!err)
        err = gcb_device_batch_upload(d->b->place.batch, d->messages[i].payload_dev, payload.data,
                                      item->frame.payload_bytes, diag);
    item->tally.decode.transfer = gcb_clock() - start;
    return err;
}

static int decode_group(struct gcb_device_bench *d, struct gcb_diag *diag)
{
    int err = for_each(d, make_decoder, diag);

    if (!err)
        err = take_space(d, diag);
    if (!err)
        err = for_each(d, upload_message, diag);
    if (!err)
        err = measure(d, &d->decode, &d->decode_kernel, decode_once, diag);
    d->decode_launches = d->launches;
    return gcb_device_check_decoded(err, diag);
}

/* Downloads the decoded tensor to b->decoded, and measures its error on the device. */
static int compare(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag)
{
    struct item *item = &d->items[i];
    const uint64_t n = item->in->plan->count;
    float *y = d->messages[i].in_dev;
    float *x = (float *)(void *)d->messages[i].payload_dev; /* replaces the payload */
    const double start = gcb_clock();
    int err =
        gcb_device_batch_download(d->b->place.batch, d->b->decoded, y, n * sizeof(float), diag);

    item->tally.decode.transfer += gcb_clock() - start;
    if (!err)
        err =
            gcb_device_batch_upload(d->b->place.batch, x, item->in->data, n * sizeof(float), diag);
    return err ? err
               : gcb_device_fidelity_add(&item->tally.fidelity, d->b->place.batch, x, y, n, diag);
}

/* Sets the times of message i to its share of the group's times. */
static void tally_times(struct gcb_device_bench *d, size_t i)
{
    const double share = d->items[i].share;
    struct gcb_tally *t = &d->items[i].tally;

    gcb_samples_scale(&d->b->encode, &d->encode, share);
    gcb_samples_scale(&d->b->decode, &d->decode, share);
    gcb_tally_times(t, &d->b->encode, &d->b->decode);
    gcb_times_set_kernel(&t->encode, &d->encode_kernel, share, d->encode_launches);
    gcb_times_set_kernel(&t->decode, &d->decode_kernel, share, d->decode_launches);
    t->on_device = 1;
    t->group = d->count;
    t->follows = i > 0;
    t->clock_mhz = d->clock_mhz;
}

/* ---- a trial ---- */

static void begin_group(struct gcb_device_bench *d, struct gcb_trial_bench *b,
                        const struct gcb_method *method, const struct gcb_trial_input in[],
                        size_t count)
{
    double bytes = 0.0;

    d->b = b;
    d->count = count;
    d->at = (struct gcb_step){.step = in[0].plan->step, .worker = in[0].plan->worker};
    d->clock_mhz = 0;
    for (size_t i = 0; i < count; i++)
        bytes += (double)in[i].plan->input_bytes;
    for (size_t i = 0; i < count; i++)
        d->items[i] = (struct item){
            .in = &in[i],
            .method = gcb_trial_method(method, in[i].plan),
            .config = gcb_trial_coder_config(b, &in[i]),
            .tally = gcb_trial_tally(&in[i]),
            .share = bytes > 0.0 ? (double)in[i].plan->input_bytes / bytes : 1.0 / (double)count,
        };
}

static int create_encoder(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag)
{
    return make_encoder(&d->coders[i], d->b, d->items[i].method, d->items[i].in, diag);
}

static int encode_group(struct gcb_device_bench *d, struct gcb_diag *diag)
{
    int err = for_each(d, create_encoder, diag);

    if (!err)
        err = take_wires(d, diag);
    if (!err)
        err = take_space(d, diag);
    if (!err)
        err = for_each(d, upload_tensor, diag);
    if (!err)
        err = measure(d, &d->encode, &d->encode_kernel, encode_once, diag);
    d->encode_launches = d->launches;
    if (!err)
        err = for_each(d, fetch_message, diag);
    return err ? err : for_each(d, check_message, diag);
}

/* Checks a message and passes it to the taker. */
static int finish_message(struct gcb_device_bench *d, size_t i, struct gcb_diag *diag)
{
    struct gcb_tally *tally = &d->items[i].tally;
    const struct gcb_device_check check = check_of(d, &d->items[i]);
    struct gcb_message_parts parts;
    int err = compare(d, i, diag);

    if (!err)
        err = gcb_device_check_values(&check, &tally->fidelity, &parts, diag);
    if (!err)
        err = gcb_device_check_fidelity(&check, &tally->fidelity, diag);
    if (!err)
        err = gcb_tally_parts(tally, &parts, diag);
    if (err)
        return err;
    tally_times(d, i);
    d->b->message = d->items[i].wire;
    return d->taker->take(d->taker->ctx, i, tally, diag);
}

int gcb_device_trial(struct gcb_trial_bench *b, const struct gcb_method *method,
                     const struct gcb_trial_input in[], size_t count,
                     const struct gcb_trial_taker *taker, struct gcb_diag *diag)
{
    int err = 0;

    b->at = 0;
    if (!b->on_device)
        err = create_bench(&b->on_device, b->config.device, &b->config.timing, diag);
    if (err)
        return err;
    begin_group(b->on_device, b, method, in, count);
    b->on_device->taker = taker;
    err = encode_group(b->on_device, diag);
    if (!err)
        err = decode_group(b->on_device, diag);
    if (!err)
        err = for_each(b->on_device, finish_message, diag);
    if (!err) {
        release_coders(b->on_device);
        return 0;
    }
    gcb_place_fini(&b->place); /* the stream keeps the error or queued work */
    gcb_device_bench_destroy(b->on_device);
    b->on_device = NULL;
    return err;
}
