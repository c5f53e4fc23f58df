#ifndef SRC_TOOL_RUN_SUMS_H
#define SRC_TOOL_RUN_SUMS_H

#include "src/lib/sum/sum.h"
#include "src/tool/measure/measure.h"
#include "src/tool/run/coders.h"

/* Sums of messages in a trial: a check of their result, and how long adding takes (docs/method.md,
 * "Sums"). */

/* Number of messages in the sum that sum16_seconds times. */
#define GCB_SUMS_MESSAGES 16

/* The most different messages that are added: the positions of so many sparse messages are in most
 * cache lines. They take at most GCB_SUMS_BYTES if there are several. */
#define GCB_SUMS_DIFFERENT 128
#define GCB_SUMS_BYTES ((size_t)64 << 20)

/*
 * The messages that are added: that of the trial, and encodings of the same tensor turned by
 * different distances, as if they came from other workers. Turning keeps the values and the
 * distances between most of them, but the kept positions differ, as between workers. Starts zeroed.
 */
struct gcb_sums_messages {
    struct gcb_room room;
    struct gcb_wbuf message[GCB_SUMS_DIFFERENT];
    size_t count;
};

/* Copies a tensor so that its element `from` comes first. */
void gcb_sums_turn(float *to, const float *x, uint64_t n, uint64_t from);

/*
 * Fills `m` with `first`, which job's coder has just encoded, and other messages: as many as fit if
 * `seconds` is more than 0, until the time is over, and otherwise GCB_SUMS_MESSAGES if they fit;
 * fewer if timing->stop says so. `turned` has room for the tensor. `first` must outlive `m`. The
 * other messages have no checksum. GCB_E_NOMEM.
 */
int gcb_sums_encode(struct gcb_sums_messages *m, const struct gcb_wbuf *first,
                    const struct gcb_encode_job *job, float *turned, double seconds,
                    const struct gcb_timing *timing, struct gcb_diag *diag);
void gcb_sums_messages_fini(struct gcb_sums_messages *m); /* zeroed is fine */

/* Pointers are borrowed. */
struct gcb_sums_job {
    struct gcb_sum *sum; /* nothing was added to it yet; `into` is its accumulator */
    const struct gcb_sums_messages *from; /* the first is the trial's own message */
    size_t next;                          /* number of the message to add next; starts at 0 */
    /* with cold caches: set by gcb_sums_measure */
    struct gcb_evict *evict;
    size_t added;
    int err;
    const float *into;    /* `count` elements */
    const float *decoded; /* `count` elements: the tensor decoded from the message */
    uint64_t count;
};

/* Counts the elements with different values. A NaN equals a NaN, and -0 equals +0. */
uint64_t gcb_sums_differing(const float *a, const float *b, uint64_t n);

/*
 * Adds the first message with weight 1 and compares the sum with the decoded tensor. Both must have
 * the same values, where -0 is +0; if `tolerance` is more than 0, their L2 distance may be this
 * share of the norm. GCB_E_UNVERIFIED: they differ.
 */
int gcb_sums_check(struct gcb_sums_job *job, double tolerance, struct gcb_diag *diag);

/*
 * The share of `max_time` that encoding and decoding get each if sums are timed too. Encoding the
 * messages and each of the two sums get a third of that time, so that all fits into two times
 * max_time.
 */
#define GCB_SUMS_OTHERS (2.0 / 3.0)

/*
 * Times the addition of a message to a sum that has begun (`one`), then whole sums of
 * GCB_SUMS_MESSAGES messages with gcb_sum_finish (`many`). Each addition takes the next message, in
 * turn. With timing->evict the caches are emptied before a sum begins, and not before each
 * addition: for `one` a sum has 15 additions, because the messages of a sum are added one after the
 * other. `many` has no warm-up, and is called a sixteenth of timing->repeat times. It is left
 * without samples if a single call would take more than `left` seconds and GCB_MEASURE_GRACE, or
 * after an interruption.
 */
int gcb_sums_measure(struct gcb_samples *one, struct gcb_samples *many,
                     const struct gcb_timing *timing, double left, struct gcb_sums_job *job,
                     struct gcb_diag *diag);

#endif
