#include "src/lib/sum/sum.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

struct gcb_sum {
    /* Decoder of the sum's method. Its canvas is the sum's canvas. NULL: no method yet. */
    struct gcb_coder *main;
    struct gcb_coder *other; /* decoder of the last message that did not fit `main`, or NULL */
    struct gcb_coder_config config;
    struct gcb_codec_env_copy kept; /* what config.env points to */
    uint64_t count;                 /* number of elements */
    float *into;                    /* the caller's tensor, or NULL */
    float *elements;                /* `into`, or an array that the sum owns; NULL: no array yet */
    float *scratch; /* the inverse transform, if `elements` gets the result; NULL until needed */
    /* the canvas, or the array of elements, has valid values: what was added since the last result,
     * or zeros */
    bool canvas_begun, elements_begun;
};

/* ---- opening and closing ---- */

/* Opens a sum of messages of the method or, if `method` is NULL, of the method that a message's
 * frame names. */
static int open_sum(struct gcb_sum **out, const struct gcb_method *method,
                    const struct gcb_frame *frame, float *into,
                    const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_sum *s = gcb_alloc_zero(1, sizeof(*s));
    int err;

    if (!s)
        return gcb_diag_nomem(diag, sizeof(*s), "a sum");
    s->config = *config;
    s->config.place = NULL; /* on the host; src/lib/coder/slot.c adds messages on a device */
    s->config.env.decoding = true;
    s->into = s->elements = into;
    err = gcb_codec_env_keep(&s->config.env, &s->kept, diag);
    if (!err)
        err = method ? gcb_coder_create(&s->main, method, &s->config, diag)
                     : gcb_coder_create_like(&s->main, frame, &s->config, diag);
    if (err) {
        gcb_sum_close(s);
        return err;
    }
    s->count = gcb_coder_elements(s->main);
    s->config.max_elements = 0; /* no limit is needed: `add` refuses other counts */
    *out = s;
    return 0;
}

int gcb_sum_create(struct gcb_sum **out, const struct gcb_method *method, float *into,
                   const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    return open_sum(out, method, NULL, into, config, diag);
}

int gcb_sum_create_like(struct gcb_sum **out, const void *message, size_t length, float *into,
                        const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (!err)
        err = open_sum(out, NULL, &frame, into, config, diag);
    if (!err && frame.flags & GCB_WIRE_STORED) {
        (*out)->other = (*out)->main;
        (*out)->main = NULL;
    }
    return err;
}

void gcb_sum_close(struct gcb_sum *s)
{
    if (!s)
        return;
    gcb_coder_destroy(s->main);
    gcb_coder_destroy(s->other);
    if (s->elements != s->into)
        gcb_free(s->elements);
    gcb_free(s->scratch);
    gcb_codec_env_drop(&s->kept);
    gcb_free(s);
}

/* ---- adding ---- */

/* Finds a decoder that accepts the frame and adds to elements: s->main, or s->other, which it makes
 * anew if needed. */
static int find_decoder(struct gcb_sum *s, const struct gcb_frame *frame, struct gcb_coder **out,
                        struct gcb_diag *diag)
{
    int err = GCB_E_MISMATCH;

    *out = s->main;
    if (s->main && !gcb_coder_has_canvas(s->main))
        err = gcb_coder_adopt(s->main, frame, diag);
    if (err != GCB_E_MISMATCH)
        return err;
    err = s->other ? gcb_coder_adopt(s->other, frame, NULL) : GCB_E_MISMATCH;
    if (err) {
        gcb_coder_destroy(s->other);
        s->other = NULL;
        err = gcb_coder_create_like(&s->other, frame, &s->config, diag);
    }
    *out = s->other;
    return err;
}

static int add_to_elements(struct gcb_sum *s, const struct gcb_frame *frame, const void *message,
                           size_t length, float weight, struct gcb_diag *diag)
{
    struct gcb_addition to = {.weight = weight};
    struct gcb_coder *decoder = NULL;
    int err;

    if (!s->elements)
        s->elements = gcb_alloc_array(s->count, sizeof(*s->elements));
    if (!s->elements)
        return gcb_diag_nomem(diag, s->count * sizeof(*s->elements), "a sum");
    err = find_decoder(s, frame, &decoder, diag);
    if (err)
        return err;
    if (!s->elements_begun)
        memset(s->elements, 0, s->count * sizeof(*s->elements));
    to.acc = s->elements;
    err = gcb_coder_add(decoder, message, length, &to, diag);
    s->elements_begun |= !err;
    return err;
}

/* Adds a message to the canvas if it fits there, otherwise to the elements. */
static int add_message(struct gcb_sum *s, const struct gcb_frame *frame, const void *message,
                       size_t length, float weight, struct gcb_diag *diag)
{
    int err = GCB_E_MISMATCH;

    if (s->main && gcb_coder_has_canvas(s->main))
        err = gcb_coder_collect(s->main, message, length, weight, s->canvas_begun, diag);
    if (err == GCB_E_MISMATCH)
        return add_to_elements(s, frame, message, length, weight, diag);
    s->canvas_begun |= !err;
    return err;
}

/* For a sum that was opened from a stored message: adds the first message that is not stored. The
 * sum takes the message's method, unless there is an error. */
static int add_first(struct gcb_sum *s, const struct gcb_frame *frame, const void *message,
                     size_t length, float weight, struct gcb_diag *diag)
{
    int err = gcb_coder_create_like(&s->main, frame, &s->config, diag);

    if (!err)
        err = add_message(s, frame, message, length, weight, diag);
    if (err) {
        gcb_coder_destroy(s->main);
        s->main = NULL;
    }
    return err;
}

/* Adds a message. With `checks`, first compares its checksum. */
static int add(struct gcb_sum *s, const void *message, size_t length, float weight, bool checks,
               struct gcb_diag *diag)
{
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (!err && checks)
        err = gcb_message_check(message, length, 0, diag);
    if (!err && !isfinite(weight))
        err = gcb_invalid(diag, "a weight must be finite");
    if (!err && frame.count != s->count)
        err = gcb_diag_set(diag, GCB_E_MISMATCH,
                           "the message has %" PRIu64 " elements, the sum %" PRIu64, frame.count,
                           s->count);
    if (err)
        return err;
    if (!s->main && !(frame.flags & GCB_WIRE_STORED))
        return add_first(s, &frame, message, length, weight, diag);
    return add_message(s, &frame, message, length, weight, diag);
}

int gcb_sum_add(struct gcb_sum *s, const void *message, size_t length, float weight,
                struct gcb_diag *diag)
{
    const int err = gcb_need(s, "the sum", diag);

    return err ? err : add(s, message, length, weight, true, diag);
}

int gcb_sum_add_checked(struct gcb_sum *s, const void *message, size_t length, float weight,
                        struct gcb_diag *diag)
{
    return add(s, message, length, weight, false, diag);
}

/* ---- finishing, and beginning the next sum ---- */

/* Writes the inverse transform of the canvas plus the elements to x. If x is the elements' array,
 * the transform goes to scratch first. */
static int finish_canvas(struct gcb_sum *s, float *x, struct gcb_diag *diag)
{
    float *rebuilt = x;
    int err;

    if (s->elements_begun && x == s->elements) {
        if (!s->scratch)
            s->scratch = gcb_alloc_array(s->count, sizeof(*s->scratch));
        if (!s->scratch)
            return gcb_diag_nomem(diag, s->count * sizeof(*s->scratch), "a sum");
        rebuilt = s->scratch;
    }
    err = gcb_coder_rebuild(s->main, rebuilt, diag);
    if (!err && s->elements_begun)
        gcb_add_raw(&(struct gcb_addition){.acc = x, .weight = 1.0f},
                    rebuilt == x ? s->elements : rebuilt, s->count, GCB_F32, s->config.env.kernels,
                    s->config.env.queue);
    return err;
}

int gcb_sum_finish(struct gcb_sum *s, float *x, struct gcb_diag *diag)
{
    static float none; /* where a tensor without elements begins */
    int err = gcb_need(s, "the sum", diag);
    float *out;

    if (err)
        return err;
    out = x ? x : s->into;
    if (!out && s->count)
        return gcb_invalid(diag, "the sum needs a tensor to write to");
    out = out ? out : &none;
    if (s->canvas_begun)
        err = finish_canvas(s, out, diag);
    else if (!s->elements_begun)
        memset(out, 0, s->count * sizeof(*out));
    else if (out != s->elements)
        memcpy(out, s->elements, s->count * sizeof(*out));
    if (!err)
        gcb_sum_clear(s);
    return err;
}

void gcb_sum_set_into(struct gcb_sum *s, float *into)
{
    const bool owned = s->elements != s->into;

    /* the sum keeps an array of its own until the caller gives one */
    if (owned && into)
        gcb_free(s->elements);
    if (!owned || into)
        s->elements = into;
    s->into = into;
    gcb_sum_clear(s);
    if (into && s->main && !gcb_coder_has_canvas(s->main)) {
        memset(into, 0, s->count * sizeof(*into));
        s->elements_begun = true;
    }
}

void gcb_sum_clear(struct gcb_sum *s)
{
    s->canvas_begun = s->elements_begun = false;
}
