#include "src/tool/run/promises.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/run/device_check.h"
#include "src/tool/run/sums.h"

/* Promises about every message: decoding works, every run and every machine makes the same bytes,
 * the message is no longer than promised, damage is found, and sums add what is decoded. */

static bool binds_all(const struct gcb_method *m)
{
    return true;
}

static bool binds_foreign(const struct gcb_method *m)
{
    return gcb_method_caps(m) & GCB_CAP_FOREIGN;
}

static bool binds_own(const struct gcb_method *m)
{
    return !binds_foreign(m);
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
    if (err) {
        gcb_promise_fail(c, err, "decoding the message again fails", &why);
        return GCB_PROMISE_BROKEN;
    }
    if (memcmp(c->y, c->z, again.count * sizeof(float)) != 0)
        return gcb_promise_broken(c, NAN, NAN,
                                  "decoding the message twice gives different tensors");
    return gcb_promise_kept(c, NAN, NAN);
}

/* ---- the same bytes ---- */

/* Returns the number of bytes in which two messages differ. The extra bytes of the longer message
 * count too. */
static double count_differing(const struct gcb_wbuf *a, const struct gcb_wbuf *b)
{
    const size_t n = a->len < b->len ? a->len : b->len;
    size_t count = (a->len > b->len ? a->len : b->len) - n;

    for (size_t i = 0; i < n; i++)
        count += a->data[i] != b->data[i];
    return (double)count;
}

/* Compares c->message and c->other, and the tensors decoded from them. If FFTW is the engine of
 * transforms, or the method has GCB_CAP_DEVICE_MATH, the errors may differ by `tolerance`, as a
 * share of the norm; 0: messages and tensors must be equal in all cases. */
static enum gcb_promise_status compare_sent(struct gcb_promise_case *c, double tolerance,
                                            const char *words)
{
    const uint64_t n = c->job.config.env.count;
    const bool by_library = c->job.config.env.fft_engine != GCB_FFT_OWN ||
                            gcb_method_caps(c->job.method) & GCB_CAP_DEVICE_MATH;
    const double bytes = count_differing(&c->message, &c->other);
    double first, second;

    if (bytes == 0.0 && memcmp(c->y, c->z, n * sizeof(float)) == 0)
        return gcb_promise_kept(c, 0.0, 0.0);
    if (tolerance == 0.0 || !by_library)
        return gcb_promise_broken(c, bytes, 0.0, "%s: %.0f bytes of the message differ%s", words,
                                  bytes, bytes > 0.0 ? "" : ", but the decoded tensors do");
    first = sqrt(gcb_promise_distance(c->job.x, c->y, n));
    second = sqrt(gcb_promise_distance(c->job.x, c->z, n));
    return gcb_promise_at_most(c, gcb_device_share(fabs(first - second), sqrt(c->energy), n),
                               tolerance, words);
}

/* Sends c->job and another job and compares the messages. */
static enum gcb_promise_status send_and_compare(struct gcb_promise_case *c,
                                                const struct gcb_promise_job *job, double tolerance,
                                                const char *words)
{
    if (!gcb_promise_send(c) || !gcb_promise_send_other(c, job))
        return GCB_PROMISE_BROKEN;
    return compare_sent(c, tolerance, words);
}

static enum gcb_promise_status check_same_bytes(struct gcb_promise_case *c)
{
    struct gcb_promise_job again = c->job;
    const enum gcb_promise_status status = send_and_compare(c, &again, 0.0, "encoding twice");

    if (status != GCB_PROMISE_KEPT || gcb_method_caps(c->job.method) & GCB_CAP_STATEFUL)
        return status;
    again.repeats = 2; /* one coder encodes twice */
    return send_and_compare(c, &again, 0.0, "encoding twice by one coder");
}

static enum gcb_promise_status check_same_threads(struct gcb_promise_case *c)
{
    const struct gcb_queue two = {.threads = 2};
    struct gcb_promise_job other = c->job;

    other.config.env.queue = &two;
    return send_and_compare(c, &other, GCB_MESSAGES_APART, "one thread and two threads");
}

static enum gcb_promise_status check_same_isa(struct gcb_promise_case *c)
{
    struct gcb_promise_job other = c->job;
    struct gcb_kernels plain;

    gcb_kernels_init(&plain, 0);
    other.config.env.kernels = &plain;
    return send_and_compare(c, &other, GCB_MESSAGES_APART, "plain C and this machine's kernels");
}

/* ---- a device and the CPU ---- */

/* True if the device and the CPU decode the message to the same tensor, or with GCB_CAP_DEVICE_MATH
 * to tensors within GCB_DECODERS_APART. Otherwise the promise is broken. Writes the device's tensor
 * to c->y and the CPU's to c->z. */
static bool decode_alike(struct gcb_promise_case *c, const struct gcb_wbuf *message,
                         const char *words)
{
    const uint64_t n = c->job.config.env.count;
    const struct gcb_mview there = {c->y, n}, here = {c->z, n};
    const bool exact = !(gcb_method_caps(c->job.method) & GCB_CAP_DEVICE_MATH);
    struct gcb_promise_job on_host = c->job;
    struct gcb_diag why = {.status = 0};
    double apart;
    int err;

    on_host.config.place = NULL;
    err = c->backend->decode(c->backend->ctx, &c->job, message->data, message->len, &there, NULL,
                             &why);
    if (!err)
        err = gcb_promise_coders.decode(NULL, &on_host, message->data, message->len, &here, NULL,
                                        &why);
    if (err) {
        gcb_promise_broken(c, NAN, NAN, "%s cannot be decoded: %.100s", words, why.text);
        gcb_promise_note_failure(c, err, &why);
        return false;
    }
    if (memcmp(c->y, c->z, n * sizeof(float)) == 0)
        return true;
    apart = gcb_device_share(sqrt(gcb_promise_distance(c->z, c->y, n)),
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
    if (compare_sent(c, GCB_MESSAGES_APART, "the device and the CPU") != GCB_PROMISE_KEPT ||
        !decode_alike(c, &c->message, "the device's message") ||
        !decode_alike(c, &c->other, "the CPU's message"))
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

/* True if decoding the first `length` bytes of c->message's buffer fails. */
static bool refuses(struct gcb_promise_case *c, size_t length)
{
    const struct gcb_mview view = {c->z, c->job.config.env.count};
    struct gcb_diag why = {.status = 0};
    const int err =
        c->backend->decode(c->backend->ctx, &c->job, c->message.data, length, &view, NULL, &why);

    gcb_promise_note_failure(c, err, &why);
    return err != 0;
}

/* The lengths that are tried are about halved each time down to this number, and below it reduced
 * by 1. */
#define EACH_CUT 64

static enum gcb_promise_status check_refuses_cut(struct gcb_promise_case *c)
{
    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    for (size_t length = c->message.len; length-- > 0;) {
        if (!refuses(c, length))
            return gcb_promise_broken(c, (double)length, NAN,
                                      "the decoder accepts the first %zu of %zu bytes as a message",
                                      length, c->message.len);
        if (length > EACH_CUT)
            length = length / 2 > EACH_CUT ? length / 2 : EACH_CUT + 1;
    }
    c->message.data[c->message.len] = 0; /* the buffer is larger than the message */
    if (!refuses(c, c->message.len + 1))
        return gcb_promise_broken(c, NAN, NAN,
                                  "the decoder accepts a message with an additional byte");
    return gcb_promise_kept(c, NAN, NAN);
}

#define DAMAGES 32 /* number of damaged messages to try */

/* Checks that decoding a damaged message either succeeds or returns GCB_E_CORRUPT. */
static enum gcb_promise_status check_damage(struct gcb_promise_case *c)
{
    const struct gcb_mview view = {c->z, c->job.config.env.count};
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    size_t head;

    if (!gcb_promise_send(c))
        return GCB_PROMISE_BROKEN;
    if (c->stored || gcb_frame_parse(&frame, &payload, c->message.data, c->message.len, NULL) ||
        frame.payload_bytes == 0)
        return gcb_promise_idle(c, "the message has no payload of the method");
    head = gcb_frame_head(&frame);
    for (size_t i = 0; i < DAMAGES; i++) {
        uint8_t *byte = &c->message.data[head + i * (frame.payload_bytes - 1) / (DAMAGES - 1)];
        const uint8_t before = *byte;
        struct gcb_diag why = {.status = 0};
        int err;

        *byte ^= i % 2 ? 0xff : 1u << (i / 2 % 8);
        err = c->backend->decode(c->backend->ctx, &c->job, c->message.data, c->message.len, &view,
                                 NULL, &why);
        *byte = before;
        gcb_promise_note_failure(c, err, &why);
        if (err && err != GCB_E_CORRUPT)
            return gcb_promise_broken(c, (double)i, NAN, "a damaged message: %.150s", why.text);
    }
    return gcb_promise_kept(c, NAN, NAN);
}

/* ---- sums ---- */

/* The weights of the workers' messages. 0.3 is not a power of two, so its products are rounded. */
static const float weights[] = {0.5f, 1.0f, -0.25f, 0.3f};
#define WORKERS (sizeof(weights) / sizeof(weights[0]))

/* A sum of messages (struct gcb_sum in src/gcbench.h), and the same sum of decoded tensors. */
struct adding {
    struct gcb_sum *sum;
    float *x;        /* the tensor of the current worker */
    float *expected; /* sum of weight times decoded tensor, in float32 */
    double norms;    /* sum over messages of |weight| times the norm of the decoded tensor */
};

/* Adds a message, the first `length` bytes of c->other's buffer, to the sum. */
static int add_message(const struct gcb_promise_case *c, const struct adding *a, size_t length,
                       float weight, struct gcb_diag *why)
{
    if (c->backend->add)
        return c->backend->add(c->backend->ctx, a->sum, c->other.data, length, weight, why);
    return gcb_sum_add(a->sum, c->other.data, length, weight, why);
}

/* Adds the message and the decoded tensor of a worker. Returns false if this fails; the promise is
 * then broken. */
static bool add_worker(struct gcb_promise_case *c, struct adding *a, size_t worker)
{
    const uint64_t n = c->job.config.env.count;
    const float weight = weights[worker];
    struct gcb_promise_job job = c->job;
    struct gcb_diag why = {.status = 0};
    int err;

    gcb_sums_turn(a->x, c->job.x, n, worker * (n / WORKERS)); /* not turned if n < WORKERS */
    job.x = a->x;
    job.at.worker = (uint32_t)worker;
    job.config.checksum = true;
    if (!gcb_promise_send_other(c, &job))
        return false;
    gcb_message_seal(c->other.data, c->other.len, 0);
    err = add_message(c, a, c->other.len, weight, &why);
    if (err)
        return gcb_promise_fail(c, err, "adding a message fails", &why);
    for (uint64_t i = 0; i < n; i++)
        a->expected[i] += weight * c->z[i];
    a->norms += fabs((double)weight) * sqrt(gcb_promise_energy(c->z, n));
    return true;
}

/* Damages c->other in several ways and tries to add it. Returns false if the sum accepts a damaged
 * message; the promise is then broken. */
static bool refuses_damage(struct gcb_promise_case *c, const struct adding *a)
{
    const size_t whole = c->other.len;
    const struct {
        size_t length;
        uint8_t flip; /* bits to change in the middle byte */
        const char *words;
    } damages[] = {
        {whole / 2, 0, "half of a message"},
        {whole - 1, 0, "a message without its last byte"},
        {whole + 1, 0, "a message with an additional byte"},
        {whole, 1, "a message with a changed bit"},
    };

    c->other.data[whole] = 0; /* the buffer is larger than the message */
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct gcb_diag why = {.status = 0};
        int err;

        c->other.data[whole / 2] ^= damages[i].flip;
        err = add_message(c, a, damages[i].length, 1.0f, &why);
        c->other.data[whole / 2] ^= damages[i].flip;
        gcb_promise_note_failure(c, err, &why);
        if (!err) {
            gcb_promise_broken(c, NAN, NAN, "the sum accepts %s", damages[i].words);
            return false;
        }
    }
    return true;
}

/* Compares the finished sum, which is in c->y, with the expected sum. */
static enum gcb_promise_status compare_sums(struct gcb_promise_case *c, const struct adding *a)
{
    const uint64_t n = c->job.config.env.count;
    const double differing = (double)gcb_sums_differing(c->y, a->expected, n);
    double apart;

    if (differing == 0.0)
        return gcb_promise_kept(c, 0.0,
                                gcb_promise_transforms(c->job.method) ? GCB_DECODERS_APART : 0.0);
    if (!gcb_promise_transforms(c->job.method))
        return gcb_promise_broken(
            c, differing, 0.0,
            "the sum of the messages differs from that of the decoded tensors in %.0f elements",
            differing);
    /* each message and the sum are rounded to multiples of GCB_PROMISE_STEP */
    apart = sqrt(gcb_promise_distance(a->expected, c->y, n)) -
            (WORKERS + 1) * gcb_promise_rounding(c, c->job.method) * sqrt(c->energy);
    apart = apart <= 0.0 ? 0.0 : apart / a->norms;
    return gcb_promise_at_most(
        c, apart, GCB_DECODERS_APART,
        "distance from the sum of the decoded tensors, as a share of their norms");
}

/* Adds the messages of all workers, tries damaged messages in between, and checks the sum. */
static enum gcb_promise_status add_and_check(struct gcb_promise_case *c, struct adding *a)
{
    struct gcb_diag why = {.status = 0};
    int err;

    for (size_t i = 0; i < WORKERS; i++)
        if (!add_worker(c, a, i) || (i == WORKERS / 2 && !refuses_damage(c, a)))
            return GCB_PROMISE_BROKEN;
    err = gcb_sum_finish(a->sum, c->y, &why);
    if (err) {
        gcb_promise_fail(c, err, "finishing the sum fails", &why);
        return GCB_PROMISE_BROKEN;
    }
    return compare_sums(c, a);
}

static enum gcb_promise_status check_sum(struct gcb_promise_case *c)
{
    const uint64_t n = c->job.config.env.count;
    struct adding a = {.x = gcb_alloc_array(n, sizeof(float)),
                       .expected = gcb_alloc_zero(n, sizeof(float))};
    struct gcb_diag why = {.status = 0};
    enum gcb_promise_status status = GCB_PROMISE_BROKEN;
    int err = a.x && a.expected ? 0 : gcb_diag_nomem(&why, 2 * n * sizeof(float), "a sum");

    if (!err)
        err = gcb_sum_create(&a.sum, c->job.method, NULL, &c->job.config, &why);
    if (err)
        gcb_promise_fail(c, err, "opening a sum fails", &why);
    else
        status = add_and_check(c, &a);
    gcb_sum_close(a.sum);
    gcb_free(a.x);
    gcb_free(a.expected);
    return status;
}

/* ---- the table of promises ---- */

const struct gcb_promise gcb_promises_message[] = {
    {"round-trip",
     "the message is decoded to the same tensor twice, without a gap or a write outside",
     "docs/format.md", binds_all, check_round_trip, GCB_PROMISE_ANYWHERE},
    {"same-bytes", "encoding twice gives the same bytes", "docs/format.md", binds_all,
     check_same_bytes, GCB_PROMISE_ANYWHERE},
    {"size", "the message is within the bound, and no longer than the tensor; its parts add up",
     "docs/format.md", binds_all, check_size, GCB_PROMISE_ANYWHERE},
    {"refuses-cut", "a message that is cut short or has an additional byte is refused",
     "docs/format.md", binds_all, check_refuses_cut, GCB_PROMISE_ANYWHERE},
    {"damage", "a message with changed bits is refused or decoded; the process goes on",
     "docs/adding-a-codec.md", binds_foreign, check_damage, GCB_PROMISE_ON_CPU},
    {"same-threads", "one thread and two threads give the same bytes", "docs/method.md", binds_own,
     check_same_threads, GCB_PROMISE_ON_CPU},
    {"same-isa", "plain C and the widest kernels give the same bytes", "docs/method.md", binds_own,
     check_same_isa, GCB_PROMISE_ON_CPU},
    {"same-device", "a device and the CPU encode the same message and decode it to the same tensor",
     "docs/method.md", binds_all, check_same_device, GCB_PROMISE_ON_DEVICE},
    {"sum",
     "the sum of messages is the sum of the decoded tensors; a damaged message is refused and "
     "changes nothing",
     "docs/method.md", binds_all, check_sum, GCB_PROMISE_ANYWHERE},
    {.name = NULL},
};
