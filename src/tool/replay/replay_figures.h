#ifndef SRC_TOOL_REPLAY_REPLAY_FIGURES_H
#define SRC_TOOL_REPLAY_REPLAY_FIGURES_H

#include "src/tool/replay/replay_lane.h"

/* Figures of a replay from the sums of its lanes: of each step, and of all. */
struct gcb_replay_sums {
    uint32_t workers;
    struct gcb_memory_params memory;
    struct gcb_fidelity updates;
    double union_sum, contraction_sum;
    uint64_t sent_steps;
    uint64_t tuned_values, tuned_clamped;
    double *window; /* by worker: norms of the gradients since its last message, added up */
    double gradient_sq,
        residual_sq; /* the largest of a worker: of a window's sum, after a message */
    double lost;     /* the largest ||p - C(p)||^2 / ||p||^2 of a worker */
    struct gcb_staleness staleness;
};

/* `step` is filled but for index, loop, step, theta and lr; `total` takes it in. */
void gcb_replay_add_step(struct gcb_replay_sums *sums, const struct gcb_lane_step *lanes,
                         struct gcb_replay_step *step, struct gcb_replay_total *total);

/* After the last step. */
void gcb_replay_finish(const struct gcb_replay_sums *sums, struct gcb_replay_total *total);

#endif
