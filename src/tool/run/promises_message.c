#include <math.h>
#include <string.h>

#include "src/tool/run/device_check.h"
#include "src/tool/run/promises.h"

/* Promises about every message: it decodes, every run and machine makes the same bytes, and it is no longer than promised. */

static bool binds_all(const struct gcb_method *m)
{
    (void)m;
    return true;
}

static enum gcb_promise_status check_round_trip(struct gcb_promise_case *c)
{
    const struct gcb_mview again = {c->z, c->job.config.env.count};
    struct gcb_diag why = {.status = 0};
    int err;

    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    err = c->backend->decode(c->backend->ctx, &c->job, c->message.data, c->message.len, &again,
                             NULL, &why);
    gcb_promise_note_failure(c, err, &why);
    if (err || memcmp(c->y, c->z, again.count * sizeof(float)) != 0)
        return gcb_promise_broken(c, NAN, NAN,
                                  "decoding the message twice gives different tensors");
    return gcb_promise_kept(c, NAN, NAN);
}

/* ---- the same bytes ---- */

/* Counts the bytes in which two messages differ. The extra bytes of the longer message count too. */
static double count_differing(const struct gcb_wbuf *a, const struct gcb_wbuf *b)
{
    const size_t n = a->len < b->len ? a->len : b->len;
    size_t count = (a->len > b->len ? a->len : b->len) - n;

    for (size_t i = 0; i < n; i++)
        count += a->data[i] != b->data[i];
    return (double)count;
}

/* Returns the distance of two tensors of n elements as a share of the norm. First subtracts what rounding near the
 * smallest float can cause, so that two tensors of zeros do not differ. */
static double share_of_norm(double distance, double norm, uint64_t n)
{
    const double beyond = distance - gcb_device_rounding(n);

    return beyond <= 0.0 ? 0.0 : beyond / norm;
}

/* Compares the two messages that were sent, and the tensors decoded from them. */
static enum gcb_promise_status compare_sent(struct gcb_promise_case *c, bool tolerant,
                                            const char *words)
{
    const uint64_t n = c->job.config.env.count;
    double bytes, apart;

    bytes = count_differing(&c->message, &c->other);
    if (bytes == 0.0 && memcmp(c->y, c->z, n * sizeof(float)) == 0)
        return gcb_promise_kept(c, 0.0, 0.0);
    if (!tolerant || !(gcb_method_caps(c->job.method) & GCB_CAP_LIBRARY_MATH))
        return gcb_promise_broken(c, bytes, 0.0, "%s: %.0f bytes of the message differ", words,
                                  bytes);
    apart = share_of_norm(fabs(sqrt(gcb_promise_distance(c->job.x, c->y, n)) -
                               sqrt(gcb_promise_distance(c->job.x, c->z, n))),
                          sqrt(c->energy), n);
    return gcb_promise_at_most(c, apart, GCB_MESSAGES_APART, words);
}

static enum gcb_promise_status send_and_compare(struct gcb_promise_case *c,
                                                const struct gcb_promise_job *job, bool tolerant,
                                                const char *words)
{
    if (!gcb_promise_send(c) || !gcb_promise_send_other(c, job))
        return GCB_PROMISE_BROKEN;
    return compare_sent(c, tolerant, words);
}

static enum gcb_promise_status check_same_bytes(struct gcb_promise_case *c)
{
    struct gcb_promise_job again = c->job;
    const enum gcb_promise_status status = send_and_compare(c, &again, false, "encoding twice");

    if (status != GCB_PROMISE_KEPT || gcb_method_caps(c->job.method) & GCB_CAP_STATEFUL)
        return status;
    again.repeats = 2; /* one coder encodes twice */
    return send_and_compare(c, &again, false, "encoding twice by one coder");
}

static enum gcb_promise_status check_same_threads(struct gcb_promise_case *c)
{
    const struct gcb_queue two = {.threads = 2};
    struct gcb_promise_job other = c->job;

    other.config.env.queue = &two;
    return send_and_compare(c, &other, true, "one thread and two threads");
}

static enum gcb_promise_status check_same_isa(struct gcb_promise_case *c)
{
    struct gcb_promise_job other = c->job;
    struct gcb_kernels plain;

    gcb_kernels_init(&plain, 0);
    other.config.env.kernels = &plain;
    return send_and_compare(c, &other, true, "plain C and this machine's kernels");
}

/* ---- a device and the CPU ---- */

/* Does the device decode the message to the same tensor as the CPU? The tensors are in c->y and c->z. */
static bool read_alike(struct gcb_promise_case *c, const struct gcb_wbuf *message,
                       const char *words)
{
    const uint64_t n = c->job.config.env.count;
    const struct gcb_mview there = {c->y, n}, here = {c->z, n};
    const bool exact = !(gcb_method_caps(c->job.method) & GCB_CAP_LIBRARY_MATH);
    struct gcb_promise_job on_host = c->job;
    struct gcb_diag why = {.status = 0};
    double apart;

    on_host.config.place = NULL;
    if (c->backend->decode(c->backend->ctx, &c->job, message->data, message->len, &there, NULL,
                           &why) ||
        gcb_promise_coders.decode(NULL, &on_host, message->data, message->len, &here, NULL, &why)) {
        gcb_promise_broken(c, NAN, NAN, "%s cannot be decoded: %.100s", words, why.text);
        return false;
    }
    if (memcmp(c->y, c->z, n * sizeof(float)) == 0)
        return true;
    apart = share_of_norm(sqrt(gcb_promise_distance(c->z, c->y, n)),
                          sqrt(gcb_promise_energy(c->z, n)), n);
    if (!exact && apart <= GCB_DECODERS_APART)
        return true;
    gcb_promise_broken(
        c, apart, exact ? 0.0 : GCB_DECODERS_APART,
        "the device and the CPU decode %s to tensors that differ by %.3g of the norm", words,
        apart);
    return false;
}

static enum gcb_promise_status check_same_device(struct gcb_promise_case *c)
{
    if (!gcb_promise_send(c) || !gcb_promise_send_here(c))
        return GCB_PROMISE_BROKEN;
    if (compare_sent(c, true, "the device and the CPU") != GCB_PROMISE_KEPT ||
        !read_alike(c, &c->message, "the device's message") ||
        !read_alike(c, &c->other, "the CPU's message"))
        return GCB_PROMISE_BROKEN;
    return GCB_PROMISE_KEPT;
}

/* ---- size ---- */

static enum gcb_promise_status check_size(struct gcb_promise_case *c)
{
    const struct gcb_parts *p = &c->parts.payload;
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    uint64_t raw;

    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    if (gcb_frame_parse(&frame, &payload, c->message.data, c->message.len, NULL))
        return gcb_promise_broken(c, NAN, NAN, "the output is not a message");
    if (c->message.len > c->max_message)
        return gcb_promise_broken(
            c, (double)c->message.len, (double)c->max_message,
            "message longer than the bound of its coder: %zu bytes, at most %llu", c->message.len,
            (unsigned long long)c->max_message);
    raw = frame.count * gcb_raw_size(frame.source);
    if (frame.payload_bytes > raw)
        return gcb_promise_broken(c, (double)frame.payload_bytes, (double)raw,
                                  "payload longer than the tensor: %llu bytes, at most %llu",
                                  (unsigned long long)frame.payload_bytes, (unsigned long long)raw);
    if (c->parts.wire_bytes != c->message.len ||
        c->parts.header_bytes + p->scale_bytes + p->value_bytes + p->index_bytes != c->message.len)
        return gcb_promise_broken(
            c, NAN, NAN, "the parts of the message do not add up to its %zu bytes", c->message.len);
    return gcb_promise_kept(c, (double)c->message.len, (double)c->max_message);
}

/* ---- damage ---- */

static bool refuses(struct gcb_promise_case *c, size_t length)
{
    const struct gcb_mview view = {c->z, c->job.config.env.count};
    struct gcb_diag why = {.status = 0};
    const int err =
        c->backend->decode(c->backend->ctx, &c->job, c->message.data, length, &view, NULL, &why);

    gcb_promise_note_failure(c, err, &why);
    return err != 0;
}

static enum gcb_promise_status check_refuses_cut(struct gcb_promise_case *c)
{
    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    for (size_t length = c->message.len; length-- > 0; length = length > 64 ? length / 2 : length)
        if (!refuses(c, length))
            return gcb_promise_broken(c, (double)length, NAN,
                                      "the decoder accepts the first %zu of %zu bytes as a message",
                                      length, c->message.len);
    c->message.data[c->message.len] = 0; /* the buffer is larger than the message */
    if (!refuses(c, c->message.len + 1))
        return gcb_promise_broken(c, NAN, NAN,
                                  "the decoder accepts a message with an additional byte");
    return gcb_promise_kept(c, NAN, NAN);
}

const struct gcb_promise gcb_promises_message[] = {
    {"round-trip",
     "the message is decoded to the same tensor twice, without a gap or a write outside",
     "docs/format.md", binds_all, check_round_trip},
    {"same-bytes", "encoding twice gives the same bytes", "docs/format.md", binds_all,
     check_same_bytes},
    {"size", "the message is within the bound, and no longer than the tensor; its parts add up",
     "docs/format.md", binds_all, check_size},
    {"refuses-cut", "a message that is cut short or has an additional byte is refused",
     "docs/format.md", binds_all, check_refuses_cut},
    {.name = NULL},
};

const struct gcb_promise gcb_promises_cpu[] = {
    {"same-threads", "one thread and two threads give the same bytes", "docs/method.md", binds_all,
     check_same_threads},
    {"same-isa", "plain C and the widest kernels give the same bytes", "docs/method.md", binds_all,
     check_same_isa},
    {.name = NULL},
};

const struct gcb_promise gcb_promises_device[] = {
    {"same-device", "a device and the CPU encode the same message and decode it to the same tensor",
     "docs/method.md", binds_all, check_same_device},
    {.name = NULL},
};
