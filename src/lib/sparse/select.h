#ifndef SRC_LIB_SPARSE_SELECT_H
#define SRC_LIB_SPARSE_SELECT_H

#include "src/lib/sparse/stages.h"

/* The selectors, one file each; src/lib/sparse/select.c holds the table. */
extern const struct gcb_selector gcb_selector_topk;      /* select_topk.c */
extern const struct gcb_selector gcb_selector_chunk;     /* select_chunk.c */
extern const struct gcb_selector gcb_selector_threshold; /* select_threshold.c */
extern const struct gcb_selector gcb_selector_one_sided; /* select_one_sided.c */
extern const struct gcb_selector gcb_selector_alternate; /* select_one_sided.c */
extern const struct gcb_selector gcb_selector_trimmed;   /* select_search.c */
extern const struct gcb_selector gcb_selector_search;    /* select_search.c */
extern const struct gcb_selector gcb_selector_redsync;   /* select_search.c */
extern const struct gcb_selector gcb_selector_sampled;   /* select_sampled.c */

/*
 * What they share: src/lib/sparse/select_core.c. Magnitude means the sign-cleared bit pattern. Sums and
 * counts are integers or follow index order, so nothing depends on the number of threads.
 */

/* Elements of a selection's sample buffer. */
#define GCB_SAMPLE_MAX ((size_t)1 << 15)

/* Which elements count: those whose sign bit, under `mask`, equals `sign`. */
struct gcb_side {
    uint32_t mask, sign;
};
extern const struct gcb_side gcb_side_any, gcb_side_positive, gcb_side_negative;

/* The k-th largest magnitude of n values, 1 <= k <= n; *above is set to the number of larger ones. */
uint32_t gcb_select_kth(const struct gcb_kernels *kernels, const float *x, uint64_t n, uint64_t k,
                        uint64_t *above);

/* Collects every position of x whose magnitude reaches the threshold, in order: pos, segment_kept, kept. */
void gcb_select_collect(struct gcb_selection *s, const float *x, uint32_t threshold);

/* Copies those values on the side that stand at the positions collected to s->value, in order; returns how
 * many. */
uint64_t gcb_select_gather(struct gcb_selection *s, const float *x, struct gcb_side side);

/* Of the positions collected, keeps those on the side and above the threshold, and the first `ties` equal
 * to it. */
void gcb_select_cut(struct gcb_selection *s, const float *x, struct gcb_side side,
                    uint32_t threshold, uint64_t ties);

/* Exactly the k largest; ties go to the lower index. */
void gcb_select_exact(struct gcb_selection *s, const float *x, uint64_t k);

/* Exactly the k largest of those collected, k <= kept. */
void gcb_select_exact_of_collected(struct gcb_selection *s, const float *x, uint64_t k);

/* A magnitude that somewhat more than k elements of the side are expected to reach, from an evenly spaced
 * sample; 0 if the sample is too small to tell. */
uint32_t gcb_select_guess(struct gcb_selection *s, const float *x, struct gcb_side side,
                          uint64_t k);

/* select=sampled: m elements, `stride` apart from `offset` on, whose rank-th largest magnitude is the threshold. The
 * start varies with the step. All 0 for no positions. */
struct gcb_sample_plan {
    uint64_t m, stride, offset, rank;
};
struct gcb_sample_plan gcb_sample_plan(uint64_t positions, double share, uint64_t k, uint64_t step);

/* |x| over all positions: mean (sums by the project's rule) and largest. */
void gcb_select_moments(const struct gcb_selection *s, const float *x, double *mean, float *max);

#endif
