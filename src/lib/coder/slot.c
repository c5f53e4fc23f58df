#include "src/lib/coder/slot.h"

#include <inttypes.h>
#include <math.h>

#include "kernels/cuda/align.h"
#include "src/gcbench.h"
#include "src/lib/base/alloc.h"
#include "src/lib/coder/coder_private.h"

/* Bytes before the payload of a slot. */
#define HEAD 256

struct gcb_device_encoder {
    struct gcb_device device;
    struct gcb_place place; /* only the device: the caller brings all memory and the stream */
    struct gcb_coder *encoder, *decoder;
    struct gcb_device_stream *stream; /* stands for the caller's stream during a call */
    struct gcb_memory_params memory;
    unsigned before; /* the device that the thread used before a call */
};

_Static_assert(sizeof(struct gcb_slot_head) == sizeof(struct gcb_device_result) &&
                   sizeof(struct gcb_slot_head) <= HEAD,
               "a slot's head begins with a result");

static uint64_t count_of(const struct gcb_device_encoder *e)
{
    return e->encoder->env.count;
}

static uint64_t payload_bytes(const struct gcb_device_encoder *e)
{
    return e->encoder->state->max_payload;
}

/* ---- creating and destroying encoders ---- */

/* Refuses a method that slots do not support. The host looks at no results, and a call has no
 * arrays except the tensor, its residual, the slots, the sum and the scratch. */
static int check_method(const struct gcb_device_encoder *e, struct gcb_diag *diag)
{
    const struct gcb_coder *c = e->encoder;
    const struct gcb_device_sum_ops *sum = c->there->sum;
    const char *why = NULL;

    if (c->state->length_varies)
        why = "the lengths of its messages vary";
    else if (sum && sum->transforms && sum->transforms(e->decoder->state))
        why = "it has a transform";
    else if (!sum && !c->there->sum_async)
        why = "its messages are not added on devices";
    else if (e->memory.kind != GCB_MEMORY_NONE && e->memory.kind != GCB_MEMORY_EF)
        why = "slots have no other memory than ef";
    else if (gcb_method_gives_collective(&c->method) &&
             gcb_method_collective(&c->method) != GCB_COLLECTIVE_ALLGATHER)
        why = "slots travel by collective=allgather only";
    return why ? gcb_diag_set(diag, GCB_E_UNSUPPORTED, "method '%s' has no slots: %s",
                              c->method.name, why)
               : 0;
}

static int make_coders(struct gcb_device_encoder *e, const struct gcb_method *method,
                       struct gcb_coder_config config, struct gcb_diag *diag)
{
    int err;

    config.place = &e->place;
    config.nonfinite = GCB_NONFINITE_TRUSTED; /* slots look for infinities and NaNs */
    config.source = GCB_F32;
    config.env.feedback = e->memory.kind == GCB_MEMORY_EF;
    err = gcb_coder_create(&e->encoder, method, &config, diag);
    config.env.decoding = true;
    return err ? err : gcb_coder_create(&e->decoder, method, &config, diag);
}

static void drop_coders(struct gcb_device_encoder *e)
{
    gcb_coder_destroy(e->encoder);
    gcb_coder_destroy(e->decoder);
    e->encoder = e->decoder = NULL;
}

/* Makes the coders. If a message would be longer than the raw tensor, slots hold the raw tensor. */
static int init_coders(struct gcb_device_encoder *e, const struct gcb_method *method,
                       const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_method raw;
    int err;

    gcb_method_memory_for(&e->memory, method, config->env.count);
    err = make_coders(e, method, *config, diag);
    if (!err)
        err = check_method(e, diag);
    if (err || payload_bytes(e) <= config->env.count * sizeof(float))
        return err;
    drop_coders(e);
    err = gcb_method_parse(&raw, "identity", diag);
    return err ? err : make_coders(e, &raw, *config, diag);
}

int gcb_slots_create(struct gcb_device_encoder **out, const struct gcb_device *device,
                     const struct gcb_method *method, const struct gcb_coder_config *config,
                     struct gcb_diag *diag)
{
    struct gcb_device_encoder *e = gcb_alloc_zero(1, sizeof(*e));
    int err;

    if (!e)
        return gcb_diag_nomem(diag, sizeof(*e), "an encoder");
    e->device = *device;
    e->place.device = &e->device;
    err = device->module->stream.wrap(&e->stream, diag);
    if (!err)
        err = init_coders(e, method, config, diag);
    if (err)
        gcb_slots_destroy(e);
    else
        *out = e;
    return err;
}

void gcb_slots_destroy(struct gcb_device_encoder *e)
{
    if (!e)
        return;
    drop_coders(e);
    e->device.module->stream.unwrap(e->stream);
    gcb_free(e);
}

/* ---- sizes of slots and scratch ---- */

size_t gcb_device_slot_bytes(const struct gcb_device_encoder *e)
{
    return e ? HEAD + gcb_cuda_align256(payload_bytes(e)) : 0;
}

/* The scratch of a sum: a result for each slot, and what the decoder needs. */
struct sum_scratch {
    uint64_t results, decoder; /* bytes, multiples of 256 */
};

static struct sum_scratch sum_scratch(const struct gcb_device_encoder *e, unsigned workers)
{
    const struct gcb_coder *c = e->decoder;
    const uint64_t decoder =
        c->there->scratch && !c->there->sum_async ? c->there->scratch(c->state) : 0;

    return (struct sum_scratch){
        .results = gcb_cuda_align256(workers * sizeof(struct gcb_device_result)),
        .decoder = gcb_cuda_align256(decoder),
    };
}

size_t gcb_device_scratch_bytes(const struct gcb_device_encoder *e, unsigned workers)
{
    struct sum_scratch sum;
    uint64_t encode, most;

    if (!e)
        return 0;
    sum = sum_scratch(e, workers);
    most = sum.results + sum.decoder;
    encode = e->encoder->there->scratch ? e->encoder->there->scratch(e->encoder->state) : 0;
    return HEAD + (most > encode ? most : encode); /* align_scratch may skip bytes */
}

/* ---- queueing encodings and sums ---- */

/* Returns 0, or GCB_E_INVALID if a pointer is NULL or not aligned to 16 bytes. */
static int check_array(const void *dev, const char *name, struct gcb_diag *diag)
{
    if (!dev)
        return gcb_diag_set(diag, GCB_E_INVALID, "%s is NULL", name);
    if ((uintptr_t)dev % 16)
        return gcb_diag_set(diag, GCB_E_INVALID, "%s is not aligned to 16 bytes", name);
    return 0;
}

/* Begins a call: this thread uses the encoder's device, and the encoder's stream stands for the
 * caller's. */
static int begin_call(struct gcb_device_encoder *e, void *stream, struct gcb_diag *diag)
{
    const struct gcb_device_module *module = e->device.module;
    const int err = module->used(&e->before, diag);

    module->stream.point(e->stream, stream);
    return err ? err : module->use(e->device.index, diag);
}

/* Ends a call, whose error is `err`: the thread uses its own device again. Returns the first
 * failure of the call's stream, or `err` if there is none. */
static int end_call(const struct gcb_device_encoder *e, int err, struct gcb_diag *diag)
{
    err = e->device.module->stream.told(e->stream, err, diag);
    if (e->before != e->device.index)
        e->device.module->use(e->before, NULL);
    return err;
}

/* Returns the first address in the scratch that is a multiple of 256, as kernels need. */
static uint8_t *align_scratch(void *scratch_dev)
{
    return (uint8_t *)(uintptr_t)gcb_cuda_align256((uintptr_t)scratch_dev);
}

static int check_encode(const struct gcb_device_encoder *e, const float *x_dev,
                        const float *residual_dev, const void *slot_dev, const void *scratch_dev,
                        struct gcb_diag *diag)
{
    const bool feedback = e->memory.kind == GCB_MEMORY_EF;
    int err = count_of(e) ? check_array(x_dev, "the tensor", diag) : 0;

    if (!err && count_of(e) && !residual_dev != !feedback)
        err = gcb_diag_set(diag, GCB_E_INVALID,
                           feedback ? "memory=ef needs a residual"
                                    : "a residual needs a method with memory=ef");
    if (!err && residual_dev)
        err = check_array(residual_dev, "the residual", diag);
    if (!err)
        err = check_array(slot_dev, "the slot", diag);
    return err ? err : check_array(scratch_dev, "the scratch", diag);
}

int gcb_device_encode(struct gcb_device_encoder *e, uint64_t step, uint32_t worker, float *x_dev,
                      float *residual_dev, void *slot_dev, void *scratch_dev, void *stream,
                      struct gcb_diag *diag)
{
    const struct gcb_device_slot_fns *slot;
    struct gcb_device_input in;
    struct gcb_device_call call;
    struct gcb_cuda_slot_rest rest;
    int err = e ? 0 : gcb_diag_set(diag, GCB_E_INVALID, "the encoder is NULL");

    if (!err)
        err = check_encode(e, x_dev, residual_dev, slot_dev, scratch_dev, diag);
    if (!err)
        err = begin_call(e, stream, diag);
    if (err)
        return err;
    slot = &e->device.module->slot;
    in = (struct gcb_device_input){
        .x = x_dev,
        .n = count_of(e),
        .residual = residual_dev,
        .carry = (float)e->memory.decay,
    };
    call = (struct gcb_device_call){
        .at = {.step = step, .worker = worker},
        .stream = e->stream,
        .scratch_dev = align_scratch(scratch_dev),
        .result_dev = slot_dev,
    };
    rest = (struct gcb_cuda_slot_rest){
        .first = (uint8_t *)slot_dev + HEAD + payload_bytes(e),
        .bytes = (unsigned)(gcb_cuda_align256(payload_bytes(e)) - payload_bytes(e)),
    };
    e->device.module->stream.zero(e->stream, slot_dev, HEAD);
    slot->begin(e->stream, &in, call.result_dev);
    in.compensated = 1;
    if (residual_dev)
        slot->spare(e->stream, &in, call.result_dev);
    err =
        e->encoder->there->encode_async(e->encoder->state, &in, (uint8_t *)slot_dev + HEAD, &call);
    slot->end(e->stream, &in, call.result_dev, &rest);
    return end_call(e, err, diag);
}

/* The messages that a sum adds, and its memory on the device. */
struct summands {
    struct gcb_cuda_slots slots;
    const float *weights; /* NULL: each is 1 / slots.count */
    struct gcb_device_result *results;
    void *scratch_dev; /* the decoder's scratch */
};

static const uint8_t *payload_at(const struct summands *p, unsigned i)
{
    return p->slots.first + i * p->slots.apart + HEAD;
}

static float weight_at(const struct summands *p, unsigned i)
{
    return p->weights ? p->weights[i] : (float)(1.0 / p->slots.count);
}

/* Queues the sum in as few launches as possible. A launch adds at most GCB_CUDA_PAYLOADS
 * messages. */
static int add_together(struct gcb_device_encoder *e, const struct summands *p, float *out_dev)
{
    int err = 0;

    for (unsigned i = 0; i < p->slots.count && !err; i += GCB_CUDA_PAYLOADS) {
        const unsigned left = p->slots.count - i;
        struct gcb_cuda_payloads some = {
            .first = payload_at(p, i),
            .apart = p->slots.apart,
            .result = p->results + i,
            .count = left < GCB_CUDA_PAYLOADS ? left : GCB_CUDA_PAYLOADS,
            .joins = i > 0,
        };

        for (unsigned k = 0; k < some.count; k++)
            some.weight[k] = weight_at(p, i + k);
        err = e->decoder->there->sum_async(e->decoder->state, &some, out_dev, e->stream);
    }
    return err;
}

/* Queues the additions of the messages one by one. */
static int add_each(struct gcb_device_encoder *e, const struct summands *p, float *out_dev)
{
    const struct gcb_coder *c = e->decoder;
    struct gcb_device_call call = {.stream = e->stream, .scratch_dev = p->scratch_dev};
    int err = e->device.module->stream.zero(e->stream, out_dev, count_of(e) * sizeof(*out_dev));

    for (unsigned i = 0; i < p->slots.count && !err; i++) {
        call.result_dev = p->results + i;
        err = c->there->sum->add_async(c->state, payload_at(p, i), payload_bytes(e), out_dev,
                                       weight_at(p, i), &call);
    }
    return err;
}

static int check_sum(const struct gcb_device_encoder *e, const void *slots_dev, unsigned workers,
                     const float *weights, const float *out_dev, const void *scratch_dev,
                     struct gcb_diag *diag)
{
    int err = workers ? 0 : gcb_diag_set(diag, GCB_E_INVALID, "there are 0 workers");

    for (unsigned i = 0; weights && !err && i < workers; i++)
        if (!isfinite(weights[i]))
            err = gcb_diag_set(diag, GCB_E_INVALID, "weight %u is not finite", i);
    if (!err)
        err = check_array(slots_dev, "the array of slots", diag);
    if (!err && count_of(e))
        err = check_array(out_dev, "the sum", diag);
    return err ? err : check_array(scratch_dev, "the scratch", diag);
}

int gcb_device_sum_slots(struct gcb_device_encoder *e, const void *slots_dev, unsigned workers,
                         const float *weights, float *out_dev, void *scratch_dev, void *stream,
                         struct gcb_diag *diag)
{
    const struct gcb_device_module *module;
    struct sum_scratch size;
    struct summands p;
    uint8_t *scratch;
    int err = e ? 0 : gcb_diag_set(diag, GCB_E_INVALID, "the encoder is NULL");

    if (!err)
        err = check_sum(e, slots_dev, workers, weights, out_dev, scratch_dev, diag);
    if (!err)
        err = begin_call(e, stream, diag);
    if (err)
        return err;
    module = e->device.module;
    size = sum_scratch(e, workers);
    scratch = align_scratch(scratch_dev);
    p = (struct summands){
        .slots = {.first = slots_dev, .apart = gcb_device_slot_bytes(e), .count = workers},
        .weights = weights,
        .results = (struct gcb_device_result *)scratch,
        .scratch_dev = scratch + size.results,
    };
    p.slots.decoded = p.results;
    module->stream.zero(e->stream, p.results, workers * sizeof(*p.results));
    err = e->decoder->there->sum_async ? add_together(e, &p, out_dev) : add_each(e, &p, out_dev);
    module->slot.poison(e->stream, out_dev, count_of(e), &p.slots);
    return end_call(e, err, diag);
}
