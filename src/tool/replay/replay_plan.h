#ifndef SRC_TOOL_REPLAY_REPLAY_PLAN_H
#define SRC_TOOL_REPLAY_REPLAY_PLAN_H

#include "src/tool/dump/layout.h"
#include "src/tool/trial/nonfinite.h"

/*
 * The order of a replay: steps, in each the same workers, of each the same messages. Message j of worker
 * w (the w-th, whatever its number) in a step is layout->messages[first + w * messages + j].
 */
struct gcb_replay_plan {
    struct gcb_replay_plan_step {
        uint64_t number; /* in the dump */
        size_t first;
    } * steps;
    size_t step_count;
    uint32_t workers;
    size_t messages; /* of one worker */
};

/*
 * Leaves out the steps that `scan` found (NULL: none). GCB_E_INVALID: steps differ in what they hold, or step
 * numbers do not follow each other and `allow_gaps` is false; GCB_E_NONFINITE: no step is left. Release with
 * fini, also on failure.
 */
int gcb_replay_plan_init(struct gcb_replay_plan *out, const struct gcb_source *source,
                         const struct gcb_layout *layout, const struct gcb_nonfinite_scan *scan,
                         bool allow_gaps, struct gcb_diag *diag);
void gcb_replay_plan_fini(struct gcb_replay_plan *plan); /* zeroed is fine */

#endif
