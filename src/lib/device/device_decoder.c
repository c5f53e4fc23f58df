#include "src/lib/device/device_decoder.h"

#include "src/lib/base/alloc.h"
#include "src/lib/device/workspace.h"

struct gcb_device_decoder {
    struct gcb_device_workspace space;
    struct gcb_device_coder *coder; /* the last message's coder; NULL before the first message */
    bool prefill;
};

int gcb_device_decoder_create(struct gcb_device_decoder **out, const struct gcb_device *device,
                              bool prefill, struct gcb_diag *diag)
{
    struct gcb_device_decoder *d = gcb_alloc_zero(1, sizeof(*d));

    *out = d;
    if (!d)
        return gcb_diag_nomem(diag, sizeof(*d), "a decoder");
    d->space.device = device;
    d->prefill = prefill;
    return 0;
}

void gcb_device_decoder_destroy(struct gcb_device_decoder *d)
{
    if (!d)
        return;
    gcb_device_workspace_fini(&d->space);
    gcb_device_coder_destroy(d->coder);
    gcb_free(d);
}

/* Makes d->coder fit the message: keeps the last coder if it accepts the message. */
static int ensure_coder(struct gcb_device_decoder *d, const struct gcb_frame *frame,
                        const void *message, size_t length, uint64_t most, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = {.max_elements = most ? most : 1};

    if (d->coder && gcb_device_coder_accepts(d->coder, frame))
        return 0;
    gcb_device_coder_destroy(d->coder);
    d->coder = NULL;
    return gcb_device_coder_create_decoder(&d->coder, d->space.device, message, length, &config,
                                           diag);
}

static int ensure_space(struct gcb_device_decoder *d, const struct gcb_frame *frame,
                        struct gcb_diag *diag)
{
    const struct gcb_device_workspace_size size = {.tensor = frame->count * sizeof(float),
                                                   .payload = frame->payload_bytes,
                                                   .scratch = gcb_device_coder_scratch(d->coder)};

    return gcb_device_workspace_reserve(&d->space, &size, diag);
}

int gcb_device_decoder_run(struct gcb_device_decoder *d, const void *message, size_t length,
                           const struct gcb_mview *out, struct gcb_diag *diag)
{
    struct gcb_device_workspace *w = &d->space;
    struct gcb_device_message m = {.i = 0};
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (!err)
        err = ensure_coder(d, &frame, message, length, out->count, diag);
    if (!err && frame.count != out->count)
        err = gcb_diag_set(diag, GCB_E_MISMATCH, "the output and the message have different sizes");
    if (!err)
        err = ensure_space(d, &frame, diag);
    if (err)
        return err;
    m.batch = w->batch;
    err =
        gcb_device_batch_upload(w->batch, w->payload.dev, payload.data, frame.payload_bytes, diag);
    if (!err && d->prefill)
        err = gcb_device_batch_upload(w->batch, w->tensor.dev, out->data,
                                      frame.count * sizeof(float), diag);
    if (err)
        return err;
    gcb_device_batch_begin(w->batch); /* the wait reports failures of queueing */
    err = gcb_device_coder_decode_async(d->coder, &frame, w->payload.dev, w->tensor.dev, &m, diag);
    if (!err)
        err = gcb_device_batch_finish(w->batch, diag);
    if (!err)
        err = gcb_device_coder_decode_finish(d->coder, &m, diag);
    if (!err)
        err = gcb_device_batch_download(w->batch, out->data, w->tensor.dev,
                                        frame.count * sizeof(float), diag);
    return err;
}

const float *gcb_device_decoder_tensor(const struct gcb_device_decoder *d)
{
    return d->space.tensor.dev;
}
