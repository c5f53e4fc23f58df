#ifndef SRC_TOOL_TRIAL_SUMS_H
#define SRC_TOOL_TRIAL_SUMS_H

#include "src/lib/sum/sum.h"
#include "src/tool/timing/measure.h"

/* Sums of a message in a trial: a check of their result, and how long adding takes (docs/method.md, "Sums"). */

/* Number of messages in the sum that sum16_seconds times. */
#define GCB_SUMS_MESSAGES 16

/* Pointers are borrowed. */
struct gcb_sums_job {
    struct gcb_sum *sum; /* nothing was added to it yet; `into` is its accumulator */
    const struct gcb_wbuf *message;
    const float *into;    /* `count` elements */
    const float *decoded; /* `count` elements: the tensor decoded from the message */
    uint64_t count;
};

/* Counts the elements with different values. A NaN equals a NaN, and -0 equals +0. */
uint64_t gcb_sums_differing(const float *a, const float *b, uint64_t n);

/*
 * Adds the message with weight 1 and compares the sum with the decoded tensor. Both must have the same values, where -0 is
 * +0; if `tolerance` is more than 0, their L2 distance may be this share of the norm. GCB_E_UNVERIFIED: they differ.
 */
int gcb_sums_check(const struct gcb_sums_job *job, double tolerance, struct gcb_diag *diag);

/*
 * The share of `max_time` that encoding and decoding get each if sums are timed too. The sums get a third of that time
 * each, so that all four measurements fit into two times max_time.
 */
#define GCB_SUMS_OTHERS 0.75

/*
 * Times the addition of the message to a sum that has begun (`one`), then whole sums of GCB_SUMS_MESSAGES messages with
 * gcb_sum_finish (`many`). `many` has no warm-up, and is called a sixteenth of timing->repeat times. It is left without
 * samples if a single call would take more than `left` seconds and GCB_MEASURE_GRACE, or after an interruption.
 */
int gcb_sums_measure(struct gcb_samples *one, struct gcb_samples *many,
                     const struct gcb_timing *timing, double left, const struct gcb_sums_job *job,
                     struct gcb_diag *diag);

#endif
