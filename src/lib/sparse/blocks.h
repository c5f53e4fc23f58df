#ifndef SRC_LIB_SPARSE_BLOCKS_H
#define SRC_LIB_SPARSE_BLOCKS_H

#include "src/lib/sparse/stages.h"

/*
 * Blocks: what a selector reads of a message, and what a decoder fills. A block is some consecutive
 * positions whose coefficients are in the cache. Without a transform, blocks are parts of the
 * tensor. If t->group is not 0, a block is a chunk of the transform, and is transformed when it is
 * visited: the coefficients of the whole message are never in memory at the same time. For other
 * transforms, and for selectors that need all coefficients, gcb_blocks_all computes them first, and
 * blocks are parts of them.
 */
struct gcb_block {
    uint64_t first;     /* its first position */
    size_t n;           /* number of its positions */
    const float *order; /* the floats that rank these positions (struct gcb_source) */
    const float *coef;  /* the coefficients, if the block is a chunk; else NULL */
};

/* What a worker has appended to s->pos and s->value: `found` entries from number `first` on. */
struct gcb_share {
    uint64_t first, found;
    uint32_t hint; /* 0 at first; the function of the visit may keep a number here */
};

/* If the message has enough chunks to transform them one group after the other, allocates t->room
 * (gcb_transform_fini frees it) and limits t->workers. Otherwise sets t->group to 0. `width`:
 * floats per position. Returns 0 or GCB_E_NOMEM. */
int gcb_blocks_init(struct gcb_transform_state *t, unsigned width, struct gcb_diag *diag);

/* Sets s->from.order, the floats that rank all positions, if it is NULL. Returns false if a
 * coefficient of a transform is not finite. */
bool gcb_blocks_all(struct gcb_selection *s);

/* Called for each block, to append positions and values to the share, and bins if s->pair is not
 * NULL. Adds the number of positions to s->segment_kept (gcb_blocks_count). Shares are filled at
 * the same time, each in order. */
typedef void gcb_block_fn(void *ctx, struct gcb_share *share, const struct gcb_block *block);

static inline void gcb_blocks_count(struct gcb_selection *s, uint64_t segment, uint64_t found)
{
    __atomic_fetch_add(&s->segment_kept[segment], found, __ATOMIC_RELAXED);
}

/*
 * Calls fn for all blocks; those of an array have `length` positions, the last one maybe fewer.
 * Then moves the shares together, and sets s->kept. If positions are bins of chunks, s->pair
 * becomes t->coef, which then has only the collected bins. Unless s->from.t is NULL, also sets
 * s->largest, and reports appended values that are not finite: for chunks by returning false, for
 * an array by setting s->nonfinite. Otherwise returns true.
 */
bool gcb_blocks_visit(struct gcb_selection *s, uint64_t length, gcb_block_fn *fn, void *ctx);

/* s->sample has m floats, `each` from every sampled block. m = 0: there are too few positions. */
struct gcb_sample {
    size_t m, each;
};
/* Fills s->sample with evenly spaced floats of an array, or with floats of evenly spaced chunks.
 * For bins of chunks, also sets t->top. */
struct gcb_sample gcb_blocks_sample(struct gcb_selection *s);

/* True if it is certain that the same positions are kept whether the powers of bins are scaled for
 * t->top, as in a visit to chunks, or for the largest part, as in fft_order (transform_fft.c).
 * `least` is the bits of the least kept power. Always true for other positions. */
bool gcb_blocks_same_scale(const struct gcb_selection *s, uint32_t least);

/* Sets the coefficients at positions from `first` to `end` - 1 of the message; coef has only these.
 * Returns 0 or an error. */
typedef int gcb_blocks_read_fn(void *ctx, float *coef, uint64_t first, uint64_t end);

/* Transforms a message back into `out`; t->room must not be NULL. Calls `read` for the coefficients
 * of a few chunks at a time, in order. Stops and returns the error if `read` fails. */
int gcb_blocks_decode(const struct gcb_transform_state *t, const struct gcb_transform *ops,
                      float *out, gcb_blocks_read_fn *read, void *ctx);

#endif
