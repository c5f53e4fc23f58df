#ifndef SRC_LIB_SPARSE_CHUNKS_H
#define SRC_LIB_SPARSE_CHUNKS_H

#include "src/lib/sparse/stages.h"

/*
 * Transforms chunk by chunk. A few chunks are transformed and selected from, or filled and
 * transformed back, while their coefficients are in the cache. The coefficients of the whole message
 * are never in memory at the same time.
 */

/* Sets t->group and t->workers, and allocates t->room, if the message of t->fft has enough chunks to
 * take them apart; otherwise t->room is NULL. `width`: floats per position. Returns 0 or
 * GCB_E_NOMEM. */
int gcb_chunks_init(struct gcb_transform_state *t, unsigned width, struct gcb_diag *diag);

/* `by_chunks` (struct gcb_selector) of select=topk and of select=chunk. If positions are bins,
 * s->pair becomes t->coef, which then has only the kept bins. */
bool gcb_chunks_select_largest(struct gcb_selection *s, struct gcb_transform_state *t,
                               const struct gcb_transform *ops, const float *x, uint64_t k);
bool gcb_chunks_select_each(struct gcb_selection *s, struct gcb_transform_state *t,
                            const struct gcb_transform *ops, const float *x, uint64_t k);

/* Sets the coefficients at positions from `first` to `end` - 1 of the message. Returns 0 or an
 * error. */
typedef int gcb_chunks_read_fn(void *ctx, float *coef, uint64_t first, uint64_t end);

/* The inverse of a message with t->room: calls `read` for the coefficients of a few chunks at a time,
 * in order, and transforms them into `out`. Stops and returns the error if `read` fails. */
int gcb_chunks_decode(const struct gcb_transform_state *t, const struct gcb_transform *ops,
                      float *out, gcb_chunks_read_fn *read, void *ctx);

#endif
