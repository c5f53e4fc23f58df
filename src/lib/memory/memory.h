#ifndef SRC_LIB_MEMORY_MEMORY_H
#define SRC_LIB_MEMORY_MEMORY_H

#include <stdbool.h>

#include "src/lib/base/diag.h"
#include "src/lib/base/queue.h"
#include "src/lib/codec/method.h"

/*
 * What a worker keeps between steps. Codecs do not know about it. In each step compensate turns the
 * gradient into what is encoded, and update learns what the receiver decoded. Each tensor of each
 * worker has its own memory.
 *
 * In the rules below, g is the gradient, p what is encoded, and s what was sent (the decoded
 * message; zero if nothing was sent), all in float32. A worker keeps the arrays e, v, a (not yet
 * sent), u (momentum) and h (the last update, divided by the sum of the workers' weights); m is the
 * momentum's factor. The sums at the right are over all steps. "carried" means the value that a
 * step begins with, "added" the value that a step adds to v or a.
 *
 *   none    p = g
 *   ef      p = decay e + g; e = p - s                sum s + e = sum g - (1 - decay) sum e_carried
 *   dgc     u = m u + g; v = v + u; p = v;  v = p - s; u = 0 where s != 0   sum s + v = sum u_added
 *           (nesterov=yes: u = m (u + g); v = v + u + g, and u + g counts as added.
 *           nesterov=redsync: u = m u + g as without, v = v + u + g) (residual=clear: v = 0 where s
 *           != 0, so that p - s is lost there)
 *   delay   u = m u + g; a = a + u; after `delay` steps p = e + a; e = p - s; a = 0; u = 0 where s != 0
 *                                                               sum s + e = sum u_added
 *   demo    u = m u + g; p = u; u = p - s              sum s + u = sum g - (1 - m) sum u_carried
 *           (what was sent leaves the momentum: the same recurrence as ef; DeMo calls its factor
 *           momentum)
 *   gmc     p = e + g + m h; e = p - s                 sum s + e = sum (g + m h_carried)
 *           (global momentum: Zhao et al., arXiv 1905.12948, where h is (w_t - w_{t+1}) / learning
 *           rate)
 */
struct gcb_memory;

/* Makes the memory of one of `workers` workers for `count` elements, all zero. The parameters
 * are those of gcb_method_memory_for. Returns 0 or GCB_E_NOMEM. The queue and the kernels are
 * copied. */
int gcb_memory_create(struct gcb_memory **out, const struct gcb_memory_params *params,
                      uint64_t count, unsigned workers, const struct gcb_queue *queue,
                      const struct gcb_kernels *kernels, struct gcb_diag *diag);
void gcb_memory_destroy(struct gcb_memory *m); /* NULL is fine */

/*
 * Gives the norm of the next gradient, which clip-norm limits: that of all tensors of this worker
 * together, finite and not negative. Without it, the tensor's own norm counts.
 */
void gcb_memory_set_norm(struct gcb_memory *m, double norm);

/*
 * True if compensate(m, g) would return finite values only. Changes nothing. After true, compensate
 * must follow, with the same g. False: g, its norm or the sum is not finite, and the norm is
 * forgotten.
 */
bool gcb_memory_stays_finite(struct gcb_memory *m, const float *g);

/*
 * Takes this step's gradient (count floats, borrowed for the call) and returns what to encode
 * (valid until the next call; may be g itself), or NULL if this step sends nothing.
 */
const float *gcb_memory_compensate(struct gcb_memory *m, const float *g);

/* Call it instead of gcb_memory_compensate in a step whose gradient must not enter the memory.
 * Returns whether this step sends something. */
bool gcb_memory_skip(struct gcb_memory *m);

/* Call it after each step that sent something; `sent` is the decoded message. Without it, nothing
 * counts as sent, and a message that is due stays due. */
void gcb_memory_update(struct gcb_memory *m, const float *sent);

/*
 * The same in two steps, for a sender that knows where its few elements are: add what was sent as
 * the returned struct says, then call gcb_memory_update with NULL. Its arrays are the memory's own,
 * of count floats.
 */
struct gcb_addition gcb_memory_addition(struct gcb_memory *m);

/* True if this kind needs the update of each step (gmc). */
bool gcb_memory_wants_update(const struct gcb_memory *m);

/* If so, call this after each step: `update` is the sum of all workers' tensors (count floats) and
 * `total` the sum of their weights, not 0. Every worker must get the same. An update with an
 * infinity or NaN is ignored. */
void gcb_memory_learn(struct gcb_memory *m, const float *update, float total);

/*
 * After compensate(m, g), before learn: adds to sum[] what this step added to the memory: g, or the
 * momentum after clipping (dgc, delay), or g + m h (gmc). The receiver should get this in the end.
 */
void gcb_memory_add_input(const struct gcb_memory *m, const float *g, float *sum);

/* Instead of learn: removes g from the memory again, up to rounding. What decayed stays decayed. */
void gcb_memory_forget(struct gcb_memory *m, const float *g);

/* What has not been sent yet (count floats), or NULL if nothing is kept. */
const float *gcb_memory_residual(const struct gcb_memory *m);

/* Changes the parameters, except the kind. Arrays stay. */
void gcb_memory_set_params(struct gcb_memory *m, const struct gcb_memory_params *params);

/*
 * Copies what a memory keeps: arrays of count floats (NULL: not wanted; gmc saves h as momentum),
 * and the steps since the last message. An array that this kind does not have is saved as zeros.
 */
void gcb_memory_save(const struct gcb_memory *m, float *residual, float *momentum,
                     uint64_t *summed);
/* Checks that the memory can keep this. NULL: zeros. GCB_E_MISMATCH: it cannot keep a value.
 * GCB_E_NONFINITE. */
int gcb_memory_check(const struct gcb_memory *m, const float *residual, const float *momentum,
                     uint64_t summed, struct gcb_diag *diag);
/* Restores what gcb_memory_check has accepted. */
void gcb_memory_restore(struct gcb_memory *m, const float *residual, const float *momentum,
                        uint64_t summed);

#endif
