#include "src/tool/verify/device_backend.h"

#include "src/lib/base/alloc.h"
#include "src/lib/device/device_decoder.h"
#include "src/lib/device/workspace.h"

/* One message on the device. Starts zeroed, except for the workspace's device. */
struct work {
    struct gcb_device_workspace space;
    struct gcb_device_coder *coder;
    struct gcb_device_message m;
};

static void release(struct work *w)
{
    gcb_device_workspace_fini(&w->space);
    gcb_device_coder_destroy(w->coder);
}

static int start(struct work *w, const struct gcb_promise_job *job, struct gcb_diag *diag)
{
    struct gcb_device_workspace_size size = {.tensor = job->config.env.count * sizeof(float)};
    int err = gcb_device_coder_create(&w->coder, w->space.device, job->method, &job->config, diag);

    if (err)
        return err;
    size.payload = gcb_device_coder_max_payload(w->coder);
    size.scratch = gcb_device_coder_scratch(w->coder);
    err = gcb_device_workspace_reserve(&w->space, &size, diag);
    w->m = (struct gcb_device_message){.batch = w->space.batch,
                                       .in_dev = w->space.tensor.dev,
                                       .payload_dev = w->space.payload.dev};
    return err ? err
               : gcb_device_batch_upload(w->space.batch, w->space.tensor.dev, job->x, size.tensor,
                                         diag);
}

static int encode_once(struct work *w, const struct gcb_step *at, struct gcb_frame *frame,
                       struct gcb_diag *diag)
{
    int err;

    gcb_device_batch_begin(w->space.batch); /* gcb_device_batch_finish reports its errors */
    err = gcb_device_coder_encode_async(w->coder, at, &w->m, diag);
    if (!err)
        err = gcb_device_batch_finish(w->space.batch, diag);
    return err ? err : gcb_device_coder_encode_finish(w->coder, &w->m, frame, diag);
}

static int encode(void *ctx, const struct gcb_promise_job *job, struct gcb_wbuf *out,
                  struct gcb_diag *diag)
{
    struct work w = {.space.device = ctx};
    struct gcb_frame frame;
    int err = start(&w, job, diag);

    for (unsigned i = 0; !err && i < job->repeats; i++)
        err = encode_once(&w, &job->at, &frame, diag);
    if (!err)
        err = gcb_device_coder_fetch(w.coder, &w.m, &frame, out, diag);
    release(&w);
    return err;
}

/* Finds the parts of a message with the CPU's decoder, because a device's decoder does not describe them. */
static int find_parts(const struct gcb_promise_job *job, const void *message, size_t length,
                      struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    const uint64_t n = job->config.env.count;
    const struct gcb_mview view = {gcb_alloc_array(n ? n : 1, sizeof(float)), n};
    int err;

    if (!view.data)
        return gcb_diag_nomem(diag, n * sizeof(float), "a decoded message");
    err = gcb_promise_cpu.decode(NULL, job, message, length, &view, parts, diag);
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

struct gcb_promise_backend gcb_promise_device_backend(struct gcb_device *device)
{
    return (struct gcb_promise_backend){
        .encode = encode, .decode = decode, .ctx = device, .device = true};
}
