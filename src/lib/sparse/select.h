#ifndef SRC_LIB_SPARSE_SELECT_H
#define SRC_LIB_SPARSE_SELECT_H

#include "src/lib/sparse/stages.h"

/*
 * Functions that several selectors share. They are in select_topk.c unless a comment names another
 * file. A magnitude is a bit pattern without the sign. Sums and counts are integers or follow the
 * order of elements, so no result depends on the number of threads.
 */

/* The number of floats in the `sample` buffer of struct gcb_selection. */
#define GCB_SAMPLE_MAX ((size_t)1 << 15)

/* The elements of one sign, or all: those whose bits under `mask` equal `sign`. */
struct gcb_side {
    uint32_t mask, sign;
};
extern const struct gcb_side gcb_side_any, gcb_side_positive, gcb_side_negative;

/* The k-th largest magnitude of n values, 1 <= k <= n. *above: number of larger magnitudes. */
uint32_t gcb_select_kth(const struct gcb_kernels *kernels, const float *x, uint64_t n, uint64_t k,
                        uint64_t *above);

/* Collects all positions of x whose magnitude reaches the threshold, in order: fills pos, value,
 * segment_kept, kept. */
void gcb_select_collect(struct gcb_selection *s, const float *x, uint32_t threshold);

/* Drops collected positions. Keeps those of the side above the threshold, and the first `ties`
 * equal to it. */
void gcb_select_cut(struct gcb_selection *s, struct gcb_side side, uint32_t threshold,
                    uint64_t ties);

/*
 * The k-th largest magnitude of the collected values, k <= kept. Fewer than k of them are expected
 * to reach `high`: then only those below it are ranked. *above: number of larger magnitudes.
 */
uint32_t gcb_select_kth_of_collected(struct gcb_selection *s, uint32_t high, uint64_t k,
                                     uint64_t *above);

/* Selects exactly the k largest magnitudes; among equal magnitudes, those with the lower index. */
void gcb_select_exact(struct gcb_selection *s, const float *x, uint64_t k);

/* Of the collected positions, keeps exactly those with the k largest magnitudes, k <= kept. */
void gcb_select_exact_of_collected(struct gcb_selection *s, uint64_t k);

/*
 * select_chunk.c: selects from a chunk of n positions with the density. Appends the kept positions,
 * counted from the chunk's first, and their values at number `at`. Returns how many. Scratch is
 * s->ranked from `room` on, n floats. *hint, 0 for the first chunk, makes it faster to select from
 * chunks that are alike.
 */
uint64_t gcb_select_of_chunk(const struct gcb_selection *s, uint64_t at, uint64_t room,
                             const float *x, uint64_t n, uint32_t *hint);

/*
 * Estimates a threshold from an evenly spaced sample: slightly more than k elements of the side
 * should reach it. Returns 0 if the sample is too small.
 */
uint32_t gcb_select_guess(struct gcb_selection *s, const float *x, struct gcb_side side,
                          uint64_t k);

/* `max_kept` of the selectors that may keep every position. */
uint64_t gcb_select_max_kept_all(const struct gcb_selection_params *p, uint64_t positions,
                                 uint64_t k);

/* Mean (by the project's rule for sums) and maximum of |x| over all positions. */
void gcb_select_moments(const struct gcb_selection *s, const float *x, double *mean, float *max);

/*
 * select_sampled.c: a sample of m elements, `stride` apart, from `offset` on; the rank-th largest
 * magnitude is the threshold. The offset changes with the step. All fields are 0 if there are no
 * positions.
 */
struct gcb_sample_plan {
    uint64_t m, stride, offset, rank;
};
struct gcb_sample_plan gcb_sample_plan(uint64_t positions, double share, uint64_t k, uint64_t step);

/* ---- RedSync's policy: select_redsync.c ---- */

enum gcb_quant { GCB_QUANT_NONE, GCB_QUANT_ASQ };

enum gcb_redsync_path { GCB_REDSYNC_ALL, GCB_REDSYNC_TRIMMED, GCB_REDSYNC_SEARCH };

/* Which of RedSync's selections a tensor of `count` elements gets, on the CPU and on a device. */
static inline enum gcb_redsync_path gcb_redsync_path(const struct gcb_selection_params *p,
                                                     uint64_t count)
{
    const uint64_t bytes = count * sizeof(float);

    if (bytes < p->dense_below)
        return GCB_REDSYNC_ALL;
    return bytes < p->trimmed_below ? GCB_REDSYNC_TRIMMED : GCB_REDSYNC_SEARCH;
}

/*
 * True if the tensor is quantised (quant=asq). Then its selection is `alternate` and its values are
 * sent as one mean, and no threshold is used again. The output layer and tensors that are sent
 * whole are not quantised.
 */
bool gcb_redsync_quantises(const struct gcb_selection_params *p, const struct gcb_codec_env *env);

#endif
