#include "src/tool/replay/replay_device.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/device/device_coder.h"
#include "src/lib/device/device_decoder.h"
#include "src/lib/memory/device_memory.h"

struct gcb_replay_device {
    const struct gcb_device *device;
    struct gcb_device_batch *batch; /* work on one message; memories use its stream too */
    float *gradient_dev;
    uint8_t *payload_dev;
    uint64_t payload_bytes;
    struct gcb_device_decoder *decoder;
    struct gcb_coders *coders; /* the CPU's decoders, which check the message */
    struct gcb_wbuf wire;      /* the message, copied from the device */
    float *copy;               /* copy of a device array, or scratch */
};

int gcb_replay_device_create(struct gcb_replay_device **out, const struct gcb_device *device,
                             uint64_t largest, struct gcb_diag *diag)
{
    const struct gcb_device_batch_config config = {.messages = 1};
    struct gcb_replay_device *d = gcb_alloc_zero(1, sizeof(*d));
    void *gradient = NULL;
    int err;

    *out = d;
    if (!d)
        return gcb_diag_nomem(diag, sizeof(*d), "a replay on a device");
    d->device = device;
    d->copy = gcb_alloc_array(largest ? largest : 1, sizeof(*d->copy));
    if (!d->copy)
        return gcb_diag_nomem(diag, largest * sizeof(*d->copy), "the largest message");
    err = gcb_coders_create(&d->coders, largest, diag);
    if (!err)
        err = gcb_device_batch_create(&d->batch, device, &config, diag);
    if (!err)
        err = gcb_device_decoder_create(&d->decoder, device, true, diag);
    if (!err)
        err = device->module->alloc(&gradient, largest * sizeof(float), diag);
    d->gradient_dev = gradient;
    return err;
}

void gcb_replay_device_destroy(struct gcb_replay_device *d)
{
    if (!d)
        return;
    gcb_device_batch_destroy(d->batch);
    gcb_device_decoder_destroy(d->decoder);
    gcb_coders_destroy(d->coders);
    d->device->module->free(d->gradient_dev);
    d->device->module->free(d->payload_dev);
    gcb_free(d->wire.data);
    gcb_free(d->copy);
    gcb_free(d);
}

int gcb_replay_device_start(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                            const struct gcb_memory_params *params, uint64_t count,
                            uint32_t workers, struct gcb_diag *diag)
{
    return gcb_device_memory_create(&w->memory, d->batch, params, count, workers, diag);
}

void gcb_replay_device_forget(struct gcb_replay_device_worker *w)
{
    gcb_device_coder_destroy(w->encoder);
    w->encoder = NULL;
}

void gcb_replay_device_end(struct gcb_replay_device_worker *w)
{
    gcb_device_memory_destroy(w->memory); /* first, because it waits for work with the encoder */
    gcb_replay_device_forget(w);
}

static int grow_payload(struct gcb_replay_device *d, uint64_t bytes, struct gcb_diag *diag)
{
    void *payload = NULL;
    int err;

    if (d->payload_dev && bytes <= d->payload_bytes)
        return 0;
    d->device->module->free(d->payload_dev);
    d->payload_dev = NULL;
    err = d->device->module->alloc(&payload, bytes, diag);
    d->payload_dev = payload;
    d->payload_bytes = bytes;
    return err;
}

static int grow_wire(struct gcb_replay_device *d, uint64_t bytes, struct gcb_diag *diag)
{
    if (bytes <= d->wire.cap)
        return 0;
    gcb_free(d->wire.data);
    d->wire = (struct gcb_wbuf){.data = gcb_alloc(bytes)};
    if (!d->wire.data)
        return gcb_diag_nomem(diag, bytes, "a message");
    d->wire.cap = bytes;
    return 0;
}

int gcb_replay_device_encoder(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                              const struct gcb_method *method,
                              const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    int err = gcb_device_coder_create(&w->encoder, d->device, method, config, diag);

    if (!err)
        err = gcb_device_batch_reserve(d->batch, gcb_device_coder_scratch(w->encoder), diag);
    if (!err)
        err = grow_payload(d, gcb_device_coder_max_payload(w->encoder), diag);
    return err ? err : grow_wire(d, gcb_device_coder_bound(w->encoder), diag);
}

/* Are the arrays equal bit for bit? Any two NaNs are equal, because processors give different NaNs for the same sum. */
static bool same_floats(const float *a, const float *b, uint64_t n)
{
    uint64_t i = 0;

    if (n == 0 || memcmp(a, b, n * sizeof(*a)) == 0)
        return true;
    while (i < n && (memcmp(&a[i], &b[i], sizeof(*a)) == 0 || (isnan(a[i]) && isnan(b[i]))))
        i++;
    return i == n;
}

/* Compares the device's array `dev` with the CPU's. Either both are NULL or they are equal; otherwise this fails. */
static int compare(struct gcb_replay_device *d, const float *dev, const float *expected, uint64_t n,
                   const char *what, struct gcb_diag *diag)
{
    int err = 0;

    if (dev)
        err = gcb_device_batch_download(d->batch, d->copy, dev, n * sizeof(float), diag);
    if (err)
        return err;
    if (!dev == !expected && (!dev || same_floats(d->copy, expected, n)))
        return 0;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                        "the device's memory %s other values than the CPU's", what);
}

int gcb_replay_device_compensate(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                                 const struct gcb_view *gradient, const float *expected,
                                 struct gcb_diag *diag)
{
    const int err = gcb_device_batch_upload(d->batch, d->gradient_dev, gradient->data,
                                            gradient->count * sizeof(float), diag);

    if (err)
        return err;
    w->encoded_dev = gcb_device_memory_compensate(w->memory, d->gradient_dev);
    return compare(d, w->encoded_dev, expected, gradient->count, "gives", diag);
}

int gcb_replay_device_encode(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                             const struct gcb_step *at, struct gcb_device_check *check,
                             uint64_t *clamped, struct gcb_diag *diag)
{
    const struct gcb_device_message m = {
        .batch = d->batch, .in_dev = w->encoded_dev, .payload_dev = d->payload_dev};
    struct gcb_frame frame;
    int err;

    gcb_device_batch_begin(d->batch); /* gcb_device_batch_finish reports its errors */
    err = gcb_device_coder_encode_async(w->encoder, at, &m, diag);
    if (!err || err == GCB_E_DEVICE) { /* the stream's error says more */
        const int ended = gcb_device_batch_finish(d->batch, diag);

        err = ended ? ended : err;
    }
    if (!err)
        err = gcb_device_coder_encode_finish(w->encoder, &m, &frame, diag);
    d->wire.len = 0;
    if (!err)
        err = gcb_device_coder_fetch(w->encoder, &m, &frame, &d->wire, diag);
    if (err)
        return err;
    gcb_message_seal(d->wire.data, d->wire.len, 0);
    *clamped = gcb_device_coder_clamped(w->encoder);
    check->message = &d->wire;
    check->scratch = d->copy;
    check->coders = d->coders;
    return gcb_device_check_message(check, diag);
}

int gcb_replay_device_decode(struct gcb_replay_device *d, const struct gcb_device_check *check,
                             float *decoded, struct gcb_diag *diag)
{
    const struct gcb_mview y = {.data = decoded, .count = check->in.count};
    const int err =
        gcb_device_decoder_run(d->decoder, check->message->data, check->message->len, &y, diag);

    if (err == GCB_E_CORRUPT) /* nothing has changed the message since it was encoded */
        return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                            "the device cannot decode the message that it encoded");
    return err;
}

int gcb_replay_device_update(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                             const float *expected, uint64_t count, struct gcb_diag *diag)
{
    if (w->encoded_dev)
        gcb_device_memory_update(w->memory, gcb_device_decoder_tensor(d->decoder));
    return compare(d, gcb_device_memory_residual(w->memory), expected, count, "keeps", diag);
}
