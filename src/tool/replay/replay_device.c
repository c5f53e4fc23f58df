#include "src/tool/replay/replay_device.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/device/device_coder.h"
#include "src/lib/device/device_decoder.h"
#include "src/lib/device/device_reduce.h"
#include "src/lib/memory/device_memory.h"
#include "src/tool/replay/replay_state.h"

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
    bool reduces;              /* with these arrays for all-reduces: */
    uint8_t *combined;         /* values of all workers, on the host */
    void *combined_dev, *update_dev, *own_dev;
};

static int alloc_floats(const struct gcb_replay_device *d, void **out, uint64_t n,
                        struct gcb_diag *diag)
{
    return d->device->module->alloc(out, n * sizeof(float), diag);
}

/* Allocates what an all-reduce of n elements needs. A round has at most n values of at most 4 bytes. */
static int prepare_reduce(struct gcb_replay_device *d, uint64_t n, struct gcb_diag *diag)
{
    int err;

    d->combined = gcb_alloc(n * sizeof(float));
    if (!d->combined)
        return gcb_diag_nomem(diag, n * sizeof(float), "the workers' values");
    err = alloc_floats(d, &d->combined_dev, n, diag);
    if (!err)
        err = alloc_floats(d, &d->update_dev, n, diag);
    return err ? err : alloc_floats(d, &d->own_dev, n, diag);
}

int gcb_replay_device_create(struct gcb_replay_device **out, const struct gcb_device *device,
                             uint64_t largest, bool reduces, struct gcb_diag *diag)
{
    const struct gcb_device_batch_config config = {.messages = 1};
    struct gcb_replay_device *d = gcb_alloc_zero(1, sizeof(*d));
    void *gradient = NULL;
    int err;

    *out = d;
    if (!d)
        return gcb_diag_nomem(diag, sizeof(*d), "a replay on a device");
    d->device = device;
    d->reduces = reduces;
    d->copy = gcb_alloc_array(largest ? largest : 1, sizeof(*d->copy));
    if (!d->copy)
        return gcb_diag_nomem(diag, largest * sizeof(*d->copy), "the largest message");
    err = gcb_coders_create(&d->coders, largest, diag);
    if (!err)
        err = gcb_device_batch_create(&d->batch, device, &config, diag);
    if (!err && reduces)
        return prepare_reduce(d, largest, diag);
    if (!err)
        err = gcb_device_decoder_create(&d->decoder, device, true, diag);
    if (!err)
        err = alloc_floats(d, &gradient, largest, diag);
    d->gradient_dev = gradient;
    return err;
}

bool gcb_replay_device_reduces(const struct gcb_replay_device *d)
{
    return d->reduces;
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
    d->device->module->free(d->combined_dev);
    d->device->module->free(d->update_dev);
    d->device->module->free(d->own_dev);
    gcb_free(d->combined);
    gcb_free(d->wire.data);
    gcb_free(d->copy);
    gcb_free(d);
}

int gcb_replay_device_start(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                            const struct gcb_memory_params *params, uint64_t count,
                            uint32_t workers, struct gcb_diag *diag)
{
    void *gradient = NULL;
    int err = gcb_device_memory_create(&w->memory, d->batch, params, count, workers, diag);

    if (!err && d->reduces)
        err = alloc_floats(d, &gradient, count, diag);
    w->gradient_dev = gradient;
    return err;
}

void gcb_replay_device_forget(struct gcb_replay_device_worker *w)
{
    gcb_device_coder_destroy(w->encoder);
    gcb_device_reduce_destroy(w->reduce);
    w->encoder = NULL;
    w->reduce = NULL;
}

void gcb_replay_device_end(struct gcb_replay_device *d, struct gcb_replay_device_worker *w)
{
    if (d)
        d->device->module->free(w->gradient_dev);
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
    return gcb_diag_set(diag, GCB_E_UNVERIFIED, "the device's %s other values than the CPU's",
                        what);
}

int gcb_replay_device_compensate(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                                 const struct gcb_view *gradient, const float *expected,
                                 struct gcb_diag *diag)
{
    float *gradient_dev = d->reduces ? w->gradient_dev : d->gradient_dev;
    const int err = gcb_device_batch_upload(d->batch, gradient_dev, gradient->data,
                                            gradient->count * sizeof(float), diag);

    if (err)
        return err;
    w->encoded_dev = gcb_device_memory_compensate(w->memory, gradient_dev);
    return compare(d, w->encoded_dev, expected, gradient->count, "memory gives", diag);
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

/* ---- all-reduce ---- */

int gcb_replay_device_join(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                           const struct gcb_method *method, const struct gcb_coder_config *config,
                           float weight, struct gcb_diag *diag)
{
    return w->reduce
               ? 0
               : gcb_device_reduce_create(&w->reduce, d->device, method, config, weight, diag);
}

/* Adds a worker's values of the next round to those of the workers before it. Returns 1, 0 if no round is left, or an
 * error. */
static int contribute(struct gcb_replay_device *d, const struct gcb_replay_device_worker *w,
                      bool first, struct gcb_round *round, struct gcb_diag *diag)
{
    const int more = gcb_device_reduce_next(w->reduce, round, diag);
    int err;

    if (more != 1)
        return more;
    err = gcb_device_batch_download(d->batch, first ? (void *)d->combined : d->copy, round->data,
                                    round->bytes, diag);
    if (!err && !first)
        gcb_reduction_combine(round->reduction, d->combined, d->copy, round->bytes);
    return err ? err : 1;
}

int gcb_replay_device_rounds(struct gcb_replay_device *d, struct gcb_replay_worker *workers,
                             uint32_t count, uint64_t step, struct gcb_diag *diag)
{
    int err = 0;

    for (uint32_t w = 0; w < count; w++)
        gcb_device_reduce_begin(workers[w].on_device.reduce,
                                &(struct gcb_step){.step = step, .worker = w},
                                workers[w].on_device.encoded_dev);
    while (!err) {
        struct gcb_round round = {.size = sizeof(round)};
        int more = 0;

        for (uint32_t w = 0; w < count && more >= 0; w++)
            more = contribute(d, &workers[w].on_device, w == 0, &round, diag);
        if (more <= 0)
            return more;
        err = gcb_device_batch_upload(d->batch, d->combined_dev, d->combined, round.bytes, diag);
        for (uint32_t w = 0; w < count && !err; w++)
            err = gcb_device_reduce_receive(workers[w].on_device.reduce, d->combined_dev, diag);
    }
    return err;
}

int gcb_replay_device_conclude(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                               const float *update, const float *own, uint64_t count,
                               uint64_t *clamped, struct gcb_diag *diag)
{
    int err = gcb_device_reduce_conclude(w->reduce, d->update_dev, d->own_dev, diag);

    *clamped = gcb_device_reduce_clamped(w->reduce);
    if (!err)
        err = compare(d, d->update_dev, update, count, "all-reduce gives", diag);
    if (!err)
        err = compare(d, d->own_dev, own, count, "all-reduce takes", diag);
    if (!err && gcb_device_reduce_spoilt(w->reduce) && gcb_device_memory_residual(w->memory))
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "the workers' sum overflows, and a memory on a device cannot take such "
                            "a step back; use --device cpu");
    return err;
}

int gcb_replay_device_update(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                             const float *expected, uint64_t count, struct gcb_diag *diag)
{
    if (w->encoded_dev)
        gcb_device_memory_update(w->memory,
                                 d->reduces ? d->own_dev : gcb_device_decoder_tensor(d->decoder));
    return compare(d, gcb_device_memory_residual(w->memory), expected, count, "memory keeps", diag);
}
