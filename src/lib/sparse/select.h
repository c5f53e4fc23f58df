#ifndef SRC_LIB_SPARSE_SELECT_H
#define SRC_LIB_SPARSE_SELECT_H

#include "src/lib/sparse/blocks.h"

/*
 * Functions that several selectors share. They are in select_topk.c unless a comment names another
 * file. A magnitude is a float's bit pattern without the sign. Counts are integers, and sums follow
 * the order of elements, so no result depends on the number of threads.
 */

/* The values of one sign, or all values: those whose bits under `mask` equal `sign`. */
struct gcb_side {
    uint32_t mask, sign;
};
extern const struct gcb_side gcb_side_any, gcb_side_positive, gcb_side_negative;

/* Returns the k-th largest magnitude of the n values x, 1 <= k <= n. *above: number of larger
 * magnitudes. */
uint32_t gcb_select_kth(const struct gcb_kernels *kernels, const float *x, uint64_t n, uint64_t k,
                        uint64_t *above);

/* The context of gcb_select_collect_block. */
struct gcb_collecting {
    struct gcb_selection *s;
    uint32_t threshold;
};
/* Collects the block's positions whose magnitude is at least the threshold. A gcb_block_fn; ctx is
 * a struct gcb_collecting. */
void gcb_select_collect_block(void *ctx, struct gcb_share *share, const struct gcb_block *block);
/* Collects all positions whose magnitude is at least the threshold, instead of those that s had.
 * Returns what gcb_blocks_visit returns. */
bool gcb_select_collect(struct gcb_selection *s, uint32_t threshold);

/* Keeps the collected positions whose values are on the side and have a magnitude above the
 * threshold, and the first `ties` of those with a magnitude equal to it. Drops all others. */
void gcb_select_cut(struct gcb_selection *s, struct gcb_side side, uint32_t threshold,
                    uint64_t ties);

/* Selects exactly the k largest magnitudes; among equal magnitudes, those with the lower index.
 * Returns false if a coefficient of a transform is not finite. */
bool gcb_select_exact(struct gcb_selection *s, uint64_t k);

/* Keeps exactly those collected positions that have the k largest magnitudes, 1 <= k <= s->kept;
 * among equal magnitudes, the first ones. */
void gcb_select_exact_of_collected(struct gcb_selection *s, uint64_t k);

/*
 * Two magnitudes that are estimated from a sample. Slightly more than k values of the side are
 * expected to reach `low`, and slightly fewer than k to reach `high`. low = 0: unknown, because the
 * sample is too small, its blocks are too few or too different, or too many of its values are 0.
 * high = GCB_INF_BITS: unknown. Uses s->ranked.
 */
struct gcb_bracket {
    uint32_t low, high;
};
struct gcb_bracket gcb_select_bracket(struct gcb_selection *s, struct gcb_sample sample,
                                      struct gcb_side side, uint64_t k);

/* `max_kept` of the selectors that may keep every position. */
uint64_t gcb_select_max_kept_all(const struct gcb_selection_params *p, uint64_t positions,
                                 uint64_t k);

/* A sample of m positions: offset, offset + stride, ... The rank-th largest magnitude of the sample
 * is the threshold. */
struct gcb_sample_plan {
    uint64_t m, stride, offset, rank;
};
/* select_sampled.c: plans a sample whose threshold about k of all positions reach. It has the given
 * share of all positions, but at least 1024 (or all) and at most GCB_SAMPLE_MAX. The offset depends
 * on the step. All fields are 0 if there are no positions. */
struct gcb_sample_plan gcb_sample_plan(uint64_t positions, double share, uint64_t k, uint64_t step);

/* select_chunk.c: number of positions that select=chunk keeps of an encoder's tiles. t->tiling must
 * not be NULL. */
uint64_t gcb_select_kept_of_tiles(const struct gcb_transform_state *t, double density);

/* ---- RedSync's policy: select_redsync.c ---- */

/* The parameter `quant`: asq is for select=redsync, ternary for select=mask. */
enum gcb_quant { GCB_QUANT_NONE, GCB_QUANT_ASQ, GCB_QUANT_TERNARY };

enum gcb_redsync_path { GCB_REDSYNC_ALL, GCB_REDSYNC_TRIMMED, GCB_REDSYNC_SEARCH };

/* RedSync's selection for a tensor of `count` elements, on the CPU and on a device. */
static inline enum gcb_redsync_path gcb_redsync_path(const struct gcb_selection_params *p,
                                                     uint64_t count)
{
    const uint64_t bytes = count * sizeof(float);

    if (bytes < p->dense_below)
        return GCB_REDSYNC_ALL;
    return bytes < p->trimmed_below ? GCB_REDSYNC_TRIMMED : GCB_REDSYNC_SEARCH;
}

/*
 * True if the tensor is quantised (quant=asq). Then the selection is `alternate`, one mean stands
 * for all values, and no threshold is used again. The output layer and tensors that are sent whole
 * are not quantised.
 */
bool gcb_redsync_quantises(const struct gcb_selection_params *p, const struct gcb_codec_env *env);

#endif
