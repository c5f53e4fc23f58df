#include "src/lib/device/device_decoder.h"

#include "src/lib/base/alloc.h"
#include "src/lib/device/device_room.h"

struct gcb_device_decoder {
    struct gcb_device_room room;
    struct gcb_device_coder *coder; /* of the last message; NULL: none */
    bool prefill;
};

int gcb_device_decoder_create(struct gcb_device_decoder **out, const struct gcb_device *device,
                              bool prefill, struct gcb_diag *diag)
{
    struct gcb_device_decoder *d = gcb_alloc_zero(1, sizeof(*d));

    *out = d;
    if (!d)
        return gcb_diag_nomem(diag, sizeof(*d), "a decoder");
    d->room.device = device;
    d->prefill = prefill;
    return 0;
}

void gcb_device_decoder_destroy(struct gcb_device_decoder *d)
{
    if (!d)
        return;
    gcb_device_room_fini(&d->room);
    gcb_device_coder_destroy(d->coder);
    gcb_free(d);
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
    return gcb_device_coder_create_decoder(&d->coder, d->room.device, message, length, &config,
                                           diag);
}

static int ensure_room(struct gcb_device_decoder *d, const struct gcb_frame *frame,
                       struct gcb_diag *diag)
{
    const struct gcb_device_needs needs = {.tensor = frame->count * sizeof(float),
                                           .payload = frame->payload_bytes,
                                           .scratch = gcb_device_coder_scratch(d->coder)};

    return gcb_device_room_take(&d->room, &needs, diag);
}

int gcb_device_decoder_run(struct gcb_device_decoder *d, const void *message, size_t length,
                           const struct gcb_mview *out, struct gcb_diag *diag)
{
    struct gcb_device_room *r = &d->room;
    struct gcb_device_message m = {.i = 0};
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (!err)
        err = ensure_coder(d, &frame, message, length, out->count, diag);
    if (!err && frame.count != out->count)
        err = gcb_diag_set(diag, GCB_E_MISMATCH, "the output has another size than the message");
    if (!err)
        err = ensure_room(d, &frame, diag);
    if (err)
        return err;
    m.batch = r->batch;
    err =
        gcb_device_batch_upload(r->batch, r->payload.dev, payload.data, frame.payload_bytes, diag);
    if (!err && d->prefill)
        err = gcb_device_batch_upload(r->batch, r->tensor.dev, out->data,
                                      frame.count * sizeof(float), diag);
    if (err)
        return err;
    gcb_device_batch_begin(r->batch); /* failures of queueing come with the wait */
    err = gcb_device_coder_decode_async(d->coder, &frame, r->payload.dev, r->tensor.dev, &m, diag);
    if (!err)
        err = gcb_device_batch_finish(r->batch, diag);
    if (!err)
        err = gcb_device_coder_decode_finish(d->coder, &m, diag);
    if (!err)
        err = gcb_device_batch_download(r->batch, out->data, r->tensor.dev,
                                        frame.count * sizeof(float), diag);
    return err;
}
