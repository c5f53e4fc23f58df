#include "src/tool/run/sums.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/base/clock.h"
#include "src/tool/run/device_check.h"
#include "src/tool/run/promises.h"

/* The weight of each message in a mean of GCB_SUMS_MESSAGES messages. */
#define WEIGHT 0x1p-4f

/* ---- messages ---- */

void gcb_sums_turn(float *to, const float *x, uint64_t n, uint64_t from)
{
    memcpy(to, x + from, (n - from) * sizeof(*to));
    memcpy(to + n - from, x, from * sizeof(*to));
}

/* Encodes message i: the tensor, turned by a distance that depends on i. The message's worker is
 * the job's worker plus i. */
static int encode_turned(const struct gcb_encode_job *job, size_t i, float *turned,
                         struct gcb_wbuf *out, struct gcb_diag *diag)
{
    const uint64_t n = job->in.count;
    struct gcb_encode_job other = *job;
    struct gcb_encode_call call = {.job = &other, .message = out};
    const struct gcb_operation op = gcb_encode_operation(&call);

    if (n) /* without "+ i", many distances would be multiples of the tensor's row length */
        gcb_sums_turn(turned, job->in.data, n, (n / GCB_SUMS_DIFFERENT * i + i) % n);
    other.in.data = turned;
    other.at.worker += (uint32_t)i;
    return op.run(op.job, diag);
}

int gcb_sums_encode(struct gcb_sums_messages *m, const struct gcb_wbuf *first,
                    const struct gcb_encode_job *job, float *turned, double seconds,
                    const struct gcb_timing *timing, struct gcb_diag *diag)
{
    const double end = seconds > 0.0 ? gcb_clock() + seconds : INFINITY;
    const size_t most = seconds > 0.0 ? GCB_SUMS_DIFFERENT : GCB_SUMS_MESSAGES;
    const size_t longest = job->raw ? gcb_coder_raw_bytes(job->coder) : gcb_coder_bound(job->coder);
    const size_t aligned = longest + 2 * GCB_ALIGN, all = (GCB_SUMS_DIFFERENT - 1) * aligned;
    /* room for one more message than the limit allows, because the last message may pass it; unused
     * pages cost nothing */
    const size_t room = aligned + (all < GCB_SUMS_BYTES ? all : GCB_SUMS_BYTES);
    /* payloads begin on a cache line, as in gcb_coders_room */
    size_t at = (GCB_ALIGN - gcb_coder_head(job->coder) % GCB_ALIGN) % GCB_ALIGN;
    int err = gcb_room_reserve(&m->room, room, "messages to add", diag);

    m->message[0] = *first;
    for (m->count = 1; !err && m->count < most; m->count++) {
        struct gcb_wbuf *w = &m->message[m->count];

        if (at + first->len > GCB_SUMS_BYTES || gcb_clock() >= end || gcb_timing_stopped(timing))
            break;
        *w = (struct gcb_wbuf){.data = m->room.block + at, .cap = longest};
        err = encode_turned(job, m->count, turned, w, diag);
        at += (w->len + GCB_ALIGN - 1) / GCB_ALIGN * GCB_ALIGN;
    }
    return err;
}

/* Adds the next message to the sum; after the last message the first comes again. */
static int add(struct gcb_sums_job *job, float weight, struct gcb_diag *diag)
{
    const struct gcb_wbuf *message = &job->from->message[job->next];

    job->next = (job->next + 1) % job->from->count;
    return gcb_sum_add_checked(job->sum, message->data, message->len, weight, diag);
}

/* ---- checking ---- */

uint64_t gcb_sums_differing(const float *a, const float *b, uint64_t n)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        count += (a[i] != b[i]) & ((a[i] == a[i]) | (b[i] == b[i])); /* not both are NaNs */
    return count;
}

int gcb_sums_check(struct gcb_sums_job *job, double tolerance, struct gcb_diag *diag)
{
    const uint64_t n = job->count;
    uint64_t differing;
    double apart;
    int err = add(job, 1.0f, diag);

    if (!err)
        err = gcb_sum_finish(job->sum, NULL, diag);
    if (err)
        return err;
    differing = gcb_sums_differing(job->into, job->decoded, n);
    if (differing == 0)
        return 0;
    apart = gcb_device_share(sqrt(gcb_promise_distance(job->into, job->decoded, n)),
                             sqrt(gcb_promise_energy(job->decoded, n)), n);
    if (tolerance > 0.0 && apart <= tolerance)
        return 0;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                        "the sum of the message differs from its decoding in %" PRIu64
                        " elements, by %.3g of the norm",
                        differing, apart);
}

/* ---- timing ---- */

/* With cold caches: before the first timed addition, and again after every GCB_SUMS_MESSAGES - 1 of
 * them, finishes the sum, empties the caches, and begins a new sum with a message that is not
 * timed. */
static int begin_cold(void *ctx, struct gcb_diag *diag)
{
    struct gcb_sums_job *job = ctx;
    int err;

    if (job->added++ % (GCB_SUMS_MESSAGES - 1))
        return 0;
    err = gcb_sum_finish(job->sum, NULL, diag);
    if (!err)
        err = gcb_evict_run(job->evict, diag);
    return err ? err : add(job, WEIGHT, diag);
}

static int add_one(void *ctx, struct gcb_diag *diag)
{
    return add(ctx, WEIGHT, diag);
}

static int add_many(void *ctx, struct gcb_diag *diag)
{
    struct gcb_sums_job *job = ctx;
    int err = 0;

    for (unsigned i = 0; !err && i < GCB_SUMS_MESSAGES; i++)
        err = add(job, WEIGHT, diag);
    return err ? err : gcb_sum_finish(job->sum, NULL, diag);
}

/* Begins the sum with a message, times additions to it, and finishes it. */
static int measure_one(struct gcb_samples *out, const struct gcb_timing *timing,
                       struct gcb_sums_job *job, struct gcb_diag *diag)
{
    const struct gcb_operation op = {
        .run = add_one, .prepare = timing->evict ? begin_cold : NULL, .job = job};
    struct gcb_timing t = *timing;
    int err = add(job, WEIGHT, diag), end;

    job->evict = t.evict;
    job->added = 0;
    t.evict = NULL;
    if (!err)
        err = gcb_measure(out, &t, &op, diag);
    end = gcb_sum_finish(job->sum, NULL, err ? NULL : diag);
    return err ? err : end;
}

int gcb_sums_measure(struct gcb_samples *one, struct gcb_samples *many,
                     const struct gcb_timing *timing, double left, struct gcb_sums_job *job,
                     struct gcb_diag *diag)
{
    const struct gcb_operation op = {.run = add_many, .job = job};
    struct gcb_timing t = *timing;
    int err;

    t.max_time /= 3.0; /* as GCB_SUMS_OTHERS explains */
    err = measure_one(one, &t, job, diag);
    if (err || one->stop == GCB_STOP_INTERRUPTED ||
        GCB_SUMS_MESSAGES * one->stats.median > fmax(left, GCB_MEASURE_GRACE))
        return err;
    t.warmup = 0;
    t.repeat = (t.repeat + GCB_SUMS_MESSAGES - 1) / GCB_SUMS_MESSAGES;
    return gcb_measure(many, &t, &op, diag);
}
