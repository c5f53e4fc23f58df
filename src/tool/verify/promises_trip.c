#include <math.h>
#include <string.h>

#include "src/lib/codec/framing.h"
#include "src/tool/trial/device_check.h"
#include "src/tool/verify/promises.h"

/* What holds for every message: it comes back, it is the same whoever makes it, it is no longer than promised. */

static bool every(const struct gcb_method *m)
{
    (void)m;
    return true;
}

static int round_trip(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                      struct gcb_diag *diag)
{
    const struct gcb_mview again = {b->z, b->job.config.env.count};
    struct gcb_diag why = {.status = 0};
    int err;

    (void)diag;
    if (!gcb_promise_send(b, out))
        return 0;
    err =
        b->trip->decode(b->trip->ctx, &b->job, b->message.data, b->message.len, &again, NULL, &why);
    gcb_promise_note_failure(b, err, &why);
    if (err || memcmp(b->y, b->z, again.count * sizeof(float)) != 0)
        return gcb_promise_broken(out, NAN, NAN, "decoding twice gives two tensors");
    return gcb_promise_kept(out, NAN, NAN);
}

/* ---- the same bytes ---- */

/* How many bytes of the two messages differ, the longer one's rest included. */
static double differing(const struct gcb_wbuf *a, const struct gcb_wbuf *b)
{
    const size_t n = a->len < b->len ? a->len : b->len;
    size_t count = (a->len > b->len ? a->len : b->len) - n;

    for (size_t i = 0; i < n; i++)
        count += a->data[i] != b->data[i];
    return (double)count;
}

/* A distance of n elements in norms, but for what rounding near the smallest float comes to: a tensor of zeros has none. */
static double in_norms(double distance, double norm, uint64_t n)
{
    const double beyond = distance - gcb_device_rounding(n);

    return beyond <= 0.0 ? 0.0 : beyond / norm;
}

/* The two that were sent. */
static int compare_sent(struct gcb_promise_bench *b, bool tolerant, const char *words,
                        struct gcb_promise_outcome *out)
{
    const uint64_t n = b->job.config.env.count;
    double bytes, apart;

    bytes = differing(&b->message, &b->other);
    if (bytes == 0.0 && memcmp(b->y, b->z, n * sizeof(float)) == 0)
        return gcb_promise_kept(out, 0.0, 0.0);
    if (!tolerant || !(gcb_method_caps(b->job.method) & GCB_CAP_LIBRARY_MATH))
        return gcb_promise_broken(out, bytes, 0.0, "%s: %.0f bytes of the message differ", words,
                                  bytes);
    apart = in_norms(fabs(sqrt(gcb_promise_distance(b->job.x, b->y, n)) -
                          sqrt(gcb_promise_distance(b->job.x, b->z, n))),
                     sqrt(b->energy), n);
    return gcb_promise_at_most(out, apart, GCB_MESSAGES_APART, words);
}

static int compare(struct gcb_promise_bench *b, const struct gcb_promise_job *job, bool tolerant,
                   const char *words, struct gcb_promise_outcome *out)
{
    if (!gcb_promise_send(b, out) || !gcb_promise_send_other(b, job, out))
        return 0;
    return compare_sent(b, tolerant, words, out);
}

static int same_bytes(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                      struct gcb_diag *diag)
{
    struct gcb_promise_job again = b->job;
    const int err = compare(b, &again, false, "encoding twice", out);

    (void)diag;
    if (err || out->status != GCB_PROMISE_KEPT || gcb_method_caps(b->job.method) & GCB_CAP_STATEFUL)
        return err;
    again.repeats = 2; /* by one coder */
    return compare(b, &again, false, "encoding twice by one coder", out);
}

static int same_threads(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                        struct gcb_diag *diag)
{
    const struct gcb_queue two = {.threads = 2};
    struct gcb_promise_job other = b->job;

    (void)diag;
    other.config.env.queue = &two;
    return compare(b, &other, true, "one thread and two", out);
}

static int same_isa(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                    struct gcb_diag *diag)
{
    struct gcb_promise_job other = b->job;
    struct gcb_kernels plain;

    (void)diag;
    gcb_kernels_init(&plain, 0);
    other.config.env.kernels = &plain;
    return compare(b, &other, true, "plain C and this machine's kernels", out);
}

/* ---- a device and the CPU ---- */

/* Do the trip and the CPU decode it to the same tensor? What they make of it is in b->y and b->z. */
static bool read_alike(struct gcb_promise_bench *b, const struct gcb_wbuf *message,
                       const char *words, struct gcb_promise_outcome *out)
{
    const uint64_t n = b->job.config.env.count;
    const struct gcb_mview there = {b->y, n}, here = {b->z, n};
    const bool exact = !(gcb_method_caps(b->job.method) & GCB_CAP_LIBRARY_MATH);
    struct gcb_diag why = {.status = 0};
    double apart;

    if (b->trip->decode(b->trip->ctx, &b->job, message->data, message->len, &there, NULL, &why) ||
        gcb_promise_coders.decode(NULL, &b->job, message->data, message->len, &here, NULL, &why)) {
        gcb_promise_broken(out, NAN, NAN, "%s is not read: %.100s", words, why.text);
        return false;
    }
    if (memcmp(b->y, b->z, n * sizeof(float)) == 0)
        return true;
    apart =
        in_norms(sqrt(gcb_promise_distance(b->z, b->y, n)), sqrt(gcb_promise_energy(b->z, n)), n);
    if (!exact && apart <= GCB_DECODERS_APART)
        return true;
    gcb_promise_broken(out, apart, exact ? 0.0 : GCB_DECODERS_APART,
                       "%s: its tensors are %.3g of its norm apart", words, apart);
    return false;
}

static int same_device(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                       struct gcb_diag *diag)
{
    struct gcb_promise_outcome made;
    int err;

    (void)diag;
    if (!gcb_promise_send(b, out) || !gcb_promise_send_by(b, &gcb_promise_coders, out))
        return 0;
    err = compare_sent(b, true, "the device and the CPU", &made);
    *out = made;
    if (err || made.status != GCB_PROMISE_KEPT ||
        !read_alike(b, &b->message, "the device's message", out) ||
        !read_alike(b, &b->other, "the CPU's message", out))
        return err;
    *out = made;
    return 0;
}

/* ---- size ---- */

static int size(struct gcb_promise_bench *b, struct gcb_promise_outcome *out, struct gcb_diag *diag)
{
    const struct gcb_parts *p = &b->parts.payload;
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    uint64_t raw;

    if (!gcb_promise_send(b, out))
        return 0;
    if (gcb_frame_parse(&frame, &payload, b->message.data, b->message.len, diag))
        return gcb_promise_broken(out, NAN, NAN, "not a message");
    if (b->message.len > b->bound)
        return gcb_promise_broken(out, (double)b->message.len, (double)b->bound,
                                  "longer than its coder promises: %zu bytes, at most %llu",
                                  b->message.len, (unsigned long long)b->bound);
    raw = frame.count * gcb_framing_raw_size(frame.source);
    if (frame.payload_bytes > raw)
        return gcb_promise_broken(out, (double)frame.payload_bytes, (double)raw,
                                  "longer than the tensor: %llu bytes for %llu",
                                  (unsigned long long)frame.payload_bytes, (unsigned long long)raw);
    if (b->parts.wire_bytes != b->message.len ||
        b->parts.header_bytes + p->scale_bytes + p->value_bytes + p->index_bytes != b->message.len)
        return gcb_promise_broken(out, NAN, NAN, "its parts do not add up to its %zu bytes",
                                  b->message.len);
    return gcb_promise_kept(out, (double)b->message.len, (double)b->bound);
}

/* ---- damage ---- */

static bool refuses(struct gcb_promise_bench *b, size_t length)
{
    const struct gcb_mview view = {b->z, b->job.config.env.count};
    struct gcb_diag why = {.status = 0};
    const int err =
        b->trip->decode(b->trip->ctx, &b->job, b->message.data, length, &view, NULL, &why);

    gcb_promise_note_failure(b, err, &why);
    return err != 0;
}

static int refuses_cut(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                       struct gcb_diag *diag)
{
    (void)diag;
    if (!gcb_promise_send(b, out))
        return 0;
    for (size_t length = b->message.len; length-- > 0; length = length > 64 ? length / 2 : length)
        if (!refuses(b, length))
            return gcb_promise_broken(out, (double)length, NAN,
                                      "takes the first %zu of %zu bytes for a message", length,
                                      b->message.len);
    b->message.data[b->message.len] = 0; /* there is room */
    if (!refuses(b, b->message.len + 1))
        return gcb_promise_broken(out, NAN, NAN, "takes a message with a byte behind its end");
    return gcb_promise_kept(out, NAN, NAN);
}

const struct gcb_promise gcb_promises_trip[] = {
    {"round-trip", "decodes, the same each time, every element, nothing outside", "docs/format.md",
     every, round_trip},
    {"same-bytes", "encoding twice gives the same bytes", "docs/format.md", every, same_bytes},
    {"size", "within the bound, never longer than the tensor, parts add up", "docs/format.md",
     every, size},
    {"refuses-cut", "a message cut short or with a byte more is refused", "docs/format.md", every,
     refuses_cut},
    {.name = NULL},
};

const struct gcb_promise gcb_promises_cpu[] = {
    {"same-threads", "one thread and two give the same bytes", "docs/method.md", every,
     same_threads},
    {"same-isa", "plain C and the widest kernels give the same bytes", "docs/method.md", every,
     same_isa},
    {.name = NULL},
};

const struct gcb_promise gcb_promises_device[] = {
    {"same-device", "a device and the CPU make the same message and read it alike",
     "docs/method.md", every, same_device},
    {.name = NULL},
};
