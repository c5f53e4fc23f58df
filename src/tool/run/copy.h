#ifndef SRC_TOOL_TRIAL_COPY_H
#define SRC_TOOL_TRIAL_COPY_H

#include "src/tool/measure/measure.h"
#include "src/tool/run/tally.h"

/*
 * The lower bound for the time of any codec: memcpy of a message's float32 elements to a buffer and back. It is timed in
 * turn with the codec `identity`, which copies in the same way and writes a message, so their difference is the overhead
 * of messages and of measuring.
 *
 * Rows show "memcpy" as a method, but it cannot encode.
 */
extern const struct gcb_method gcb_copy_method;

struct gcb_copy {
    float *there, *back;
    struct gcb_samples encode, decode;
    uint64_t count; /* elements of the current message */
    const float *in;
    bool measured; /* the current message has been timed, in turn with identity */
};

/* `largest`: elements of the largest message to come. */
int gcb_copy_init(struct gcb_copy *c, const struct gcb_timing *timing, uint64_t largest,
                  struct gcb_diag *diag);
void gcb_copy_fini(struct gcb_copy *c); /* zeroed is fine */

void gcb_copy_begin(struct gcb_copy *c, const float *in, uint64_t count);
struct gcb_operation gcb_copy_there(struct gcb_copy *c);
struct gcb_operation gcb_copy_back(struct gcb_copy *c); /* overwrites `back` with NaNs first */

/* Sets the sizes and times of the current message. */
void gcb_copy_tally(struct gcb_tally *out, const struct gcb_copy *c);

#endif
