#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/run/device_check.h"
#include "src/tool/run/promises.h"
#include "src/tool/run/sums.h"

/* The promise about sums of messages (struct gcb_sum in src/gcbench.h). */

/* The weights of the workers' messages. Some products are rounded. */
static const float weights[] = {0.5f, 1.0f, -0.25f, 0.3f};
#define WORKERS (sizeof(weights) / sizeof(weights[0]))

/* The sum of the messages so far, and the same sum of decoded tensors. */
struct adding {
    struct gcb_sum *sum;
    float *x;        /* the tensor of the current worker */
    float *expected; /* weight times decoded tensor, added in float32 */
    double norms;    /* sum over messages of |weight| times the norm of the decoded tensor */
};

static bool has_transform(const struct gcb_method *m)
{
    const char *transform = gcb_promise_choice(m, "transform");

    return transform[0] && strcmp(transform, "none") != 0;
}

static int add(const struct gcb_promise_case *c, const struct adding *a, size_t length,
               float weight, struct gcb_diag *why)
{
    if (c->backend->add)
        return c->backend->add(c->backend->ctx, a->sum, c->other.data, length, weight, why);
    return gcb_sum_add(a->sum, c->other.data, length, weight, why);
}

/* Each worker's tensor is the tensor of the case, rotated by a part of its length. */
static void rotate(float *out, const float *x, uint64_t n, uint64_t by)
{
    memcpy(out, x + by, (n - by) * sizeof(*x));
    memcpy(out + n - by, x, by * sizeof(*x));
}

static bool report_error(struct gcb_promise_case *c, int err, const char *words,
                         const struct gcb_diag *why)
{
    gcb_promise_broken(c, NAN, NAN, "%s: %.150s", words, why->text);
    gcb_promise_note_failure(c, err, why);
    return false;
}

/* Adds the message and the decoded tensor of a worker. Returns false if that fails: the promise is broken. */
static bool add_worker(struct gcb_promise_case *c, struct adding *a, size_t worker)
{
    const uint64_t n = c->job.config.env.count;
    const float weight = weights[worker];
    struct gcb_promise_job job = c->job;
    struct gcb_diag why = {.status = 0};
    int err;

    rotate(a->x, c->job.x, n, worker * (n / WORKERS));
    job.x = a->x;
    job.at.worker = (uint32_t)worker;
    job.config.checksum = true;
    if (!gcb_promise_send_other(c, &job))
        return false;
    gcb_message_seal(c->other.data, c->other.len, 0);
    err = add(c, a, c->other.len, weight, &why);
    if (err)
        return report_error(c, err, "adding a message fails", &why);
    for (uint64_t i = 0; i < n; i++)
        a->expected[i] += weight * c->z[i];
    a->norms += fabs((double)weight) * sqrt(gcb_promise_energy(c->z, n));
    return true;
}

/* Tries to add the last message after damaging it. Returns false if the sum accepts a damaged message. */
static bool refuses_damage(struct gcb_promise_case *c, const struct adding *a)
{
    const size_t whole = c->other.len;
    const struct {
        size_t length;
        uint8_t flip;
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
        err = add(c, a, damages[i].length, 1.0f, &why);
        c->other.data[whole / 2] ^= damages[i].flip;
        gcb_promise_note_failure(c, err, &why);
        if (!err) {
            gcb_promise_broken(c, NAN, NAN, "the sum accepts %s", damages[i].words);
            return false;
        }
    }
    return true;
}

/* Compares the finished sum, which is in c->y, with the expected one. */
static enum gcb_promise_status compare(struct gcb_promise_case *c, const struct adding *a)
{
    const uint64_t n = c->job.config.env.count;
    const double differing = (double)gcb_sums_differing(c->y, a->expected, n);
    double apart;

    if (differing == 0.0)
        return gcb_promise_kept(c, 0.0, has_transform(c->job.method) ? GCB_DECODERS_APART : 0.0);
    if (!has_transform(c->job.method))
        return gcb_promise_broken(
            c, differing, 0.0,
            "the sum of the messages differs from that of the decoded tensors in %.0f elements",
            differing);
    /* rounding near the smallest float happens in each message and in the sum */
    apart = sqrt(gcb_promise_distance(a->expected, c->y, n)) -
            (WORKERS + 1) * gcb_promise_rounding(c, c->job.method) * sqrt(c->energy);
    apart = apart <= 0.0 ? 0.0 : apart / a->norms;
    return gcb_promise_at_most(
        c, apart, GCB_DECODERS_APART,
        "distance from the sum of the decoded tensors, as a share of their norms");
}

static enum gcb_promise_status run(struct gcb_promise_case *c, struct adding *a)
{
    struct gcb_diag why = {.status = 0};
    int err;

    for (size_t i = 0; i < WORKERS; i++)
        if (!add_worker(c, a, i) || (i == WORKERS / 2 && !refuses_damage(c, a)))
            return GCB_PROMISE_BROKEN;
    err = gcb_sum_finish(a->sum, c->y, &why);
    if (err) {
        report_error(c, err, "finishing the sum fails", &why);
        return GCB_PROMISE_BROKEN;
    }
    return compare(c, a);
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
        report_error(c, err, "opening a sum fails", &why);
    else
        status = run(c, &a);
    gcb_sum_close(a.sum);
    gcb_free(a.x);
    gcb_free(a.expected);
    return status;
}

static bool binds_all(const struct gcb_method *m)
{
    (void)m;
    return true;
}

const struct gcb_promise gcb_promises_sum[] = {
    {"sum",
     "the sum of messages is the sum of the decoded tensors; a damaged message is refused and "
     "changes nothing",
     "docs/method.md", binds_all, check_sum},
    {.name = NULL},
};
