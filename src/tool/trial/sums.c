#include "src/tool/trial/sums.h"

#include <inttypes.h>
#include <math.h>

#include "src/tool/trial/device_check.h"

/* The weight of a mean of 16 messages. */
#define WEIGHT 0x1p-4f

static int add(const struct gcb_sums_job *job, float weight, struct gcb_diag *diag)
{
    return gcb_sum_add_checked(job->sum, job->message->data, job->message->len, weight, diag);
}

/* ---- checking ---- */

uint64_t gcb_sums_differing(const float *a, const float *b, uint64_t n)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        count += (a[i] != b[i]) & ((a[i] == a[i]) | (b[i] == b[i]));
    return count;
}

/* Returns the L2 distance as a share of the norm of `b`, without what rounding near the smallest float causes. */
static double distance(const float *a, const float *b, uint64_t n)
{
    double apart = 0.0, norm = 0.0;

    for (uint64_t i = 0; i < n; i++) {
        const double d = (double)a[i] - (double)b[i];

        apart += d * d;
        norm += (double)b[i] * (double)b[i];
    }
    apart = sqrt(apart) - gcb_device_rounding(n);
    return apart <= 0.0 ? 0.0 : apart / sqrt(norm);
}

static int compare(const struct gcb_sums_job *job, double tolerance, struct gcb_diag *diag)
{
    const uint64_t differing = gcb_sums_differing(job->into, job->decoded, job->count);
    double apart;

    if (differing == 0)
        return 0;
    apart = distance(job->into, job->decoded, job->count);
    if (tolerance > 0.0 && apart <= tolerance)
        return 0;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                        "the sum of the message differs from its decoding in %" PRIu64
                        " elements, by %.3g of the norm",
                        differing, apart);
}

int gcb_sums_check(const struct gcb_sums_job *job, double tolerance, struct gcb_diag *diag)
{
    int err = add(job, 1.0f, diag);

    if (!err)
        err = gcb_sum_finish(job->sum, NULL, diag);
    return err ? err : compare(job, tolerance, diag);
}

/* ---- timing ---- */

static int add_one(void *ctx, struct gcb_diag *diag)
{
    return add(ctx, WEIGHT, diag);
}

static int add_many(void *ctx, struct gcb_diag *diag)
{
    const struct gcb_sums_job *job = ctx;
    int err = 0;

    for (unsigned i = 0; !err && i < GCB_SUMS_MESSAGES; i++)
        err = add(job, WEIGHT, diag);
    return err ? err : gcb_sum_finish(job->sum, NULL, diag);
}

/* Times additions to a sum that has begun. Leaves the sum without messages, as it was before. */
static int measure_one(struct gcb_samples *out, const struct gcb_timing *timing,
                       struct gcb_sums_job *job, struct gcb_diag *diag)
{
    const struct gcb_operation op = {.run = add_one, .job = job};
    int err = add(job, WEIGHT, diag), end;

    if (!err)
        err = gcb_measure(out, timing, &op, diag);
    end = gcb_sum_finish(job->sum, NULL, err ? NULL : diag);
    return err ? err : end;
}

int gcb_sums_measure(struct gcb_samples *one, struct gcb_samples *many,
                     const struct gcb_timing *timing, double left, const struct gcb_sums_job *job,
                     struct gcb_diag *diag)
{
    struct gcb_sums_job own = *job;
    const struct gcb_operation op = {.run = add_many, .job = &own};
    struct gcb_timing t = *timing;
    int err;

    t.max_time /= 3.0;
    err = measure_one(one, &t, &own, diag);
    if (err || one->stop == GCB_STOP_INTERRUPTED ||
        GCB_SUMS_MESSAGES * one->stats.median > fmax(left, GCB_MEASURE_GRACE))
        return err;
    t.warmup = 0;
    t.repeat = (t.repeat + GCB_SUMS_MESSAGES - 1) / GCB_SUMS_MESSAGES;
    return gcb_measure(many, &t, &op, diag);
}
