#ifndef SRC_TOOL_MEASURE_MEASURE_H
#define SRC_TOOL_MEASURE_MEASURE_H

#include <stdbool.h>

#include "src/lib/coder/coder.h"
#include "src/tool/measure/evict.h"
#include "src/tool/measure/stats.h"

/*
 * Measures how long an operation takes, mostly encoding or decoding a message. The timed region is
 * the whole of gcb_coder_encode or gcb_coder_decode, header and payload. Outside of it are creating
 * coders, the checksum, reading files, emptying caches and checking results (docs/method.md).
 *
 * A measurement goes on until `repeat` calls were timed and `min_time` has passed. With a
 * `precision`, the measurement then goes on until the median is known that precisely (struct
 * gcb_steady). `max_samples` and `stop` can end the measurement earlier, after at least one timed
 * call. `max_time` ends it after at least two, because a single time has no spread.
 */
struct gcb_timing {
    unsigned warmup; /* calls before the first timed one */
    unsigned repeat; /* least number of timed calls; 0 means 1 */
    double min_time; /* least seconds of all timed calls together */
    /* most seconds since the first warm-up call, including emptying of caches; 0: no limit */
    double max_time;
    bool strict;             /* the first GCB_STATS_LEAST calls get no GCB_MEASURE_GRACE */
    double precision;        /* interval to reach: (high - low) / (2 median); 0: none */
    size_t max_samples;      /* most timed calls, but at least `repeat`; 0: GCB_MAX_SAMPLES */
    struct gcb_evict *evict; /* empties the caches before each timed call; NULL: warm caches */
    bool (*stop)(void *ctx); /* called between calls; true ends the measurement; may be NULL */
    void *stop_ctx;
};

/* True if timing->stop is set and says that the measurement must end. */
bool gcb_timing_stopped(const struct gcb_timing *timing);

/* If max_time is less than this many seconds, the first GCB_STATS_LEAST calls of a measurement that
 * is not `strict` may still take this long, so that there is an interval. */
#define GCB_MEASURE_GRACE 0.01

/* The most samples of a measurement if `max_samples` is 0 and `repeat` is not larger. */
#define GCB_MAX_SAMPLES 10000

/* Why a measurement ended, from best to worst. A total over several measurements has the worst. */
enum gcb_stop {
    GCB_STOP_NONE,      /* nothing was measured */
    GCB_STOP_PRECISION, /* the interval is narrow enough */
    GCB_STOP_REPEAT,    /* `repeat` calls and `min_time` are reached; `precision` is 0 */
    GCB_STOP_SAMPLES,   /* no room for more samples */
    GCB_STOP_TIME,      /* max_time has passed */
    GCB_STOP_INTERRUPTED,
};
const char *gcb_stop_name(enum gcb_stop stop); /* as in rows; NULL for GCB_STOP_NONE */

/* The times of an operation, in the order in which they were measured. */
struct gcb_samples {
    double *seconds; /* `count` samples; room for `cap` */
    double *scratch; /* room for `cap` values, for gcb_stats_of */
    size_t count, cap;
    struct gcb_stats stats;
    enum gcb_stop stop;
};

/* Allocates room for the most samples that `timing` can ask for. Ends the process if memory runs
 * out. */
void gcb_samples_init(struct gcb_samples *s, const struct gcb_timing *timing);
void gcb_samples_fini(struct gcb_samples *s); /* a zeroed struct is fine */

/* An operation that gcb_measure calls again and again. */
struct gcb_operation {
    /* an error of either function ends the measurement */
    int (*run)(void *job, struct gcb_diag *diag);
    /* called before each timed call; may be NULL */
    int (*prepare)(void *job, struct gcb_diag *diag);
    void *job;
};

/* Measures the operation into `s`, which gcb_samples_init has prepared. Earlier samples are lost.
 * Measuring ends at the latest when the room of `s` is full. Returns the first error of the
 * operation or of emptying the caches. */
int gcb_measure(struct gcb_samples *s, const struct gcb_timing *timing,
                const struct gcb_operation *op, struct gcb_diag *diag);

/*
 * Measures `count` operations in turn, so that a disturbance slows all of them. s[k] takes the
 * samples of ops[k]; all s[k] have the same room. Each round times each operation once and begins
 * with another operation. The measurement ends when `timing` is satisfied for all operations.
 * `max_time` limits all operations together; `min_time` concerns only operation 0. Returns the same
 * errors as gcb_measure.
 */
int gcb_measure_in_turn(struct gcb_samples *const s[], const struct gcb_timing *timing,
                        const struct gcb_operation ops[], size_t count, struct gcb_diag *diag);

/* A tensor to encode. */
struct gcb_encode_job {
    struct gcb_coder *coder;
    struct gcb_step at; /* step and worker */
    struct gcb_view in;
    bool raw; /* send the tensor raw, because it has infinities or NaNs */
};

/* Encodes the job. Each call empties `message` and writes the same bytes, unless the method has
 * GCB_CAP_STATEFUL. Pointers are borrowed. */
struct gcb_encode_call {
    const struct gcb_encode_job *job;
    struct gcb_wbuf *message;
};
struct gcb_operation gcb_encode_operation(struct gcb_encode_call *call);

/* Decodes a message. gcb_decode_operation fills `out` with NaNs, so that an element that decoding
 * leaves out is found. Pointers are borrowed. */
struct gcb_decode_call {
    struct gcb_coder *coder;
    const struct gcb_wbuf *message;
    const struct gcb_mview *out;
};
struct gcb_operation gcb_decode_operation(struct gcb_decode_call *call);

/* Sets `out`, which may be `in`, to `in` with all times multiplied by `factor`. out->seconds has
 * room for in->count times. */
void gcb_samples_scale(struct gcb_samples *out, const struct gcb_samples *in, double factor);

/*
 * A median is precise enough if the intervals of all operations measured in turn are narrow at two
 * consecutive checks, with at least GCB_STEADY_LEAST samples. One check would not suffice: an
 * interval may be narrow once by chance, and intervals chosen that way miss the true median too
 * often. Only at the last sample that there is room for, one narrow check is enough.
 */
#define GCB_STEADY_LEAST 20

/* State of the rule that says when a median is precise enough. Starts zeroed. */
struct gcb_steady {
    size_t looked; /* number of samples at the last check */
    bool narrow;   /* at the last check all intervals were narrow */
};

/* True if a check is due with `count` samples: at least GCB_STEADY_LEAST, and more than the last
 * check had by over an eighth. The gaps between checks grow, because each check sorts all
 * samples. */
bool gcb_steady_due(const struct gcb_steady *s, size_t count);
/* Stores the result `narrow` of a check with `count` samples. True if all intervals are narrow at
 * this check and were narrow at the check before. */
bool gcb_steady_look(struct gcb_steady *s, size_t count, bool narrow);

/* True if the interval is narrow enough for `precision`. False if there is no interval. */
bool gcb_steady_narrow(const struct gcb_stats *stats, double precision);

/*
 * Divides a time limit among pieces of work that run one after the other. A piece's share of the
 * time left is proportional to its weight. Most pieces need much less than their share. So a piece
 * may take up to three times its share, if half of the initial share is left for each later piece.
 * Later pieces get the time that a piece does not use. Work that cannot be cut short may exceed the
 * limit.
 */
struct gcb_budget {
    double deadline; /* end of all work, by gcb_clock */
    double weight;   /* weight of all work that is left */
    double fair;     /* at the start: the seconds that work of weight 1 gets */
};

/* Starts the clock. `weight` is the weight of all work together. */
void gcb_budget_start(struct gcb_budget *b, double seconds, double weight);

/* Returns the seconds for the next piece, which has this weight. The result is above 0 even if no
 * time is left. */
double gcb_budget_take(struct gcb_budget *b, double weight);

#endif
