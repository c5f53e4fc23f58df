#ifndef SRC_TOOL_REPLAY_REPLAY_LANE_H
#define SRC_TOOL_REPLAY_REPLAY_LANE_H

#include "src/lib/memory/memory.h"
#include "src/tool/replay/replay.h"
#include "src/tool/replay/staleness.h"
#include "src/tool/trial/coders.h"

/*
 * One message of a replay and all that lasts about it from step to step, for every worker; and the buffers
 * that messages share, one after the other.
 */
struct gcb_lane_worker {
    struct gcb_memory *memory;
    struct gcb_coder *encoder; /* NULL until the next message: made anew when a parameter changes */
    uint16_t *age;             /* staleness of every element */
    uint64_t pending_bytes;    /* of gradients since the last message */
};

struct gcb_lane {
    uint64_t count;
    struct gcb_method method; /* with this step's theta and the tuned max */
    bool tuned;
    double largest; /* value coded in the steps that tune */
    struct gcb_lane_worker *workers;
    /* summed over workers; what is reported of them are ratios, so nobody divides by their number */
    float *window;        /* what is owed since the last message; NULL where every step sends one */
    double *drift, *owed; /* updates minus what was owed, and what was owed, since the start */
};

struct gcb_lanes {
    const struct gcb_replay_config *config;
    uint32_t workers;
    size_t count;
    struct gcb_lane *lanes;
    struct gcb_memory_params memory;
    /* shared, each for the largest message */
    float *input, *decoded;
    float *owed, *update; /* of one step, summed over workers */
    uint8_t *touched;     /* some worker sent this element */
    struct gcb_lane_partial *partial;
    struct gcb_room room;
    struct gcb_wbuf message; /* in the room */
    struct gcb_coders *decoders;
};

/* Of one worker in one step, over all messages. */
struct gcb_lane_sums {
    double gradient, residual; /* squared norms */
    double whole, lost;        /* of what was encoded, and of what it lost: squared norms */
};

/* Of one step over all messages. */
struct gcb_lane_step {
    struct gcb_step at;            /* worker is set here */
    struct gcb_lane_sums *workers; /* one for each */
    struct gcb_tally tally;
    struct gcb_fidelity updates; /* x: what was owed since the last message, y: what arrived */
    double drift, owed;          /* squared norms */
    uint64_t touched;
    uint64_t tuned_values, tuned_clamped;
    uint64_t input_bytes;
};

int gcb_lanes_init(struct gcb_lanes *l, const struct gcb_replay_config *config,
                   const struct gcb_replay_plan *plan, const struct gcb_method *method,
                   struct gcb_diag *diag);
void gcb_lanes_fini(struct gcb_lanes *l); /* zeroed is fine */

/* Changes a parameter of lane's method; encoders follow, memories stay. */
int gcb_lane_assign(struct gcb_lanes *l, struct gcb_lane *lane, const char *key, double value,
                    struct gcb_diag *diag);

/* Message j of a step, all workers: reads, compensates, sends, adds up. `first` is the step's first message. */
int gcb_lane_run(struct gcb_lanes *l, size_t j, size_t first, struct gcb_lane_step *step,
                 struct gcb_diag *diag);

/* Counts every counter of every message and worker. */
void gcb_lanes_staleness(const struct gcb_lanes *l, struct gcb_staleness *out);

#endif
