#ifndef SRC_TOOL_REPLAY_REPLAY_PLAN_H
#define SRC_TOOL_REPLAY_REPLAY_PLAN_H

#include "src/tool/read/layout.h"
#include "src/tool/run/input.h"

/* The most workers of a replay. */
#define GCB_REPLAY_WORKERS 4096

/* Which workers a replayed step has. */
struct gcb_replay_order {
    /* 0: those of the dump. Fewer: the first ones. More, a multiple of the dump's if split_steps:
     * consecutive steps of the dump become workers of one step; otherwise the dump's workers are
     * repeated. */
    uint64_t workers;
    bool split_steps;
    bool allow_gaps; /* step numbers may have gaps */
};

/*
 * The order of a replay. All steps of the dump have the same workers, and all workers the same
 * messages: message j of the w-th worker of a recorded step is layout->messages[first + w *
 * messages + j]. A replayed step uses `merged` recorded steps, and worker w of it has the gradients
 * of worker w modulo `sources`.
 */
struct gcb_replay_plan {
    const struct gcb_source *source;
    const struct gcb_layout *layout;
    struct gcb_replay_plan_step {
        uint64_t number; /* step number in the dump */
        size_t first;
    } * recorded;
    size_t recorded_count;
    uint32_t recorded_workers;
    size_t messages; /* messages of one worker in a step */
    size_t step_count;
    uint32_t workers, merged;
    uint32_t sources; /* workers with gradients of their own */
};

/* Makes the plan of a replay of all steps but those of `scan`, which may be NULL. Release
 * plan->recorded with gcb_free, also on failure. GCB_E_INVALID: steps have different messages, step
 * numbers have gaps that are not allowed, or the number of workers is impossible; GCB_E_NONFINITE:
 * no step is left. */
int gcb_replay_plan_init(struct gcb_replay_plan *out, const struct gcb_source *source,
                         const struct gcb_layout *layout, const struct gcb_replay_order *order,
                         const struct gcb_nonfinite_scan *scan, struct gcb_diag *diag);

/* Message j of worker w in a step of the replay, from 0 to plan->step_count - 1. */
const struct gcb_message_plan *gcb_replay_message_at(const struct gcb_replay_plan *plan,
                                                     size_t step, uint32_t w, size_t j);
/* Where the workers' gradients come from: "recorded", "repeated" or "steps". */
const char *gcb_replay_origin(const struct gcb_replay_plan *plan);

#endif
