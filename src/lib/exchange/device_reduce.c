#include "src/lib/exchange/device_reduce.h"

#include <math.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"

struct gcb_device_reduce {
    const struct gcb_device_module *module;
    struct gcb_place place; /* its tensor is own.values_dev, its payload is own.kept_dev */
    struct gcb_coder *coder;
    const struct gcb_device_reduce_ops *ops;
    const struct gcb_codec_base *state; /* the codec's state in `coder` */
    uint64_t count;                     /* elements of a tensor */
    enum gcb_nonfinite nonfinite;
    /* the current step */
    struct gcb_device_share own; /* this worker's tensor, weight and values */
    struct gcb_step at;
    unsigned round;       /* number of rounds that have ended */
    const void *combined; /* the combined values of the last round; borrowed */
    uint64_t clamped;
    bool raw;    /* this worker contributes NaNs or infinities */
    bool spoilt; /* some worker's values were not finite, so the update becomes NaNs */
};

static uint64_t bytes_of(const struct gcb_device_reduce *r, unsigned round)
{
    return r->state->round[round].count * gcb_reduction_size(r->state->round[round].reduction);
}

/* ---- creating ---- */

static uint64_t scratch_of(const struct gcb_device_reduce *r)
{
    return r->ops->scratch ? r->ops->scratch(r->state) : 0;
}

static int take_memory(struct gcb_device_reduce *r, struct gcb_diag *diag)
{
    struct gcb_place_size size = {.payload = r->ops->kept ? r->ops->kept(r->state) : 0,
                                  .scratch = scratch_of(r)};
    int err;

    for (unsigned round = 0; round < r->state->rounds; round++)
        size.tensor = bytes_of(r, round) > size.tensor ? bytes_of(r, round) : size.tensor;
    err = gcb_place_reserve(&r->place, &size, diag);
    r->own.values_dev = r->place.tensor.dev;
    r->own.kept_dev = r->place.payload.dev;
    return err;
}

int gcb_device_reduce_create(struct gcb_device_reduce **out, const struct gcb_device *device,
                             const struct gcb_method *method, const struct gcb_coder_config *config,
                             float weight, struct gcb_diag *diag)
{
    struct gcb_device_reduce *r = gcb_alloc_zero(1, sizeof(*r));
    struct gcb_coder_config there = *config;
    int err;

    *out = NULL;
    if (!r)
        return gcb_diag_nomem(diag, sizeof(*r), "an all-reduce");
    r->module = device->module;
    r->place.device = device;
    there.place = &r->place;
    r->count = config->env.count;
    r->nonfinite = config->nonfinite;
    r->own.weight = weight;
    err = gcb_coder_create(&r->coder, method, &there, diag);
    if (err)
        goto out;
    r->ops = gcb_device_coder_reduce(r->coder);
    r->state = gcb_coder_codec_state(r->coder);
    if (!r->ops) {
        err = gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                           "device cuda: method '%s' has no all-reduce on a device", method->name);
        goto out;
    }
    err = take_memory(r, diag);
    if (err)
        goto out;
    *out = r;
    r = NULL;
out:
    gcb_device_reduce_destroy(r);
    return err;
}

void gcb_device_reduce_destroy(struct gcb_device_reduce *r)
{
    if (!r)
        return;
    gcb_place_fini(&r->place); /* waits for queued work first */
    gcb_coder_destroy(r->coder);
    gcb_free(r);
}

/* ---- calls of the codec ---- */

/* Prepares a call of the codec and queues zeroing of its result. */
static int begin_call(struct gcb_device_reduce *r, struct gcb_device_call *call,
                      struct gcb_diag *diag)
{
    const int err = gcb_device_batch_call(call, r->place.batch, 0, scratch_of(r), diag);

    call->at = r->at;
    if (!err)
        gcb_device_batch_begin(r->place.batch); /* gcb_device_batch_finish reports a failure */
    return err;
}

/* Waits for a call. `queued` is what the codec's function returned. An error of the stream is
 * returned first, because it says more. */
static int finish_call(struct gcb_device_reduce *r, int queued, struct gcb_diag *diag)
{
    const int err = gcb_device_batch_finish(r->place.batch, diag);

    return err ? err : queued;
}

static const struct gcb_device_result *result_of(const struct gcb_device_reduce *r)
{
    return gcb_device_batch_result(r->place.batch, 0);
}

static bool found_nonfinite(const struct gcb_device_reduce *r)
{
    return result_of(r)->max_bits >= GCB_INF_BITS;
}

#define FILL_WORDS 1024 /* words of an upload; the device copies the rest */

/* Fills an array with copies of a word, and waits. Uploads the first copies. Each copy on the
 * device then doubles the filled part; the last copy may be shorter. */
static int fill(struct gcb_device_reduce *r, void *to_dev, uint64_t bytes, uint32_t word,
                struct gcb_diag *diag)
{
    uint32_t piece[FILL_WORDS];
    uint64_t done = bytes < sizeof(piece) ? bytes : sizeof(piece);
    int err;

    for (size_t i = 0; i < FILL_WORDS; i++)
        piece[i] = word;
    err = gcb_device_batch_upload(r->place.batch, to_dev, piece, done, diag);
    for (; !err && done < bytes; done *= 2)
        r->module->stream.copy(gcb_device_batch_stream(r->place.batch), (uint8_t *)to_dev + done,
                               to_dev, bytes - done < done ? bytes - done : done, GCB_COPY_DEVICE);
    return err ? err : r->module->stream.wait(gcb_device_batch_stream(r->place.batch), diag);
}

/* ---- a step ---- */

void gcb_device_reduce_begin(struct gcb_device_reduce *r, const struct gcb_step *at,
                             const float *x_dev)
{
    r->at = *at;
    r->own.x_dev = x_dev;
    r->round = 0;
    r->combined = NULL;
    r->clamped = 0;
    r->raw = r->spoilt = false;
}

static int contribute(struct gcb_device_reduce *r, struct gcb_diag *diag)
{
    struct gcb_device_call call;
    int err = begin_call(r, &call, diag);

    if (err)
        return err;
    err = r->ops->contribute_async(r->state, r->round, &r->own, &call);
    if (!err && r->round == 0 && r->nonfinite != GCB_NONFINITE_TRUSTED)
        err = r->module->tensor.max_bits(call.stream, r->own.x_dev, r->count, call.result_dev);
    err = finish_call(r, err, diag);
    if (err)
        return err;
    if (found_nonfinite(r) && r->nonfinite == GCB_NONFINITE_ERROR)
        return gcb_diag_set(diag, GCB_E_NONFINITE, "the tensor contains an infinity or NaN");
    r->raw = found_nonfinite(r) || result_of(r)->status == GCB_E_SEND_RAW;
    r->clamped = result_of(r)->clamped;
    return 0;
}

/* The values that `spoil` in src/lib/exchange/allreduce.c writes: one of 32 bits, or two of 16. */
static uint32_t spoilt_word(enum gcb_reduction reduction)
{
    switch (reduction) {
    case GCB_SUM_F32:
        return gcb_bits_of(NAN);
    case GCB_MAX_F32:
        return GCB_INF_BITS;
    case GCB_SUM_F16:
        return 0x7e007e00;
    case GCB_SUM_BF16:
        return 0x7fc07fc0;
    default: /* the round of floats before has told all workers already */
        return 0;
    }
}

int gcb_device_reduce_next(struct gcb_device_reduce *r, struct gcb_round *round,
                           struct gcb_diag *diag)
{
    int err = 0;

    if (r->round == r->state->rounds)
        return 0;
    round->kind = GCB_ROUND_REDUCE;
    round->reduction = r->state->round[r->round].reduction;
    round->data = r->own.values_dev;
    round->bytes = bytes_of(r, r->round);
    if (!r->raw && !r->spoilt)
        err = contribute(r, diag);
    if (!err && (r->raw || r->spoilt))
        err = fill(r, r->own.values_dev, round->bytes, spoilt_word(round->reduction), diag);
    return err ? err : 1;
}

int gcb_device_reduce_receive(struct gcb_device_reduce *r, const void *combined_dev,
                              struct gcb_diag *diag)
{
    const unsigned round = r->round++;
    const bool floats = r->state->round[round].reduction == GCB_SUM_F32 ||
                        r->state->round[round].reduction == GCB_MAX_F32;
    struct gcb_device_call call;
    int err;

    if (r->round == r->state->rounds) {
        r->combined = combined_dev;
        return 0;
    }
    err = begin_call(r, &call, diag);
    if (err)
        return err;
    err = r->ops->absorb_async(r->state, round, combined_dev, &r->own, &call);
    if (!err && floats)
        err = r->module->tensor.max_bits(call.stream, combined_dev,
                                         bytes_of(r, round) / sizeof(float), call.result_dev);
    err = finish_call(r, err, diag);
    if (!err)
        r->spoilt |= found_nonfinite(r);
    return err;
}

/* Computes the update. If the combined values of the last round are floats, the step is spoilt if
 * the update is not finite. */
static int make_update(struct gcb_device_reduce *r, float *update_dev, float *own_dev,
                       struct gcb_diag *diag)
{
    const enum gcb_reduction last = r->state->round[r->round - 1].reduction;
    struct gcb_device_call call;
    int err = begin_call(r, &call, diag);

    if (err)
        return err;
    err = r->ops->conclude_async(r->state, r->combined, &r->own, update_dev, own_dev, &call);
    if (!err && last != GCB_SUM_I8 && last != GCB_SUM_I16)
        err = r->module->tensor.max_bits(call.stream, update_dev, r->count, call.result_dev);
    err = finish_call(r, err, diag);
    if (!err)
        r->spoilt |= found_nonfinite(r);
    return err;
}

int gcb_device_reduce_conclude(struct gcb_device_reduce *r, float *update_dev, float *own_dev,
                               struct gcb_diag *diag)
{
    const uint64_t bytes = r->count * sizeof(float);
    int err = r->spoilt ? 0 : make_update(r, update_dev, own_dev, diag);

    if (err || !r->spoilt)
        return err;
    if (own_dev)
        r->module->stream.zero(gcb_device_batch_stream(r->place.batch), own_dev, bytes);
    return fill(r, update_dev, bytes, gcb_bits_of(NAN), diag);
}

bool gcb_device_reduce_spoilt(const struct gcb_device_reduce *r)
{
    return r->spoilt;
}

uint64_t gcb_device_reduce_clamped(const struct gcb_device_reduce *r)
{
    return r->clamped;
}
