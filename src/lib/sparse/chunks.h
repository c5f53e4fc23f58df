#ifndef SRC_LIB_SPARSE_CHUNKS_H
#define SRC_LIB_SPARSE_CHUNKS_H

#include "src/lib/sparse/stages.h"

/*
 * Transforms chunk by chunk. The coefficients of a few chunks are taken, or given, while they are
 * in the cache, and never written to memory as a whole.
 */

/* Sets t->group and t->workers, and takes memory for t->room if the message has enough chunks for
 * it. t->fft is there. `width`: floats per position. Returns 0 or GCB_E_NOMEM. */
int gcb_chunks_init(struct gcb_transform_state *t, unsigned width);

/* Number of chunks, the shorter last one too; and of positions of a whole chunk. */
uint64_t gcb_chunks_count(const struct gcb_transform_state *t);
uint64_t gcb_chunks_positions(const struct gcb_transform_state *t, unsigned width);

/* `by_chunks` of select=topk and select=chunk. They fill `s`, and point s->pair to bins in
 * t->coef. */
bool gcb_chunks_select_largest(struct gcb_selection *s, struct gcb_transform_state *t,
                               const struct gcb_transform *ops, const float *x, uint64_t k);
bool gcb_chunks_select_each(struct gcb_selection *s, struct gcb_transform_state *t,
                            const struct gcb_transform *ops, const float *x, uint64_t k);

/* Calls `read` to set the coefficients at positions from `first` to `end` - 1, group after group,
 * and transforms them to `out`. Returns 0 or what `read` returned. The message has t->room. */
typedef int gcb_chunks_read_fn(void *ctx, float *coef, uint64_t first, uint64_t end);
int gcb_chunks_decode(const struct gcb_transform_state *t, const struct gcb_transform *ops,
                      float *out, gcb_chunks_read_fn *read, void *ctx);

#endif
