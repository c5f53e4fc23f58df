#ifndef SRC_TOOL_TIMING_MEASURE_H
#define SRC_TOOL_TIMING_MEASURE_H

#include "src/lib/codec/coder.h"
#include "src/tool/timing/evict.h"
#include "src/tool/timing/stats.h"
#include "src/tool/timing/steady.h"

/*
 * Timing, above all of one message under one coder. Inside the timed region: the whole of gcb_coder_encode or
 * gcb_coder_decode, header and payload. Outside: creating coders, the checksum, reading files, emptying caches,
 * and all checking of results (docs/method.md).
 *
 * A measurement goes on until `repeat` calls were timed and `min_time` is over, and then, if there is a
 * `precision`, until the median is known so well (src/tool/timing/steady.h). `max_time`, `max_samples` and `stop` end it in
 * every case, after one timed call.
 */
struct gcb_timing {
    unsigned warmup; /* calls before the first timed one */
    unsigned repeat; /* timed calls, at least; 0 is taken as 1 */
    double min_time; /* go on until so many seconds were measured; 0: no such wish */
    /* seconds from the first warm-up on, emptying of caches included; 0: no limit. The few calls that an
     * interval takes may have 10 ms in any case */
    double max_time;
    double precision;        /* (high - low) / (2 median) that is enough; 0: the two above decide */
    size_t max_samples;      /* 0: GCB_MAX_SAMPLES */
    struct gcb_evict *evict; /* empties the caches before each timed call; NULL: they stay warm */
    bool (*stop)(void *ctx); /* asked between calls: end early, after one timed call; may be NULL */
    void *stop_ctx;
};

/* At most so many are kept where not `repeat` alone decides. */
#define GCB_MAX_SAMPLES 10000

/* Why a measurement ended. Greater is worse: of several together the greatest is told. */
enum gcb_stop {
    GCB_STOP_NONE,      /* nothing was measured */
    GCB_STOP_PRECISION, /* the interval is narrow enough */
    GCB_STOP_REPEAT,    /* as many calls, or as much time, as was asked for */
    GCB_STOP_SAMPLES,   /* no room for more */
    GCB_STOP_TIME,      /* max_time is over */
    GCB_STOP_INTERRUPTED,
};
const char *gcb_stop_name(enum gcb_stop stop); /* as rows have it; NULL for NONE */

/* Timings of one operation, in the order they were taken. */
struct gcb_samples {
    double *seconds; /* count of them */
    double *scratch;
    size_t count, cap;
    struct gcb_stats stats;
    enum gcb_stop stop;
};

/* Takes room for what `timing` can ask for. GCB_E_NOMEM, GCB_E_INVALID (more than can be kept). */
int gcb_samples_init(struct gcb_samples *s, const struct gcb_timing *timing, struct gcb_diag *diag);
void gcb_samples_fini(struct gcb_samples *s); /* zeroed is fine */

/* Something that can be done again and again. */
struct gcb_operation {
    int (*run)(void *job, struct gcb_diag *diag); /* 0, or an error that ends the measurement */
    void (*prepare)(void *job);                   /* untimed, before each timed call; may be NULL */
    void *job;
};

/* Fills `s` with timings of the operation. Nothing is allocated. */
int gcb_measure(struct gcb_samples *s, const struct gcb_timing *timing,
                const struct gcb_operation *op, struct gcb_diag *diag);

/*
 * The same for two operations in turn, the first first in every other round, so that what slows the machine
 * down slows both down: their difference is their own. It ends when both have what `timing` asks for; `max_time`
 * is of both together.
 */
int gcb_measure_pair(struct gcb_samples *const s[2], const struct gcb_timing *timing,
                     const struct gcb_operation op[2], struct gcb_diag *diag);

/* What is encoded: the tensor, when, and whether it has to go raw (it holds infinities or NaNs). */
struct gcb_encode_job {
    struct gcb_coder *coder;
    struct gcb_step at;
    struct gcb_view in;
    bool raw;
};

/*
 * Fills `s` with timings of encoding the job. `message` is emptied before each call and holds the
 * last one's result, which does not differ from the others'. Nothing is allocated.
 */
int gcb_measure_encode(struct gcb_samples *s, const struct gcb_timing *timing,
                       const struct gcb_encode_job *job, struct gcb_wbuf *message,
                       struct gcb_diag *diag);

/*
 * The same for decoding a message into `out`, which is filled with NaNs first: an element that the
 * decoder leaves out cannot pass for a good one.
 */
int gcb_measure_decode(struct gcb_samples *s, const struct gcb_timing *timing,
                       struct gcb_coder *decoder, const struct gcb_wbuf *message,
                       const struct gcb_mview *out, struct gcb_diag *diag);

/* Both as operations, for gcb_measure_pair. What they point to is borrowed. */
struct gcb_encode_call {
    const struct gcb_encode_job *job;
    struct gcb_wbuf *message;
};
struct gcb_operation gcb_encode_operation(struct gcb_encode_call *call);
struct gcb_decode_call {
    struct gcb_coder *coder;
    const struct gcb_wbuf *message;
    const struct gcb_mview *out;
};
struct gcb_operation gcb_decode_operation(struct gcb_decode_call *call); /* spoils `out` */

/* Multiplies every time of `in` by `factor`. out->seconds has room for in->count times. */
void gcb_samples_scale(struct gcb_samples *out, const struct gcb_samples *in, double factor);

#endif
