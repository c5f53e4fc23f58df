#ifndef SRC_TOOL_RUN_SUMS_H
#define SRC_TOOL_RUN_SUMS_H

#include "src/lib/sum/sum.h"
#include "src/tool/measure/measure.h"
#include "src/tool/run/coders.h"

/* Sums of messages in a trial: checks the result of a sum, and measures how long adding takes
 * (docs/method.md, "Sums"). */

/* Number of messages in the sum whose time is the field sum16_seconds. */
#define GCB_SUMS_MESSAGES 16

/* The largest number of different messages that are added. With so many messages, their kept
 * positions together touch most cache lines of a tensor. */
#define GCB_SUMS_DIFFERENT 128
/* Most bytes of all messages after the first, if they are as long as the first. */
#define GCB_SUMS_BYTES ((size_t)64 << 20)

/*
 * The messages that are added. The first is the message of the trial. The others encode the same
 * tensor, turned (rotated) by different distances, as if they came from other workers. Turning
 * changes the positions that a sparsifier keeps, but neither the values nor the distances between
 * most of them. Starts zeroed.
 */
struct gcb_sums_messages {
    struct gcb_room room; /* memory of all messages except the first; release with gcb_room_fini */
    struct gcb_wbuf message[GCB_SUMS_DIFFERENT];
    size_t count;
};

/* Copies x[0..n) to `to`, turned so that element `from` comes first. `from` is at most n, and the
 * arrays do not overlap. */
void gcb_sums_turn(float *to, const float *x, uint64_t n, uint64_t from);

/*
 * Fills `m` with `first`, which the job's coder has just encoded, and with encodings of turned
 * tensors. If `seconds` is more than 0, encodes for that time, at most GCB_SUMS_DIFFERENT messages;
 * otherwise GCB_SUMS_MESSAGES messages. There are fewer messages if GCB_SUMS_BYTES are full or
 * timing->stop returns true. `turned` has room for the tensor. `first` is borrowed as long as `m`
 * is used. The other messages have no checksum. Returns 0, GCB_E_NOMEM, or an error of encoding.
 */
int gcb_sums_encode(struct gcb_sums_messages *m, const struct gcb_wbuf *first,
                    const struct gcb_encode_job *job, float *turned, double seconds,
                    const struct gcb_timing *timing, struct gcb_diag *diag);

/* The sum of a trial, which is checked and timed. Pointers are borrowed. */
struct gcb_sums_job {
    struct gcb_sum *sum;                  /* has no messages yet; `into` is its accumulator */
    const struct gcb_sums_messages *from; /* the messages to add */
    size_t next;                          /* index of the message to add next; starts at 0 */
    /* empties the caches; NULL: warm caches; set by gcb_sums_measure */
    struct gcb_evict *evict;
    size_t added;         /* with cold caches: number of timed additions that have begun */
    const float *into;    /* `count` elements */
    const float *decoded; /* `count` elements: the tensor decoded from the first message */
    uint64_t count;
};

/* Returns the number of elements with different values. A NaN equals a NaN, and -0 equals +0. */
uint64_t gcb_sums_differing(const float *a, const float *b, uint64_t n);

/*
 * Adds the first message with weight 1 and compares the sum with the decoded tensor. Both must have
 * the same values, where -0 equals +0. If `tolerance` is more than 0, it is enough that their L2
 * distance is at most this share of the norm. GCB_E_UNVERIFIED: they differ.
 */
int gcb_sums_check(struct gcb_sums_job *job, double tolerance, struct gcb_diag *diag);

/*
 * If sums are timed too, encoding and decoding each get this share of half a trial's time. The rest
 * has three equal parts: for encoding the messages to add, and for timing each of the two sums. So
 * each part is a third of the time for encoding.
 */
#define GCB_SUMS_OTHERS (2.0 / 3.0)

/*
 * Times the addition of one message to a sum that has begun (`one`), then whole sums of
 * GCB_SUMS_MESSAGES messages with gcb_sum_finish (`many`). The messages are added in turn. With
 * timing->evict, the caches are emptied before each sum begins, but not before each addition,
 * because the messages of a real sum are added one after the other. For `one`, a sum then has
 * GCB_SUMS_MESSAGES - 1 timed additions; with warm caches, one sum has all of them.
 *
 * `one` and `many` may each take a third of timing->max_time, which is the limit for encoding.
 * `many` has no warm-up and 1 / GCB_SUMS_MESSAGES of timing->repeat calls, rounded up. `many`,
 * which starts without samples, gets none after an interruption, or if a single call would take
 * more than both `left` seconds and GCB_MEASURE_GRACE.
 */
int gcb_sums_measure(struct gcb_samples *one, struct gcb_samples *many,
                     const struct gcb_timing *timing, double left, struct gcb_sums_job *job,
                     struct gcb_diag *diag);

#endif
