#include "src/lib/device/device_group.h"

#include <string.h>

#include "kernels/cuda/align.h"
#include "src/lib/device/device_coder_private.h"

static const struct gcb_device_group_ops *group_ops(const struct gcb_device_coder *c)
{
    return c->state ? c->ops->group : NULL;
}

/* May these two go together? */
static bool alike(const struct gcb_device_coder *a, const struct gcb_device_coder *b)
{
    const struct gcb_device_group_ops *ops = group_ops(a);

    return ops && group_ops(b) == ops && a->module == b->module &&
           a->env.decoding == b->env.decoding &&
           (a->nonfinite == GCB_NONFINITE_TRUSTED) == (b->nonfinite == GCB_NONFINITE_TRUSTED) &&
           (!ops->alike || ops->alike(a->state, b->state));
}

/* Scratch of a message in a group, behind which the next one's begins. */
static uint64_t own_scratch(const struct gcb_device_coder *c)
{
    return gcb_cuda_align256(gcb_device_coder_scratch(c));
}

uint64_t gcb_device_group_scratch(struct gcb_device_coder *const coders[], size_t count)
{
    uint64_t most = 0, sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum = i > 0 && alike(coders[i - 1], coders[i]) ? sum + own_scratch(coders[i])
                                                       : own_scratch(coders[i]);
        most = sum > most ? sum : most;
    }
    return most;
}

/* Is it one that a group can hold? What is wrong with others, a single call finds out. */
static bool fits(const struct gcb_device_coder *c, const struct gcb_frame *frame)
{
    return c->state && gcb_device_coder_accepts(c, frame) && !(frame->flags & GCB_WIRE_STORED) &&
           frame->payload_bytes == c->ops->max_payload(c->state);
}

/*
 * How many of `count` messages go together, from the first on: at least 1. `received` is NULL to encode. None behind the
 * first that does not is looked at, so that many small groups cost no more than one.
 */
static size_t run_of(struct gcb_device_coder *const coders[],
                     const struct gcb_device_received received[],
                     const struct gcb_device_message messages[], size_t count)
{
    const uint64_t room = gcb_device_batch_scratch(messages[0].batch);
    const uint64_t tables = gcb_device_batch_tables(messages[0].batch);
    uint64_t scratch = own_scratch(coders[0]), elements = coders[0]->env.count;
    size_t n = 1;

    if (received && !fits(coders[0], received[0].frame))
        return 1;
    for (; n < count && n < tables; n++) {
        scratch += own_scratch(coders[n]);
        elements += coders[n]->env.count;
        if (!alike(coders[0], coders[n]) || messages[n].batch != messages[0].batch ||
            scratch > room || elements > GCB_DEVICE_GROUP_ELEMENTS ||
            (received && !fits(coders[n], received[n].frame)))
            break;
    }
    return n;
}

/* Sets messages of a group up to what differs between encoding and decoding. */
static int open_items(const struct gcb_device_group *g, struct gcb_device_coder *const coders[],
                      const struct gcb_device_message messages[], struct gcb_diag *diag)
{
    uint64_t used = 0;
    int err = 0;

    for (unsigned i = 0; i < g->count && !err; i++) {
        struct gcb_device_call call;

        err = gcb_device_batch_call(&call, messages[i].batch, messages[i].i,
                                    gcb_device_coder_scratch(coders[i]), diag);
        if (err)
            break;
        memset(&g->items[i], 0, sizeof(g->items[i]));
        g->items[i].result = call.result_dev;
        g->items[i].scratch = (uint8_t *)call.scratch_dev + used;
        used += own_scratch(coders[i]);
    }
    return err;
}

static int encode_group(const struct gcb_device_group *g, struct gcb_device_coder *const coders[],
                        const struct gcb_step *at, const struct gcb_device_message messages[],
                        struct gcb_diag *diag)
{
    const struct gcb_device_group_ops *ops = group_ops(coders[0]);
    struct gcb_device_stream *s = gcb_device_batch_stream(messages[0].batch);
    int err = 0;

    for (unsigned i = 0; i < g->count && !err; i++)
        err = gcb_device_coder_takes(coders[i], &messages[i], diag);
    if (err)
        return err;
    for (unsigned i = 0; i < g->count; i++) {
        g->items[i].in = gcb_device_coder_input(coders[i], &messages[i], 0);
        g->items[i].payload = messages[i].payload_dev;
        if (ops->fill)
            ops->fill(coders[i]->state, at, &g->items[i]);
    }
    err = ops->encode_async(coders[0]->state, g, s);
    /* behind it, because what is encoded is what has to be finite */
    if (!err && coders[0]->nonfinite != GCB_NONFINITE_TRUSTED)
        err = coders[0]->module->max_bits_group(s, g);
    return gcb_device_coder_queued(coders[0], err, diag);
}

int gcb_device_group_encode_async(struct gcb_device_coder *const coders[],
                                  const struct gcb_step *at,
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0, n; i < count && !err; i += n) {
        n = coders[i]->env.decoding ? 1 : run_of(coders + i, NULL, messages + i, count - i);
        if (n > 1) {
            const struct gcb_device_group g =
                gcb_device_batch_group(messages[i].batch, (unsigned)n);

            err = open_items(&g, coders + i, messages + i, diag);
            if (!err)
                err = encode_group(&g, coders + i, at, messages + i, diag);
        } else {
            err = gcb_device_coder_encode_async(coders[i], at, &messages[i], diag);
        }
    }
    return err;
}

static int decode_group(const struct gcb_device_group *g, struct gcb_device_coder *const coders[],
                        const struct gcb_device_received received[],
                        const struct gcb_device_message messages[], struct gcb_diag *diag)
{
    const struct gcb_device_group_ops *ops = group_ops(coders[0]);
    int err;

    for (unsigned i = 0; i < g->count; i++) {
        g->items[i].in = gcb_device_plain(received[i].out_dev, coders[i]->env.count);
        g->items[i].payload = (uint8_t *)(uintptr_t)received[i].payload_dev;
        if (ops->fill)
            ops->fill(coders[i]->state, NULL, &g->items[i]);
    }
    err = ops->decode_async(coders[0]->state, g, gcb_device_batch_stream(messages[0].batch));
    return gcb_device_coder_queued(coders[0], err, diag);
}

int gcb_device_group_decode_async(struct gcb_device_coder *const coders[],
                                  const struct gcb_device_received received[],
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0, n; i < count && !err; i += n) {
        n = run_of(coders + i, received + i, messages + i, count - i);
        if (n > 1) {
            const struct gcb_device_group g =
                gcb_device_batch_group(messages[i].batch, (unsigned)n);

            err = open_items(&g, coders + i, messages + i, diag);
            if (!err)
                err = decode_group(&g, coders + i, received + i, messages + i, diag);
        } else {
            err =
                gcb_device_coder_decode_async(coders[i], received[i].frame, received[i].payload_dev,
                                              received[i].out_dev, &messages[i], diag);
        }
    }
    return err;
}
