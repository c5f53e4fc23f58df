#include "src/cuda/device_decoder.h"

#include "src/base/alloc.h"

/* Device memory that grows. */
struct area {
    void *dev;
    uint64_t bytes;
};

struct gcb_device_decoder {
    const struct gcb_device *device;
    struct gcb_device_coder *coder; /* of the last message; NULL: none */
    struct gcb_device_batch *batch;
    uint64_t scratch; /* that the batch has */
    struct area payload, tensor;
    bool prefill;
};

int gcb_device_decoder_create(struct gcb_device_decoder **out, const struct gcb_device *device,
                              bool prefill, struct gcb_diag *diag)
{
    struct gcb_device_decoder *d = gcb_alloc_zero(1, sizeof(*d));

    *out = d;
    if (!d)
        return gcb_diag_nomem(diag, sizeof(*d), "a decoder");
    d->device = device;
    d->prefill = prefill;
    return 0;
}

void gcb_device_decoder_destroy(struct gcb_device_decoder *d)
{
    if (!d)
        return;
    gcb_device_batch_destroy(d->batch);
    gcb_device_coder_destroy(d->coder);
    d->device->module->free(d->payload.dev);
    d->device->module->free(d->tensor.dev);
    gcb_free(d);
}

static int ensure(const struct gcb_device_decoder *d, struct area *a, uint64_t bytes,
                  struct gcb_diag *diag)
{
    int err;

    if (a->dev && a->bytes >= bytes)
        return 0;
    d->device->module->free(a->dev); /* first, so that the old and the new never add up */
    *a = (struct area){0};
    err = d->device->module->alloc(&a->dev, bytes, diag);
    a->bytes = err ? 0 : bytes;
    return err;
}

static int ensure_batch(struct gcb_device_decoder *d, struct gcb_diag *diag)
{
    const struct gcb_device_batch_config config = {.scratch = gcb_device_coder_scratch(d->coder)};
    int err;

    if (d->batch && d->scratch >= config.scratch)
        return 0;
    gcb_device_batch_destroy(d->batch);
    d->batch = NULL;
    err = gcb_device_batch_create(&d->batch, d->device, &config, diag);
    d->scratch = err ? 0 : config.scratch;
    return err;
}

/* A coder for this message: the last one, if it takes it. */
static int ensure_coder(struct gcb_device_decoder *d, const struct gcb_frame *frame,
                        const void *message, size_t length, uint64_t most, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = {.max_elements = most ? most : 1};

    if (d->coder && gcb_device_coder_accepts(d->coder, frame))
        return 0;
    gcb_device_coder_destroy(d->coder);
    d->coder = NULL;
    return gcb_device_coder_create_decoder(&d->coder, d->device, message, length, &config, diag);
}

static int ensure_memory(struct gcb_device_decoder *d, const struct gcb_frame *frame,
                         struct gcb_diag *diag)
{
    int err = ensure_batch(d, diag);

    if (!err)
        err = ensure(d, &d->payload, frame->payload_bytes, diag);
    return err ? err : ensure(d, &d->tensor, frame->count * sizeof(float), diag);
}

int gcb_device_decoder_run(struct gcb_device_decoder *d, const void *message, size_t length,
                           const struct gcb_mview *out, struct gcb_diag *diag)
{
    struct gcb_device_message m = {.i = 0};
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (!err)
        err = ensure_coder(d, &frame, message, length, out->count, diag);
    if (!err && frame.count != out->count)
        err = gcb_diag_set(diag, GCB_E_MISMATCH, "the output has another size than the message");
    if (!err)
        err = ensure_memory(d, &frame, diag);
    if (err)
        return err;
    m.batch = d->batch;
    err =
        gcb_device_batch_upload(d->batch, d->payload.dev, payload.data, frame.payload_bytes, diag);
    if (!err && d->prefill)
        err = gcb_device_batch_upload(d->batch, d->tensor.dev, out->data,
                                      frame.count * sizeof(float), diag);
    if (err)
        return err;
    gcb_device_batch_begin(d->batch); /* failures of queueing come with the wait */
    err = gcb_device_coder_decode_async(d->coder, &frame, d->payload.dev, d->tensor.dev, &m, diag);
    if (!err)
        err = gcb_device_batch_finish(d->batch, diag);
    if (!err)
        err = gcb_device_coder_decode_finish(d->coder, &m, diag);
    if (!err)
        err = gcb_device_batch_download(d->batch, out->data, d->tensor.dev,
                                        frame.count * sizeof(float), diag);
    return err;
}
