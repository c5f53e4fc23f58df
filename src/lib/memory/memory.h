#ifndef SRC_LIB_MEMORY_MEMORY_H
#define SRC_LIB_MEMORY_MEMORY_H

#include <stdbool.h>

#include "src/lib/base/diag.h"
#include "src/lib/base/queue.h"
#include "src/lib/codec/method.h"

/*
 * A worker's memory: what a worker keeps between steps for a tensor. Codecs do not know of it. In
 * each step, compensate turns the gradient into the tensor to encode, and update takes the tensor
 * that the receiver decodes.
 *
 * In the rules below, g is the gradient, p the tensor to encode, and s the decoded message (zero if
 * nothing is sent), all in float32. The memory keeps these arrays: e, v, a (not yet sent), u
 * (momentum) and h (the last update, divided by the sum of the workers' weights). m is the
 * momentum's factor. The second line of each rule says which sum over all steps is conserved, with
 * e_old, u_old and h_old for the values at the beginning of a step. "u = 0 where s != 0" does not
 * apply with masking=no. Neither that nor residual=clear applies to a method whose messages leave
 * no elements out. With clip-norm (dgc), g is first multiplied by clip-norm / sqrt(workers) / norm,
 * if that is below 1 (gcb_memory_set_norm says which norm).
 *
 *   none    p = g
 *   ef      p = decay e + g; e = p - s
 *           sum s + e = sum g - (1 - decay) sum e_old
 *   dgc     u = m u + g; v = v + u; p = v; v = p - s; u = 0 where s != 0
 *           sum s + v = sum of what is added to v
 *           nesterov=yes: u = m (u + g); v = v + u + g
 *           nesterov=redsync: u = m u + g; v = v + u + g
 *           residual=clear: v = 0 where s != 0, so p - s is lost there
 *   delay   u = m u + g; a = a + u; after `delay` steps: p = e + a; e = p - s; a = 0;
 *           u = 0 where s != 0
 *           sum s + e = sum of what is added to a
 *   demo    u = m u + g; p = u; u = p - s
 *           sum s + u = sum g - (1 - m) sum u_old
 *           This is ef with the factor m, which DeMo calls momentum.
 *   gmc     p = e + g + m h; e = p - s
 *           sum s + e = sum (g + m h_old)
 *           Global momentum: Zhao et al., arXiv 1905.12948, where h is (w_t - w_{t+1}) / learning
 *           rate.
 *   loco    p = e + g; e = Q(average e_old + (1 - average) (p - s)); after clear-every steps e = 0
 *           Q rounds blocks of 256 elements to 8-bit integers times max / 127, which LoCo would
 *           store (Xie et al., arXiv 2407.04480). No sum is conserved.
 *   ef21    p = g - h; h = h + s; the update is a = a + (weighted sum of all workers' s)
 *           sum s = h. Here h is what has arrived of this worker's gradient, and a the last update:
 *           the weighted sum of all h (Richtarik et al., NeurIPS 2021), if the weights do not
 *           change.
 */
struct gcb_memory;

/* Makes the memory of one of `workers` workers for `count` elements, all zero. `params` comes from
 * gcb_method_memory_for. Queue and kernels are copied. The caller frees *out with
 * gcb_memory_destroy. Returns 0 or GCB_E_NOMEM. */
int gcb_memory_create(struct gcb_memory **out, const struct gcb_memory_params *params,
                      uint64_t count, unsigned workers, const struct gcb_queue *queue,
                      const struct gcb_kernels *kernels, struct gcb_diag *diag);
void gcb_memory_destroy(struct gcb_memory *m); /* NULL is fine */

/*
 * Gives the norm of the next gradient, for clip-norm: the L2 norm of all tensors of this worker
 * together, finite and not negative. Without this call, the tensor's own norm is used.
 */
void gcb_memory_set_norm(struct gcb_memory *m, double norm);

/*
 * True if compensate(m, g) would return finite values only. Then the caller must call compensate
 * with the same g. If false, the caller may call compensate only if the kind is ef21, whose memory
 * does not take g; a norm that was given is forgotten. Changes nothing else. Not for the kind none.
 */
bool gcb_memory_stays_finite(struct gcb_memory *m, const float *g);

/*
 * Takes this step's gradient (count floats, borrowed for the call). Returns the tensor to encode,
 * valid until the next call that changes the memory; it may be g itself. Returns NULL if this step
 * sends nothing.
 */
const float *gcb_memory_compensate(struct gcb_memory *m, const float *g);

/* Called instead of gcb_memory_compensate in a step whose gradient must not enter the memory: only
 * counts the step. Returns true if this step sends a message. */
bool gcb_memory_skip(struct gcb_memory *m);

/* Called after each step that sent a message. `sent` is the decoded message (count floats); NULL:
 * it has been added already (gcb_memory_addition), or the step's gradient did not enter the memory
 * (gcb_memory_skip). Without this call nothing counts as sent, and a message that is due stays
 * due. */
void gcb_memory_update(struct gcb_memory *m, const float *sent);

/*
 * Does what gcb_memory_update does in two steps, for a sender that knows which few elements it
 * sent. The caller adds the sent elements as the returned struct says, and then calls
 * gcb_memory_update with NULL. The arrays in the struct belong to the memory and have count floats.
 * `acc` is NULL for the kind none.
 */
struct gcb_addition gcb_memory_addition(struct gcb_memory *m);

/* True if the memory needs the update of each step (gmc, ef21). */
bool gcb_memory_wants_update(const struct gcb_memory *m);

/* Before gcb_memory_learn: turns the weighted sum of the workers' messages (count floats) into the
 * update. Only ef21 changes it: it adds the last update. */
void gcb_memory_complete(const struct gcb_memory *m, float *update);

/* Tells the memory the update of a step; does nothing unless gcb_memory_wants_update. `update` is
 * the weighted sum of all workers' tensors (count floats). `total` is the sum of their weights, for
 * gmc not 0. All workers must pass the same update and total. An update is ignored if it has an
 * infinity or NaN, or overflows when gmc divides it by the total. Returns false if the step must
 * then be forgotten (ef21). */
bool gcb_memory_learn(struct gcb_memory *m, const float *update, float total);

/*
 * After compensate(m, g), before update: adds what this step added to the memory to sum[] (count
 * floats). That is g (none, ef, demo, loco, ef21); what the rules above add to v or a, after
 * clipping (dgc, delay); or g + m h (gmc). In the end, the receiver should get the sum of all
 * these.
 */
void gcb_memory_add_input(const struct gcb_memory *m, const float *g, float *sum);

/* Called instead of update, if learn was not called or has ignored the update: removes g from the
 * memory again, up to rounding. Older values that the step has multiplied by a factor stay so. */
void gcb_memory_forget(struct gcb_memory *m, const float *g);

/* Returns what has not been sent yet (count floats of the memory), or NULL if nothing is kept of
 * it (none, ef21). */
const float *gcb_memory_residual(const struct gcb_memory *m);

/* Replaces the parameters; `params` must have the same kind. The arrays stay as they are. A count
 * of steps above the new delay or clear-every is lowered to it. */
void gcb_memory_set_params(struct gcb_memory *m, const struct gcb_memory_params *params);

/*
 * Copies what a memory keeps: two arrays of count floats, and the number of steps since the last
 * message (delay) or since e was cleared (loco). A NULL array is not wanted. An array that this
 * kind does not have is saved as zeros. demo saves u as residual; gmc saves h as momentum; ef21
 * saves h as residual and a as momentum; loco saves the e after the last message as momentum.
 */
void gcb_memory_save(const struct gcb_memory *m, float *residual, float *momentum,
                     uint64_t *summed);
/* Checks that gcb_memory_restore can restore these values. A NULL array means zeros. Returns 0,
 * GCB_E_NONFINITE, or GCB_E_MISMATCH if this kind cannot keep a value. */
int gcb_memory_check(const struct gcb_memory *m, const float *residual, const float *momentum,
                     uint64_t summed, struct gcb_diag *diag);
/* Restores what gcb_memory_check has accepted. */
void gcb_memory_restore(struct gcb_memory *m, const float *residual, const float *momentum,
                        uint64_t summed);

#endif
