#ifndef SRC_TOOL_REPLAY_REPLAY_PLAN_H
#define SRC_TOOL_REPLAY_REPLAY_PLAN_H

#include "src/tool/read/layout.h"
#include "src/tool/run/input.h"

/* The most workers of a replay. */
#define GCB_REPLAY_WORKERS 4096

/* How the workers and steps of a dump become replayed steps. */
struct gcb_replay_order {
    /* Number of workers; 0: those of the dump. If there are fewer than in the dump, the first
     * workers are replayed. If there are more, the dump's workers are repeated, or with split_steps
     * consecutive steps of the dump become workers of one step. */
    uint64_t workers;
    bool split_steps; /* `workers` must then be a multiple of the dump's workers */
    bool allow_gaps;  /* step numbers may have gaps */
};

/*
 * The order of a replay. All steps of the dump have the same workers, and all workers the same
 * messages: message j of the w-th worker of a recorded step is layout->messages[first + w *
 * messages + j]. A replayed step uses `merged` recorded steps, and its worker w has the gradients
 * of worker w modulo `sources`.
 */
struct gcb_replay_plan {
    const struct gcb_source *source;
    const struct gcb_layout *layout;
    struct gcb_replay_plan_step {
        uint64_t number; /* step number in the dump */
        size_t first;    /* index of the step's first message in the layout */
    } * recorded;
    size_t recorded_count;
    uint32_t recorded_workers;
    size_t messages;   /* messages of one worker in a step */
    size_t step_count; /* steps of one repetition: recorded_count / merged, rounded down */
    uint32_t workers;  /* workers of a replayed step */
    uint32_t merged;   /* recorded steps in a replayed step */
    uint32_t sources;  /* workers with gradients of their own */
};

/* Plans a replay of all steps, except the steps that `scan` lists; `scan` may be NULL. *out borrows
 * the source and the layout. Release out->recorded with gcb_free, also after a failure. Returns
 * GCB_E_INVALID if steps have different messages, if step numbers have gaps that are not allowed,
 * or if the number of workers is impossible. Returns GCB_E_NONFINITE if no step is left. */
int gcb_replay_plan_init(struct gcb_replay_plan *out, const struct gcb_source *source,
                         const struct gcb_layout *layout, const struct gcb_replay_order *order,
                         const struct gcb_nonfinite_scan *scan, struct gcb_diag *diag);

/* Returns message j of worker w in a step, which is from 0 to plan->step_count - 1. */
const struct gcb_message_plan *gcb_replay_message_at(const struct gcb_replay_plan *plan,
                                                     size_t step, uint32_t w, size_t j);
/* Returns where the workers' gradients come from, a static text: "recorded", "repeated" (there are
 * more workers than in the dump) or "steps" (the workers are those of several steps). */
const char *gcb_replay_origin(const struct gcb_replay_plan *plan);

#endif
