#ifndef SRC_TOOL_REPLAY_REPLAY_FIGURES_H
#define SRC_TOOL_REPLAY_REPLAY_FIGURES_H

#include "src/tool/replay/replay_state.h"

/* Largest value of a staleness counter (`age` of struct gcb_replay_worker). It means: at least this many steps. */
#define GCB_STALENESS_MAX UINT16_MAX

/* How many staleness counters have each value. Counted anew in each step, so that percentiles are exact. */
struct gcb_staleness {
    uint64_t count[GCB_STALENESS_MAX + 1];
    uint64_t total;
};

void gcb_staleness_add(struct gcb_staleness *s, const uint16_t *age, uint64_t n);
/* The smallest age for which at least `share` (above 0) of all counters are at most that age; 0 without counters. */
uint64_t gcb_staleness_at(const struct gcb_staleness *s, double share);
uint64_t gcb_staleness_max(const struct gcb_staleness *s);

/* Sums over all steps so far, from which the figures of a replay are computed. */
struct gcb_replay_sums {
    uint32_t workers;
    struct gcb_memory_params memory;
    struct gcb_replay_traffic traffic;
    double union_sum, contraction_sum;
    uint64_t sent_steps;
    double *window; /* for each worker: sum of the norms of its gradients since its last message */
    double gradient_sq; /* largest square of a value in `window` */
    double residual_sq; /* largest squared norm of a worker's residual after a message */
    double lost;        /* largest ||p - s||^2 / ||p||^2 of a worker, p encoded, s decoded */
    struct gcb_staleness staleness;
};

/* Adds a step to `sums` and `total`, and fills `step`; index, loop, step, theta and lr of `step` are set by the caller.
 * The staleness comes from `state`. */
void gcb_replay_add_step(struct gcb_replay_sums *sums, const struct gcb_replay_state *state,
                         const struct gcb_replay_step_sums *added, struct gcb_replay_step *step,
                         struct gcb_replay_total *total);

/* Computes the figures of all steps, after the last step. */
void gcb_replay_finish(const struct gcb_replay_sums *sums, struct gcb_replay_total *total);

#endif
