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

/*
 * Selects exactly the k largest, as gcb_select_exact does, of the coefficients of x. Fills `s`, and
 * points s->pair to bins in t->coef. Returns false, and a caller must select in the usual way, if
 * the message has few chunks, or if the sample of chunks was misleading, or if a coefficient is not
 * finite.
 */
bool gcb_chunks_select(struct gcb_selection *s, struct gcb_transform_state *t,
                       const struct gcb_transform *ops, const float *x, uint64_t k);

#endif
