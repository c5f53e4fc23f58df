#include "src/tool/measure/bandwidth.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/device/place.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/host.h"
#include "src/tool/measure/stats.h"

#define PIECE (UINT64_C(1) << 20) /* bytes that one task reads, fills or copies */
#define LANES 8                   /* accumulators: enough to hide the latency of an addition */
#define MIN_PASSES 5
#define CALM_PASSES 4 /* this many passes in a row that gain less than 1 % end the measurement */
#define MAX_PASSES 31
#define BUDGET 0.1 /* seconds for each of reading, filling and copying */

/* The buffer whose bandwidth is measured. */
struct area {
    uint64_t *data;
    uint64_t *sums; /* the sum of each piece; stored, so that the compiler cannot drop the reads */
    uint64_t half;  /* bytes of half the buffer: copies go from the first half to the second */
    int value;      /* byte to fill with; each pass increases it */
};

static void read_piece(void *ctx, uint64_t piece)
{
    struct area *a = ctx;
    const uint64_t *p = a->data + piece * (PIECE / sizeof(*p));
    uint64_t sum[LANES] = {0};

    for (size_t i = 0; i < PIECE / sizeof(*p); i += LANES)
        for (size_t j = 0; j < LANES; j++)
            sum[j] += p[i + j];
    for (size_t j = 1; j < LANES; j++)
        sum[0] += sum[j];
    a->sums[piece] = sum[0];
}

static void fill_piece(void *ctx, uint64_t piece)
{
    struct area *a = ctx;

    memset(a->data + piece * (PIECE / sizeof(*a->data)), a->value, PIECE);
}

static void copy_piece(void *ctx, uint64_t piece)
{
    struct area *a = ctx;
    uint64_t *from = a->data + piece * (PIECE / sizeof(*from));

    memcpy(from + a->half / sizeof(*from), from, PIECE);
}

/* Returns the GB/s of the fastest of several passes over `pieces` pieces, because other processes
 * can only slow a pass down. */
static double measure(struct area *a, const struct gcb_queue *queue, uint64_t pieces,
                      void (*task)(void *ctx, uint64_t i))
{
    double best = INFINITY, spent = 0.0;
    size_t calm = 0;

    gcb_parallel(queue, pieces, task, a); /* starts the threads and maps the pages */
    for (size_t n = 0; n < MIN_PASSES || (n < MAX_PASSES && spent < BUDGET && calm < CALM_PASSES);
         n++) {
        const double start = gcb_clock();
        double seconds;

        a->value++;
        gcb_parallel(queue, pieces, task, a);
        seconds = gcb_clock() - start;
        spent += seconds;
        calm = seconds < 0.99 * best ? 0 : calm + 1;
        best = fmin(best, seconds);
    }
    return (double)(pieces * PIECE) / best / 1e9;
}

uint64_t gcb_bandwidth_default_bytes(void)
{
    const uint64_t wanted = 4 * gcb_host_cache(), least = UINT64_C(256) << 20;

    return wanted > least ? wanted : least;
}

int gcb_bandwidth_measure(struct gcb_bandwidth *out, const struct gcb_queue *queue, uint64_t bytes,
                          struct gcb_diag *diag)
{
    const uint64_t wanted = bytes ? bytes : gcb_bandwidth_default_bytes();
    /* pieces of half the buffer */
    const uint64_t copied = wanted < 2 * PIECE ? 1 : wanted / PIECE / 2;
    const uint64_t pieces = 2 * copied;
    struct area a = {.half = copied * PIECE};
    int err = 0;

    a.data = gcb_alloc_array(pieces, PIECE);
    a.sums = gcb_alloc_array(pieces, sizeof(*a.sums));
    if (!a.data || !a.sums) {
        err = gcb_diag_nomem(diag, pieces * PIECE, "measuring bandwidth");
        goto out;
    }
    out->bytes = pieces * PIECE;
    out->threads = queue->threads;
    out->fill_gbps = measure(&a, queue, pieces, fill_piece);
    out->read_gbps = measure(&a, queue, pieces, read_piece);
    out->copy_gbps = measure(&a, queue, copied, copy_piece);
out:
    gcb_free(a.data);
    gcb_free(a.sums);
    return err;
}

#define COPIES 10
#define LEAST (UINT64_C(16) << 20) /* bytes of the smallest copy */

/* Copies the tensor to the payload, and stores the seconds by the device's events. */
static int time_copy(double *seconds, const struct gcb_place *p, struct gcb_diag *diag)
{
    struct gcb_device_work work;
    int err;

    /* gcb_device_batch_wait reports the errors of the next two calls */
    gcb_device_batch_begin(p->batch);
    p->device->module->stream.copy(gcb_device_batch_stream(p->batch), p->payload.dev, p->tensor.dev,
                                   p->tensor.bytes, GCB_COPY_DEVICE);
    err = gcb_device_batch_wait(p->batch, diag);
    if (!err)
        err = gcb_device_batch_work(p->batch, &work, diag);
    *seconds = err ? 0.0 : work.seconds;
    return err;
}

int gcb_device_copy_measure(struct gcb_device_copying *out, const struct gcb_device *device,
                            struct gcb_diag *diag)
{
    const uint64_t wanted = 8 * device->facts.l2_bytes, bytes = wanted > LEAST ? wanted : LEAST;
    struct gcb_device_clock *clock = device->module->clock.open(device->index);
    struct gcb_place p = {.device = device};
    double samples[COPIES], scratch[COPIES];
    struct gcb_stats stats;
    int err;

    memset(out, 0, sizeof(*out));
    err = gcb_place_reserve(&p, &(struct gcb_place_size){.tensor = bytes, .payload = bytes}, diag);
    if (err)
        goto out;
    /* time_copy reports an error of the fill, with a message */
    device->module->stream.zero(gcb_device_batch_stream(p.batch), p.tensor.dev, bytes);
    err = time_copy(&samples[0], &p, diag); /* warm-up */
    for (size_t i = 0; !err && i < COPIES; i++)
        err = time_copy(&samples[i], &p, diag);
    if (err)
        goto out;
    out->clock_mhz = device->module->clock.mhz(clock);
    gcb_stats_of(&stats, samples, COPIES, scratch);
    out->gbps = 2.0 * (double)bytes / stats.median / 1e9; /* a copy reads and writes each byte */
    out->bytes = bytes;
out:
    gcb_place_fini(&p);
    device->module->clock.close(clock);
    return err;
}
