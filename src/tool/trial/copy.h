#ifndef SRC_TOOL_TRIAL_COPY_H
#define SRC_TOOL_TRIAL_COPY_H

#include "src/tool/timing/measure.h"
#include "src/tool/trial/tally.h"

/*
 * The baseline below every codec: memcpy of a message's float32 elements to a buffer and back, timed in turn
 * with the `identity` codec, which does the same and writes a message around it. What lies between the two
 * is what messages and harness cost.
 *
 * "memcpy" is a method as far as rows go, and none that anybody can encode with.
 */
extern const struct gcb_method gcb_copy_method;

struct gcb_copy {
    float *there, *back;
    struct gcb_samples encode, decode;
    uint64_t count; /* elements of the message at hand */
    const float *in;
    bool measured; /* in turn with identity, for this message */
};

/* `largest`: elements of the largest message to come. */
int gcb_copy_init(struct gcb_copy *c, const struct gcb_timing *timing, uint64_t largest,
                  struct gcb_diag *diag);
void gcb_copy_fini(struct gcb_copy *c); /* zeroed is fine */

void gcb_copy_begin(struct gcb_copy *c, const float *in, uint64_t count);
struct gcb_operation gcb_copy_there(struct gcb_copy *c);
struct gcb_operation gcb_copy_back(struct gcb_copy *c); /* `back` is spoiled first */

/* Sizes, times and errors of the message at hand, from what was copied. */
void gcb_copy_tally(struct gcb_tally *out, const struct gcb_copy *c);

#endif
