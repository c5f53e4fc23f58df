#ifndef SRC_TOOL_REPLAY_REPLAY_STATE_H
#define SRC_TOOL_REPLAY_REPLAY_STATE_H

#include "src/lib/memory/memory.h"
#include "src/lib/sum/sum.h"
#include "src/tool/replay/replay.h"
#include "src/tool/replay/replay_device.h"
#include "src/tool/trial/coders.h"

/* What a replay of one method keeps from step to step, for every message of a step and every worker. */

/* One worker's part of one message. */
struct gcb_replay_worker {
    struct gcb_memory *memory;
    struct gcb_coder *encoder; /* NULL until the next message; made anew when a parameter changes */
    uint16_t *age;             /* staleness of every element, up to GCB_STALENESS_MAX */
    uint64_t pending_bytes;    /* bytes of the gradients since the last message */
    struct gcb_replay_device_worker on_device;
};

/* The j-th message of every step. Sums are over workers, without dividing by their number, because figures are
 * ratios. */
struct gcb_replay_message {
    uint64_t count;
    struct gcb_method method; /* with this step's theta and the tuned max */
    bool tuned;
    double largest; /* largest value coded while tuning */
    struct gcb_replay_worker *workers;
    float *window;       /* sum owed since the last message; NULL if every step sends a message */
    struct gcb_sum *sum; /* of the workers' messages; NULL until the first message */
    double *drift;       /* sum of updates minus sum of what was owed, since the start */
    double *owed;        /* sum of what was owed, since the start */
};

struct gcb_replay_state {
    const struct gcb_replay_config *config;
    uint32_t workers;
    size_t count;
    struct gcb_replay_message *messages;
    struct gcb_memory_params memory;
    /* buffers that messages use one after the other, each as large as the largest message */
    float *input, *decoded;
    float *owed, *update; /* sums over workers in one step: what is owed, what arrived */
    uint8_t *touched;     /* 1: some worker sent this element */
    struct gcb_replay_span *spans;
    struct gcb_room room;
    struct gcb_wbuf wire; /* the current message, in `room` */
    struct gcb_coders *decoders;
    struct gcb_replay_device *device; /* NULL: all is done on the CPU */
};

/* Squared norms of one worker in one step, over all messages. */
struct gcb_replay_norms {
    double gradient, residual;
    double clipped; /* of the gradients; known before the first message, if clip-norm limits them */
    double encoded; /* squared norm of the encoded values */
    double lost;    /* squared norm of encoded minus decoded values */
};

/* What was sent in a step, or in all steps. */
struct gcb_replay_traffic {
    struct gcb_tally tally;
    struct gcb_fidelity updates; /* x: owed since the message before; y: arrived */
    uint64_t tuned_values, tuned_clamped;
    uint64_t input_bytes;
};

/* Sums of one step over all messages. */
struct gcb_replay_step_sums {
    struct gcb_step at;               /* its worker is set for each message */
    struct gcb_replay_norms *workers; /* for each worker */
    struct gcb_replay_traffic traffic;
    double drift, owed; /* squared norms */
    uint64_t touched;
};

int gcb_replay_state_init(struct gcb_replay_state *s, const struct gcb_replay_config *config,
                          const struct gcb_replay_plan *plan, const struct gcb_method *method,
                          struct gcb_diag *diag);
void gcb_replay_state_fini(struct gcb_replay_state *s); /* zeroed is fine */

/* Changes a parameter of a message's method. The next message makes new encoders; memories stay. */
int gcb_replay_assign(struct gcb_replay_state *s, struct gcb_replay_message *message,
                      const char *key, double value, struct gcb_diag *diag);

/* Message j of a step for all workers: reads, compensates, sends, adds up. `first` is the step's first message. */
int gcb_replay_send(struct gcb_replay_state *s, size_t j, size_t first,
                    struct gcb_replay_step_sums *step, struct gcb_diag *diag);

#endif
