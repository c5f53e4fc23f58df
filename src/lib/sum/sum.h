#ifndef SRC_LIB_SUM_SUM_H
#define SRC_LIB_SUM_SUM_H

#include "src/lib/coder/coder.h"

/*
 * The weighted sum of messages: src/gcbench.h declares struct gcb_sum and the functions that add
 * and finish. A sum has up to two accumulators:
 *
 *   the canvas    coefficients, if the sum's method has a transform. Messages with the same codec
 *                 and transform (its kind, chunk, padding, tiles and key of random signs) are added
 *                 here. In the end one inverse transform turns the canvas into elements.
 *   the elements  all other messages are added here: messages without a transform, stored messages,
 *                 messages of another method.
 *
 * The result is the inverse transform of the canvas plus the elements. Additions are in the order
 * of the calls, and each is rounded to float32.
 */

/* Opens a sum of messages of this method, with config->env.count elements, on the host:
 * config->place is not used. `into` is the accumulator, as in gcb_sum_open. The caller frees *out
 * with gcb_sum_close. Returns 0 or an error of gcb_coder_create. */
int gcb_sum_create(struct gcb_sum **out, const struct gcb_method *method, float *into,
                   const struct gcb_coder_config *config, struct gcb_diag *diag);
/* Does what gcb_sum_create does, but a message gives the method and the number of elements. The
 * message is not added. Returns 0 or an error of gcb_frame_parse or gcb_coder_create_like. */
int gcb_sum_create_like(struct gcb_sum **out, const void *message, size_t length, float *into,
                        const struct gcb_coder_config *config, struct gcb_diag *diag);

/* Does what gcb_sum_add does, but does not look at the checksum: for a message that this process
 * has checked before, or has encoded itself. `s` is not NULL. */
int gcb_sum_add_checked(struct gcb_sum *s, const void *message, size_t length, float weight,
                        struct gcb_diag *diag);

/* Drops what was added, and makes `into` the accumulator of the next sum, as in gcb_sum_open. NULL:
 * the sum has an accumulator of its own. If the method is known and has no transform, sets `into`
 * to zero now, so that the first addition does not have to. */
void gcb_sum_set_into(struct gcb_sum *s, float *into);

/* Drops what was added since the last result. */
void gcb_sum_clear(struct gcb_sum *s);

#endif
