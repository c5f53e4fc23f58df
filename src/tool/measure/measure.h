#ifndef SRC_TOOL_MEASURE_MEASURE_H
#define SRC_TOOL_MEASURE_MEASURE_H

#include "src/lib/coder/coder.h"
#include "src/tool/measure/evict.h"
#include "src/tool/measure/stats.h"
#include "src/tool/measure/steady.h"

/*
 * Measures how long an operation takes, mostly encoding or decoding a message. The timed region contains the whole of
 * gcb_coder_encode or gcb_coder_decode, header and payload. It does not contain creating coders, the checksum, reading
 * files, emptying caches and checking results (docs/method.md).
 *
 * A measurement goes on until `repeat` calls were timed and `min_time` has passed. With a `precision` it then goes on until
 * the median is known that precisely (src/tool/measure/steady.h). `max_time`, `max_samples` and `stop` end it earlier, but
 * not before one timed call; `max_time` not before two, because a single time has no spread.
 */
struct gcb_timing {
    unsigned warmup; /* calls before the first timed one */
    unsigned repeat; /* least number of timed calls; 0 means 1 */
    double min_time; /* least seconds of all timed calls together */
    /* Most seconds since the first warm-up call, including emptying of caches; 0: no limit. The first GCB_STATS_LEAST calls
     * may take GCB_MEASURE_GRACE even if this is less, unless `strict`. */
    double max_time;
    bool strict;
    double precision;        /* interval to reach: (high - low) / (2 median); 0: none */
    size_t max_samples;      /* 0: GCB_MAX_SAMPLES */
    struct gcb_evict *evict; /* empties the caches before each timed call; NULL: they stay warm */
    bool (*stop)(void *ctx); /* called between calls; true ends the measurement; may be NULL */
    void *stop_ctx;
};

/* A measurement may take this many seconds to get the samples for an interval, even if max_time is less. */
#define GCB_MEASURE_GRACE 0.01

/* The most samples of a measurement, unless `repeat` is larger. */
#define GCB_MAX_SAMPLES 10000

/* Why a measurement ended, from best to worst. Several measurements together report the worst. */
enum gcb_stop {
    GCB_STOP_NONE,      /* nothing was measured */
    GCB_STOP_PRECISION, /* the interval is narrow enough */
    GCB_STOP_REPEAT,    /* `repeat` calls and `min_time` are reached, without a precision */
    GCB_STOP_SAMPLES,   /* no room for more samples */
    GCB_STOP_TIME,      /* max_time has passed */
    GCB_STOP_INTERRUPTED,
};
const char *gcb_stop_name(enum gcb_stop stop); /* as in rows; NULL for GCB_STOP_NONE */

/* The times of an operation, in the order in which they were measured. */
struct gcb_samples {
    double *seconds; /* `count` samples */
    double *scratch;
    size_t count, cap;
    struct gcb_stats stats;
    enum gcb_stop stop;
};

/* Allocates room for the most samples that `timing` can ask for. GCB_E_NOMEM. */
int gcb_samples_init(struct gcb_samples *s, const struct gcb_timing *timing, struct gcb_diag *diag);
void gcb_samples_fini(struct gcb_samples *s); /* zeroed is fine */

/* An operation to measure. */
struct gcb_operation {
    int (*run)(void *job, struct gcb_diag *diag); /* an error ends the measurement */
    void (*prepare)(void *job);                   /* called before each timed call; may be NULL */
    void *job;
};

/* Measures the operation into `s`. Nothing is allocated. */
int gcb_measure(struct gcb_samples *s, const struct gcb_timing *timing,
                const struct gcb_operation *op, struct gcb_diag *diag);

/*
 * Like gcb_measure for `count` operations in turn, so that a disturbance slows all of them. The first operation of a
 * round changes from round to round. The measurement ends when `timing` is satisfied for all; `max_time` is for all
 * together, and `min_time` for the first.
 */
int gcb_measure_in_turn(struct gcb_samples *const s[], const struct gcb_timing *timing,
                        const struct gcb_operation ops[], size_t count, struct gcb_diag *diag);

/* An encoding: coder, step and worker, tensor, and whether to send it raw because it has infinities or NaNs. */
struct gcb_encode_job {
    struct gcb_coder *coder;
    struct gcb_step at;
    struct gcb_view in;
    bool raw;
};

/* Encodes the job. Each call empties `message` and writes the same bytes. Pointers are borrowed. */
struct gcb_encode_call {
    const struct gcb_encode_job *job;
    struct gcb_wbuf *message;
};
struct gcb_operation gcb_encode_operation(struct gcb_encode_call *call);

/* Decodes a message. gcb_decode_operation fills `out` with NaNs, so that a missing element is noticed. Pointers are
 * borrowed. */
struct gcb_decode_call {
    struct gcb_coder *coder;
    const struct gcb_wbuf *message;
    const struct gcb_mview *out;
};
struct gcb_operation gcb_decode_operation(struct gcb_decode_call *call);

/* Sets `out` to `in` with all times multiplied by `factor`. out->seconds has room for in->count times. */
void gcb_samples_scale(struct gcb_samples *out, const struct gcb_samples *in, double factor);

#endif
