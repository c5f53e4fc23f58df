#include <math.h>
#include <string.h>

#include "kernels/cuda/align.h"
#include "src/lib/base/alloc.h"
#include "src/tool/replay/replay_state.h"

struct gcb_replay_device {
    struct gcb_place place;    /* memories use its stream too */
    struct gcb_coder *decoder; /* of the last message */
    struct gcb_coders *coders; /* the CPU's decoders, which check the message */
    struct gcb_room room;
    struct gcb_wbuf wire; /* the message, in `room` */
    float *copy;          /* copy of a device array, or scratch */
    bool reduces;         /* for all-reduces, and the arrays below are set */
    uint8_t *combined;    /* combined values of the workers, on the host */
    /* arrays in the place's tensor: */
    void *combined_dev; /* combined values */
    float *update_dev;  /* the update */
    float *own_dev;     /* what arrived of a worker's tensor */
};

/* Allocates the arrays for an all-reduce of n elements. A round has at most n values of at most 4
 * bytes. */
static int prepare_reduce(struct gcb_replay_device *d, uint64_t n, struct gcb_diag *diag)
{
    const uint64_t bytes = gcb_cuda_align256(n * sizeof(float));
    const struct gcb_place_size size = {.tensor = 3 * bytes};
    const int err = gcb_place_reserve(&d->place, &size, diag);

    d->combined_dev = d->place.tensor.dev;
    d->update_dev = (float *)d->place.tensor.dev + bytes / sizeof(float);
    d->own_dev = d->update_dev + bytes / sizeof(float);
    d->combined = gcb_alloc(n * sizeof(float));
    return err || d->combined ? err
                              : gcb_diag_nomem(diag, n * sizeof(float), "the workers' values");
}

int gcb_replay_device_create(struct gcb_replay_device **out, const struct gcb_device *device,
                             uint64_t largest, bool reduces, struct gcb_diag *diag)
{
    const struct gcb_place_size size = {.tensor = largest * sizeof(float)};
    struct gcb_replay_device *d = gcb_alloc_zero(1, sizeof(*d));

    *out = d;
    if (!d)
        return gcb_diag_nomem(diag, sizeof(*d), "a replay on a device");
    d->place = (struct gcb_place){.device = device, .prefill = true};
    d->reduces = reduces;
    d->copy = gcb_alloc_array(largest ? largest : 1, sizeof(*d->copy));
    if (!d->copy)
        return gcb_diag_nomem(diag, largest * sizeof(*d->copy), "the largest message");
    d->coders = gcb_coders_create(largest);

    return reduces ? prepare_reduce(d, largest, diag) : gcb_place_reserve(&d->place, &size, diag);
}

void gcb_replay_device_destroy(struct gcb_replay_device *d)
{
    if (!d)
        return;
    gcb_place_fini(&d->place);
    gcb_coder_destroy(d->decoder);
    gcb_coders_destroy(d->coders);
    gcb_room_fini(&d->room);
    gcb_free(d->combined);
    gcb_free(d->copy);
    gcb_free(d);
}

int gcb_replay_device_start(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                            const struct gcb_memory_params *params, uint64_t count,
                            uint32_t workers, struct gcb_diag *diag)
{
    void *gradient = NULL;
    int err = gcb_device_memory_create(&w->memory, d->place.batch, params, count, workers, diag);

    if (!err && d->reduces)
        err = d->place.device->module->memory.alloc(&gradient, count * sizeof(float), diag);
    w->gradient_dev = gradient;
    return err;
}

void gcb_replay_device_forget(struct gcb_replay_device_worker *w)
{
    gcb_coder_destroy(w->encoder);
    gcb_device_reduce_destroy(w->reduce);
    w->encoder = NULL;
    w->reduce = NULL;
}

void gcb_replay_device_end(struct gcb_replay_device *d, struct gcb_replay_device_worker *w)
{
    if (d)
        d->place.device->module->memory.free(w->gradient_dev);
    gcb_device_memory_destroy(w->memory); /* before the encoder: waits for work that uses it */
    gcb_replay_device_forget(w);
}

/* True if the arrays are equal bit for bit. Any two NaNs are equal, because processors give
 * different NaNs for the same sum. */
static bool same_floats(const float *a, const float *b, uint64_t n)
{
    uint64_t i = 0;

    if (n == 0 || memcmp(a, b, n * sizeof(*a)) == 0)
        return true;
    while (i < n && (memcmp(&a[i], &b[i], sizeof(*a)) == 0 || (isnan(a[i]) && isnan(b[i]))))
        i++;
    return i == n;
}

/* Fails unless the device's array `dev` equals the CPU's, or both are NULL. `what` is a part of the
 * message, such as "memory gives". */
static int compare(struct gcb_replay_device *d, const float *dev, const float *expected, uint64_t n,
                   const char *what, struct gcb_diag *diag)
{
    int err = 0;

    if (dev)
        err = gcb_device_batch_download(d->place.batch, d->copy, dev, n * sizeof(float), diag);
    if (err)
        return err;
    if (!dev == !expected && (!dev || same_floats(d->copy, expected, n)))
        return 0;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED, "the device's %s other values than the CPU's",
                        what);
}

/* Makes the worker's encoder, or its part in the all-reduce, unless it exists. Reserves the space
 * on the device that the encoder needs. */
static int prepare_worker(const struct gcb_replay_sending *job, struct gcb_diag *diag)
{
    struct gcb_replay_device *d = job->s->device;
    struct gcb_replay_device_worker *w = &job->worker->on_device;
    struct gcb_coder_config config;
    int err = 0;

    gcb_replay_coder_config(job->s, job->plan, &config);
    config.env.workers = d->reduces ? job->s->workers : 0;
    if (d->reduces)
        return w->reduce
                   ? 0
                   : gcb_device_reduce_create(&w->reduce, d->place.device, &job->message->method,
                                              &config, job->s->weights[job->w], diag);
    config.place = &d->place;
    if (!w->encoder)
        err = gcb_coder_create(&w->encoder, &job->message->method, &config, diag);
    return err ? err : gcb_coder_reserve(w->encoder, diag);
}

int gcb_replay_device_compensate(const struct gcb_replay_sending *job, struct gcb_diag *diag)
{
    struct gcb_replay_device *d = job->s->device;
    struct gcb_replay_device_worker *w = &job->worker->on_device;
    float *gradient_dev;
    int err = prepare_worker(job, diag);

    if (!err && isfinite(job->norm))
        err = gcb_device_memory_set_norm(w->memory, job->norm, diag);
    if (err)
        return err;
    gradient_dev = d->reduces ? w->gradient_dev : d->place.tensor.dev;
    err = gcb_device_batch_upload(d->place.batch, gradient_dev, job->gradient,
                                  job->plan->count * sizeof(float), diag);
    if (err)
        return err;
    w->encoded_dev = gcb_device_memory_compensate(w->memory, gradient_dev);
    return compare(d, w->encoded_dev, job->encoded, job->plan->count, "memory gives", diag);
}

int gcb_replay_device_code(const struct gcb_replay_sending *job, struct gcb_tally *t,
                           struct gcb_diag *diag)
{
    struct gcb_replay_state *s = job->s;
    struct gcb_replay_device *d = s->device;
    struct gcb_coder *encoder = job->worker->on_device.encoder;
    const struct gcb_step at = {.step = job->step->at, .worker = job->w};
    const struct gcb_coder_config config = {.place = &d->place, .max_elements = job->plan->count};
    const struct gcb_mview y = {.data = s->decoded, .count = job->plan->count};
    const struct gcb_device_check check = {
        .method = &job->message->method,
        .in = {.data = job->encoded, .count = job->plan->count},
        .message = &d->wire,
        .expected = &s->wires[job->w],
        .decoded = s->decoded,
        .scratch = d->copy,
        .coders = d->coders,
        .kernels = s->config->compute.kernels,
        .queue = s->config->compute.queue,
    };
    struct gcb_message_parts parts;
    int err = gcb_coders_room(&d->room, &d->wire, encoder, false, diag);

    if (!err)
        err = gcb_coder_encode_there(encoder, &at, job->worker->on_device.encoded_dev, &d->wire,
                                     diag);
    if (err)
        return err;
    gcb_message_seal(d->wire.data, d->wire.len, 0);
    t->clamped = gcb_coder_clamped(encoder);
    memset(s->decoded, 0xff, t->elements * sizeof(float)); /* NaNs show missing elements */
    err = gcb_device_check_message(&check, diag);
    if (!err)
        err = gcb_coder_renew_decoder(&d->decoder, d->wire.data, d->wire.len, &config, diag);
    if (!err)
        err = gcb_coder_decode(d->decoder, d->wire.data, d->wire.len, &y, diag);
    err = gcb_device_check_decoded(err, diag);
    if (err)
        return err;
    gcb_fidelity_add(&t->fidelity, job->encoded, s->decoded, job->plan->count,
                     s->config->compute.kernels, s->config->compute.queue);
    err = gcb_device_check_values(&check, &t->fidelity, &parts, diag);
    return err ? err : gcb_tally_parts(t, &parts, diag);
}

/* ---- all-reduce ---- */

/* Combines a worker's values of the next round with those of the workers before it. Returns 1, 0 if
 * no round is left, or an error. */
static int contribute(struct gcb_replay_device *d, const struct gcb_replay_device_worker *w,
                      bool first, struct gcb_round *round, struct gcb_diag *diag)
{
    const int more = gcb_device_reduce_next(w->reduce, round, diag);
    int err;

    if (more != 1)
        return more;
    err = gcb_device_batch_download(d->place.batch, first ? (void *)d->combined : d->copy,
                                    round->data, round->bytes, diag);
    if (!err && !first)
        gcb_reduction_combine(round->reduction, d->combined, d->copy, round->bytes);
    return err ? err : 1;
}

int gcb_replay_device_rounds(const struct gcb_replay_sending *job, struct gcb_diag *diag)
{
    struct gcb_replay_device *d = job->s->device;
    struct gcb_replay_worker *workers = job->message->workers;
    const uint32_t count = job->s->workers;
    int err = 0;

    for (uint32_t w = 0; w < count; w++)
        gcb_device_reduce_begin(workers[w].on_device.reduce,
                                &(struct gcb_step){.step = job->step->at, .worker = w},
                                workers[w].on_device.encoded_dev);
    while (!err) {
        struct gcb_round round = {.size = sizeof(round)};
        int more = 0;

        for (uint32_t w = 0; w < count && more >= 0; w++)
            more = contribute(d, &workers[w].on_device, w == 0, &round, diag);
        if (more <= 0)
            return more;
        err = gcb_device_batch_upload(d->place.batch, d->combined_dev, d->combined, round.bytes,
                                      diag);
        for (uint32_t w = 0; w < count && !err; w++)
            err = gcb_device_reduce_receive(workers[w].on_device.reduce, d->combined_dev, diag);
    }
    return err;
}

int gcb_replay_device_conclude(const struct gcb_replay_sending *job, uint64_t clamped,
                               struct gcb_diag *diag)
{
    struct gcb_replay_device *d = job->s->device;
    const struct gcb_replay_device_worker *w = &job->worker->on_device;
    const uint64_t n = job->plan->count;
    int err = gcb_device_reduce_conclude(w->reduce, d->update_dev, d->own_dev, diag);

    if (!err)
        err = compare(d, d->update_dev, job->s->update, n, "all-reduce gives", diag);
    if (!err)
        err = compare(d, d->own_dev, job->s->decoded, n, "all-reduce takes", diag);
    if (!err && gcb_device_reduce_spoilt(w->reduce) && gcb_device_memory_residual(w->memory))
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "the workers' sum overflows, and a memory on a device cannot take such "
                            "a step back; use --device cpu");
    if (!err && gcb_device_reduce_clamped(w->reduce) != clamped)
        return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                            "the device clamps another number of elements than the CPU");
    return err;
}

int gcb_replay_device_update(const struct gcb_replay_sending *job, const float *expected,
                             struct gcb_diag *diag)
{
    struct gcb_replay_device *d = job->s->device;
    struct gcb_replay_device_worker *w = &job->worker->on_device;

    if (w->encoded_dev)
        gcb_device_memory_update(w->memory, d->reduces ? d->own_dev : d->place.tensor.dev);
    return compare(d, gcb_device_memory_residual(w->memory), expected, job->plan->count,
                   "memory keeps", diag);
}
