#include "tests/tool/run/saboteur.h"

#include <math.h>
#include <string.h>

#include "tests/support/test.h"
/* The last byte of the payload of methods that take any byte there. */
static void flip(struct gcb_wbuf *out)
{
    out->data[out->len - 1] ^= 1;
}

int saboteur_encode(void *ctx, const struct gcb_promise_job *job, struct gcb_wbuf *out,
                    struct gcb_diag *diag)
{
    struct saboteur *s = ctx;
    struct gcb_promise_job mine = *job;
    int err;

    if (s->fault == ONE_WORKER)
        mine.at.worker = 0;
    if (s->fault == ONE_SEED)
        mine.config.env.seed = 1;
    err = gcb_promise_coders.encode(NULL, &mine, out, diag);
    s->calls++;
    if (s->fault == DEVICE_FAILS)
        return gcb_diag_set(diag, GCB_E_DEVICE, "a fault");
    if (s->fault == OTHER_BYTES || (s->fault == FORGETS && s->calls % 2) ||
        (s->fault == WEARS_OUT && job->repeats > 1) ||
        (s->fault == BY_THREADS && job->config.env.queue->threads > 1) ||
        (s->fault == BY_ISA && job->config.env.kernels != s->own))
        flip(out);
    if (s->fault == TOO_LONG)
        while (out->len < out->cap)
            gcb_put_u8(out, 0);
    return err;
}

static float *largest_of(float *y, uint64_t n)
{
    float *at = y;

    for (uint64_t i = 0; i < n; i++)
        if (fabsf(y[i]) > fabsf(*at))
            at = &y[i];
    return at;
}

static void damage(struct saboteur *s, const float *x, float *y, uint64_t n)
{
    float *top = largest_of(y, n);

    if (s->fault == WRITES_OUTSIDE)
        y[n] = 0.0f;
    if (s->fault == MAKES_NAN)
        y[n / 2] = NAN;
    if (s->fault == FLICKERS)
        y[0] += (float)++s->calls;
    if (s->fault == NUDGES)
        *top *= 1.001f;
    if (s->fault == DOUBLES)
        *top *= 2.0f;
    if (s->fault == DROPS_LARGEST)
        *top = 0.0f;
    for (uint64_t i = 0; i < n; i++) {
        y[i] *= s->fault == SHRINKS        ? 0.99f
                : s->fault == SHRINKS_MUCH ? 0.75f
                : s->fault == NEGATES      ? -1.0f
                                           : 1.0f;
        y[i] += s->fault == SHIFTS ? 1e-3f * fabsf(*top) : 0.0f;
        if (s->fault == SCATTERS)
            y[i] = x[i] + 1.1f * (y[i] - x[i]);
    }
}

/* Messages of TOO_LONG carry zeros after their end. */
static size_t own_length(const void *message, size_t length)
{
    struct gcb_frame frame;
    struct gcb_rbuf payload;

    while (length > 0 && gcb_frame_parse(&frame, &payload, message, length, NULL))
        length--;
    return length;
}

int saboteur_decode(void *ctx, const struct gcb_promise_job *job, const void *message,
                    size_t length, const struct gcb_mview *out, struct gcb_message_parts *parts,
                    struct gcb_diag *diag)
{
    struct saboteur *s = ctx;
    const float first = out->data[0];
    const size_t real = s->fault == TOO_LONG ? own_length(message, length) : length;
    int err = gcb_promise_coders.decode(NULL, job, message, real, out, parts, diag);

    if (s->fault == FAILS)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "sabotage");
    if (s->fault == ENDS && !parts) /* the message was damaged */
        return gcb_diag_set(diag, GCB_E_IO, "sabotage");
    if ((s->fault == TAKES_CUT && length > 20) || s->fault == TAKES_MORE)
        err = 0;
    if (s->fault == LEAVES_OUT)
        memcpy(out->data, &first, sizeof(first));
    if (parts && s->fault == ODD_PARTS)
        parts->payload.value_bytes++;
    if (parts && s->fault == FEWER_KEPT)
        parts->payload.kept--;
    damage(s, job->x, out->data, out->count);
    return err;
}

int saboteur_add(void *ctx, struct gcb_sum *sum, const void *message, size_t length, float weight,
                 struct gcb_diag *diag)
{
    struct saboteur *s = ctx;
    int err = gcb_sum_add(sum, message, length, s->fault == IGNORES_WEIGHTS ? 1.0f : weight, diag);

    if (!err)
        s->added = length;
    else if (s->fault == CHANGES_REFUSED && s->added != length)
        assert_int_equal(gcb_sum_add(sum, message, s->added, weight, NULL), 0);
    return s->fault == ADDS_DAMAGED ? 0 : err;
}
