#ifndef SRC_LIB_SUM_SUM_H
#define SRC_LIB_SUM_SUM_H

#include "src/lib/coder/coder.h"

/*
 * The weighted sum of messages (struct gcb_sum in src/gcbench.h, which has the functions that add
 * and finish). A sum has up to two accumulators:
 *
 *   the canvas    coefficients of a transform, if the sum's method has one. Messages with the same codec, transform,
 *                 chunk and Hadamard key are added here; one inverse transform turns the canvas
 *                 into elements.
 *   the elements  everything else: messages without a transform, messages sent raw, messages of
 *   another method.
 *
 * The result is the inverse transform of the canvas plus the elements. Each addition is rounded to
 * float32, in the order of the calls.
 */

/* What every sum refuses: GCB_E_INVALID for a weight that is not finite, GCB_E_MISMATCH for a
 * message of other than `count` elements. */
int gcb_sum_check(const struct gcb_frame *frame, uint64_t count, float weight,
                  struct gcb_diag *diag);

/* Opens a sum of messages of this method, with config->env.count elements. `into` is as in
 * gcb_sum_open. */
int gcb_sum_create(struct gcb_sum **out, const struct gcb_method *method, float *into,
                   const struct gcb_coder_config *config, struct gcb_diag *diag);
/* Like the function above, but a message gives the method and the number of elements. */
int gcb_sum_create_like(struct gcb_sum **out, const void *message, size_t length, float *into,
                        const struct gcb_coder_config *config, struct gcb_diag *diag);

/* gcb_sum_add, but the checksum is not checked. */
int gcb_sum_add_checked(struct gcb_sum *s, const void *message, size_t length, float weight,
                        struct gcb_diag *diag);

/* Makes `into` the accumulator of the next sum, as in gcb_sum_open; NULL: an array of its own.
 * Drops what was added. If messages are added to elements, sets `into` to zero now, so that the
 * first addition does not have to. */
void gcb_sum_set_into(struct gcb_sum *s, float *into);

/* Drops what was added since the last result. */
void gcb_sum_clear(struct gcb_sum *s);

#endif
