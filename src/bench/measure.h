#ifndef SRC_BENCH_MEASURE_H
#define SRC_BENCH_MEASURE_H

#include "src/bench/stats.h"
#include "src/codec/coder.h"

/*
 * Timing, above all of one message under one coder. Inside the timed region: the whole of gcb_coder_encode or
 * gcb_coder_decode, header and payload. Outside: creating coders, the checksum, reading files, and all
 * checking of results (docs/method.md).
 */
struct gcb_timing {
    unsigned warmup; /* calls before the first timed one */
    unsigned repeat; /* timed calls, at least; 0 is taken as 1 */
    double min_time; /* go on until so many seconds were measured; 0: `repeat` alone decides */
    bool (*stop)(void *ctx); /* asked between calls: end early, after one timed call; may be NULL */
    void *stop_ctx;
};

/* At most so many are kept under min_time, which ends the measurement too. */
#define GCB_MAX_SAMPLES 10000

/* Timings of one operation, in the order they were taken. */
struct gcb_samples {
    double *seconds; /* count of them */
    double *scratch;
    size_t count, cap;
    struct gcb_stats stats;
};

/* Takes room for what `timing` can ask for. GCB_E_NOMEM, GCB_E_INVALID (more than can be kept). */
int gcb_samples_init(struct gcb_samples *s, const struct gcb_timing *timing, struct gcb_diag *diag);
void gcb_samples_fini(struct gcb_samples *s); /* zeroed is fine */

/* Something that can be done again and again. */
struct gcb_operation {
    int (*run)(void *job, struct gcb_diag *diag); /* 0, or an error that ends the measurement */
    void *job;
};

/* Fills `s` with timings of the operation. Nothing is allocated. */
int gcb_measure(struct gcb_samples *s, const struct gcb_timing *timing,
                const struct gcb_operation *op, struct gcb_diag *diag);

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

#endif
