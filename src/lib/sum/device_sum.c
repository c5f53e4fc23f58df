#include "src/lib/sum/device_sum.h"

#include "src/lib/base/alloc.h"
#include "src/lib/sum/sum.h"

struct gcb_device_sum {
    struct gcb_place space;  /* space.tensor takes decoded elements */
    struct gcb_coder *main;  /* decoder of the sum's method */
    struct gcb_coder *other; /* decoder of the last message that `main` did not accept, or NULL */
    uint64_t count;          /* elements */
    void *canvas;            /* device memory, NULL until needed */
    void *elements;          /* device memory, NULL until needed */
    bool canvas_begun, elements_begun; /* something has been added since the last result */
};

int gcb_device_sum_create(struct gcb_device_sum **out, const struct gcb_device *device,
                          const struct gcb_method *method, const struct gcb_coder_config *config,
                          struct gcb_diag *diag)
{
    struct gcb_device_sum *s = gcb_alloc_zero(1, sizeof(*s));
    struct gcb_coder_config decoding = *config;
    int err;

    *out = NULL;
    if (!s)
        return gcb_diag_nomem(diag, sizeof(*s), "a sum");
    s->space.device = device;
    s->count = config->env.count;
    decoding.place = &s->space;
    decoding.env.decoding = true;
    decoding.env.feedback = false;
    err = gcb_coder_create(&s->main, method, &decoding, diag);
    if (err)
        gcb_device_sum_destroy(s);
    else
        *out = s;
    return err;
}

void gcb_device_sum_destroy(struct gcb_device_sum *s)
{
    if (!s)
        return;
    if (s->space.device) {
        gcb_place_fini(&s->space); /* waits for queued work first */
        s->space.device->module->memory.free(s->canvas);
        s->space.device->module->memory.free(s->elements);
    }
    gcb_coder_destroy(s->main);
    gcb_coder_destroy(s->other);
    gcb_free(s);
}

/* ---- adding ---- */

/* Finds a decoder that accepts the frame: s->main, or s->other, which it makes anew if needed. */
static int find_decoder(struct gcb_device_sum *s, const struct gcb_frame *frame,
                        struct gcb_coder **out, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = {.place = &s->space,
                                            .max_elements = s->count ? s->count : 1};
    int err = 0;

    *out = s->main;
    if (gcb_coder_accepts(s->main, frame))
        return 0;
    if (!s->other || !gcb_coder_accepts(s->other, frame)) {
        gcb_coder_destroy(s->other);
        s->other = NULL;
        err = gcb_coder_create_like(&s->other, frame, &config, diag);
    }
    *out = s->other;
    return err;
}

/* Makes room for a call of the decoder, and begins a batch. `tensor` is true if the call decodes to
 * s->space.tensor. */
static int begin_call(struct gcb_device_sum *s, const struct gcb_coder *c, bool tensor,
                      struct gcb_diag *diag)
{
    const struct gcb_place_size size = {.tensor = tensor ? s->count * sizeof(float) : 0,
                                        .scratch = gcb_device_coder_scratch(c)};
    const int err = gcb_place_reserve(&s->space, &size, diag);

    if (!err)
        gcb_device_batch_begin(s->space.batch); /* gcb_device_batch_finish reports a failure */
    return err;
}

/* Allocates an accumulator if there is none, and queues its zeroing if nothing has been added to
 * it. */
static int begin_accumulator(struct gcb_device_sum *s, void **acc, uint64_t bytes, bool begun,
                             struct gcb_diag *diag)
{
    const struct gcb_device_module *module = s->space.device->module;
    const int err = *acc ? 0 : module->memory.alloc(acc, bytes, diag);

    if (!err && !begun)
        module->stream.zero(gcb_device_batch_stream(s->space.batch), *acc, bytes);
    return err;
}

/* Waits for a call. Returns an error of the device, or the status of the message. */
static int finish_call(struct gcb_device_sum *s, struct gcb_coder *c, struct gcb_diag *diag)
{
    const struct gcb_device_message m = {.batch = s->space.batch};
    const int err = gcb_device_batch_finish(s->space.batch, diag);

    if (!err && gcb_device_batch_result(m.batch, m.i)->status == GCB_E_MISMATCH)
        return GCB_E_MISMATCH;
    return err ? err : gcb_device_coder_decode_finish(c, &m, diag);
}

/* Adds the kept positions of a message to the canvas, or to the elements if the decoder has no
 * canvas. Returns GCB_E_MISMATCH if the message does not fit the canvas. */
static int add_entries(struct gcb_device_sum *s, struct gcb_coder *c, const struct gcb_frame *frame,
                       const uint8_t *payload_dev, float weight, struct gcb_diag *diag)
{
    const uint64_t canvas = gcb_device_coder_canvas(c);
    void **acc = canvas ? &s->canvas : &s->elements;
    bool *begun = canvas ? &s->canvas_begun : &s->elements_begun;
    struct gcb_device_addition to = {.weight = weight, .joins = *begun};
    struct gcb_device_message m = {.i = 0};
    int err = begin_call(s, c, false, diag);

    if (!err)
        err = begin_accumulator(s, acc, canvas ? canvas : s->count * sizeof(float), *begun, diag);
    if (err)
        return err;
    to.acc_dev = *acc;
    m.batch = s->space.batch;
    err = gcb_device_coder_add_async(c, frame, payload_dev, &to, &m, diag);
    if (!err)
        err = finish_call(s, c, diag);
    *begun |= !err;
    return err;
}

/* Decodes a message and adds its elements. */
static int add_decoded(struct gcb_device_sum *s, struct gcb_coder *c, const struct gcb_frame *frame,
                       const uint8_t *payload_dev, float weight, struct gcb_diag *diag)
{
    struct gcb_device_message m = {.i = 0};
    struct gcb_device_call call;
    int err = begin_call(s, c, true, diag);

    if (!err)
        err = begin_accumulator(s, &s->elements, s->count * sizeof(float), s->elements_begun, diag);
    if (err)
        return err;
    m.batch = s->space.batch;
    err = gcb_device_coder_decode_async(c, frame, payload_dev, s->space.tensor.dev, &m, diag);
    if (!err)
        err = gcb_device_batch_call(&call, m.batch, m.i, 0, diag);
    if (err)
        return err;
    s->space.device->module->tensor.accumulate(call.stream, s->elements, s->space.tensor.dev,
                                               s->count, weight, call.result_dev);
    err = finish_call(s, c, diag);
    s->elements_begun |= !err;
    return err;
}

int gcb_device_sum_add(struct gcb_device_sum *s, const struct gcb_frame *frame,
                       const uint8_t *payload_dev, float weight, struct gcb_diag *diag)
{
    const bool stored = frame->flags & GCB_WIRE_STORED;
    struct gcb_coder *c = NULL;
    int err;

    err = gcb_sum_check(frame, s->count, weight, diag);
    if (!err)
        err = find_decoder(s, frame, &c, diag);
    if (err)
        return err;
    err = GCB_E_MISMATCH; /* then the message must be decoded and its elements added */
    if (!stored && gcb_device_coder_adds(c) &&
        (!gcb_device_coder_canvas(c) || gcb_device_coder_same_canvas(c, s->main)))
        err = add_entries(s, c, frame, payload_dev, weight, diag);
    return err == GCB_E_MISMATCH ? add_decoded(s, c, frame, payload_dev, weight, diag) : err;
}

/* ---- finishing ---- */

/* Queues the transform of the canvas, and the addition of the elements. */
static int finish_canvas(struct gcb_device_sum *s, float *out_dev, struct gcb_diag *diag)
{
    const struct gcb_device_message m = {.batch = s->space.batch};
    struct gcb_device_call call;
    int err = gcb_device_coder_inverse_async(s->main, s->canvas, out_dev, &m, diag);

    if (!err)
        err = gcb_device_batch_call(&call, m.batch, m.i, 0, diag);
    if (!err && s->elements_begun)
        s->space.device->module->tensor.accumulate(call.stream, out_dev, s->elements, s->count,
                                                   1.0f, call.result_dev);
    return err;
}

int gcb_device_sum_finish(struct gcb_device_sum *s, float *out_dev, struct gcb_diag *diag)
{
    const struct gcb_device_module *module = s->space.device->module;
    const uint64_t bytes = s->count * sizeof(float);
    struct gcb_device_stream *stream;
    int err = begin_call(s, s->main, false, diag);

    if (err)
        return err;
    stream = gcb_device_batch_stream(s->space.batch);
    if (s->canvas_begun)
        err = finish_canvas(s, out_dev, diag);
    else if (s->elements_begun)
        module->stream.copy(stream, out_dev, s->elements, bytes, GCB_COPY_DEVICE);
    else
        module->stream.zero(stream, out_dev, bytes);
    if (!err)
        err = gcb_device_batch_finish(s->space.batch, diag);
    if (!err)
        s->canvas_begun = s->elements_begun = false;
    return err;
}
