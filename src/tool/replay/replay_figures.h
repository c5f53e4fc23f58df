#ifndef SRC_TOOL_REPLAY_REPLAY_FIGURES_H
#define SRC_TOOL_REPLAY_REPLAY_FIGURES_H

#include "src/tool/replay/replay_state.h"

/* Staleness counters (struct gcb_replay_worker) stop here, where the value means "at least". */
#define GCB_STALENESS_MAX UINT16_MAX

/* How many counters have each value. Counted anew in each step, so that percentiles are exact. */
struct gcb_staleness {
    uint64_t count[GCB_STALENESS_MAX + 1];
    uint64_t total;
};

void gcb_staleness_add(struct gcb_staleness *s, const uint16_t *age, uint64_t n);
/* The least age that at least `share` (above 0) of all counters do not exceed; 0 without counters. */
uint64_t gcb_staleness_at(const struct gcb_staleness *s, double share);
uint64_t gcb_staleness_max(const struct gcb_staleness *s);

/* What the figures of a replay are made from: sums over all steps so far. */
struct gcb_replay_sums {
    uint32_t workers;
    struct gcb_memory_params memory;
    struct gcb_replay_traffic traffic;
    double union_sum, contraction_sum;
    uint64_t sent_steps;
    double *window;     /* by worker: sum of the norms of its gradients since its last message */
    double gradient_sq; /* largest square of a worker's window */
    double residual_sq; /* largest squared norm of a worker's residual after a message */
    double lost;        /* largest ||p - C(p)||^2 / ||p||^2 of a worker */
    struct gcb_staleness staleness;
};

/* Adds a step, whose staleness is counted from `state`. `step` has index, loop, step, theta and lr; the rest is filled.
 * `total` takes the step in. */
void gcb_replay_add_step(struct gcb_replay_sums *sums, const struct gcb_replay_state *state,
                         const struct gcb_replay_step_sums *added, struct gcb_replay_step *step,
                         struct gcb_replay_total *total);

/* After the last step. */
void gcb_replay_finish(const struct gcb_replay_sums *sums, struct gcb_replay_total *total);

#endif
