#include "src/bench/promises_device.h"

#include "src/base/alloc.h"
#include "src/cuda/device_decoder.h"

/* What one message takes on the device. Starts zeroed. */
struct work {
    const struct gcb_device *device;
    struct gcb_device_coder *coder;
    struct gcb_device_batch *batch;
    void *tensor, *payload;
    struct gcb_device_message m;
};

static void release(struct work *w)
{
    gcb_device_batch_destroy(w->batch);
    gcb_device_coder_destroy(w->coder);
    w->device->module->free(w->tensor);
    w->device->module->free(w->payload);
}

static int start(struct work *w, const struct gcb_promise_job *job, struct gcb_diag *diag)
{
    const uint64_t bytes = job->config.env.count * sizeof(float);
    struct gcb_device_batch_config config = {.messages = 1};
    int err = gcb_device_coder_create(&w->coder, w->device, job->method, &job->config, diag);

    if (err)
        return err;
    config.scratch = gcb_device_coder_scratch(w->coder);
    err = gcb_device_batch_create(&w->batch, w->device, &config, diag);
    if (!err)
        err = w->device->module->alloc(&w->tensor, bytes, diag);
    if (!err)
        err = w->device->module->alloc(&w->payload, gcb_device_coder_payload_bound(w->coder), diag);
    w->m = (struct gcb_device_message){
        .batch = w->batch, .in_dev = w->tensor, .payload_dev = w->payload};
    return err ? err : gcb_device_batch_upload(w->batch, w->tensor, job->x, bytes, diag);
}

static int encode_once(struct work *w, const struct gcb_step *at, struct gcb_frame *frame,
                       struct gcb_diag *diag)
{
    int err;

    gcb_device_batch_begin(w->batch); /* failures of queueing come with the wait */
    err = gcb_device_coder_encode_async(w->coder, at, &w->m, diag);
    if (!err)
        err = gcb_device_batch_finish(w->batch, diag);
    return err ? err : gcb_device_coder_encode_finish(w->coder, &w->m, frame, diag);
}

static int encode(void *ctx, const struct gcb_promise_job *job, struct gcb_wbuf *out,
                  struct gcb_diag *diag)
{
    struct work w = {.device = ctx};
    struct gcb_frame frame;
    int err = start(&w, job, diag);

    for (unsigned i = 0; !err && i < job->repeats; i++)
        err = encode_once(&w, &job->at, &frame, diag);
    if (!err)
        err = gcb_device_coder_fetch(w.coder, &w.m, &frame, out, diag);
    release(&w);
    return err;
}

/* The CPU's decoder knows the parts of what it has decoded. */
static int find_parts(const struct gcb_promise_job *job, const void *message, size_t length,
                      struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    const uint64_t n = job->config.env.count;
    const struct gcb_mview view = {gcb_alloc_array(n ? n : 1, sizeof(float)), n};
    int err;

    if (!view.data)
        return gcb_diag_nomem(diag, n * sizeof(float), "a decoded message");
    err = gcb_promise_coders.decode(NULL, job, message, length, &view, parts, diag);
    gcb_free(view.data);
    return err;
}

static int decode(void *ctx, const struct gcb_promise_job *job, const void *message, size_t length,
                  const struct gcb_mview *out, struct gcb_message_parts *parts,
                  struct gcb_diag *diag)
{
    struct gcb_device_decoder *d = NULL;
    int err = gcb_device_decoder_create(&d, ctx, true, diag);

    if (!err)
        err = gcb_device_decoder_run(d, message, length, out, diag);
    gcb_device_decoder_destroy(d);
    return err || !parts ? err : find_parts(job, message, length, parts, diag);
}

struct gcb_promise_trip gcb_promise_device(struct gcb_device *device)
{
    return (struct gcb_promise_trip){
        .encode = encode, .decode = decode, .ctx = device, .device = true};
}
