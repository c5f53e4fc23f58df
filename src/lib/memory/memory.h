#ifndef SRC_LIB_MEMORY_MEMORY_H
#define SRC_LIB_MEMORY_MEMORY_H

#include <stdbool.h>

#include "src/lib/base/diag.h"
#include "src/lib/base/queue.h"
#include "src/lib/codec/method.h"

/*
 * What a worker remembers between steps, wrapped around a coder and never known to a codec: each step,
 * compensate turns the gradient into what is to be encoded, and update learns what the receiver
 * rebuilt. One memory per tensor and worker; a kind is a row in memory.c.
 *
 * With g_t the gradients, s_t what was sent (the decoded message, zero where none was), all in float32:
 *
 *   none    p = g
 *   ef      p = decay e + g; e = p - s                sum s + e = sum g - (1 - decay) sum e_carried
 *   dgc     u = m u + g; v = v + u; p = v;  v = p - s; u = 0 where s != 0   sum s + v = sum u_added
 *           (nesterov: u = m (u + g); v = v + u + g, and u + g counts as added)
 *   delay   a = a + (m u + g) for `delay` steps, then p = e + a; e = p - s; u = 0 where s != 0
 *                                                               sum s + e = sum of what was added
 *   demo    u = m u + g; p = u; u = p - s              sum s + u = sum g - (1 - m) sum u_carried
 *           (the momentum that was sent leaves: the recurrence of ef, under DeMo's name for its factor)
 */
struct gcb_memory;

/* Zero residuals for `count` elements of one of `workers` workers. GCB_E_NOMEM. The queue is copied. */
int gcb_memory_create(struct gcb_memory **out, const struct gcb_memory_params *params,
                      uint64_t count, unsigned workers, const struct gcb_queue *queue,
                      struct gcb_diag *diag);
void gcb_memory_destroy(struct gcb_memory *m); /* NULL is fine */

/*
 * Takes this step's gradient (count floats, borrowed for the call) and returns what to encode (valid until
 * the next call; may be g itself), or NULL if this step sends nothing.
 */
const float *gcb_memory_compensate(struct gcb_memory *m, const float *g);

/* After a step that sent something: `sent` is the decoded message. Never called for one that did not. */
void gcb_memory_update(struct gcb_memory *m, const float *sent);

/*
 * After compensate(m, g): adds to sum[] what this step's gradient put into the memory, and so what the
 * receiver is owed for it: g itself, or the momentum (dgc, delay) after clipping.
 */
void gcb_memory_add_input(const struct gcb_memory *m, const float *g, float *sum);

/* What has not been sent yet (count floats), or NULL where nothing is kept. */
const float *gcb_memory_residual(const struct gcb_memory *m);

#endif
