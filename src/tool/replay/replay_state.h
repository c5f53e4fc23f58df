#ifndef SRC_TOOL_REPLAY_REPLAY_STATE_H
#define SRC_TOOL_REPLAY_REPLAY_STATE_H

#include "src/lib/exchange/local.h"
#include "src/tool/replay/replay.h"

/* One worker's part of one message. */
struct gcb_replay_worker {
    /* for each element: steps since it last arrived or was 0 before encoding, or since the start;
     * at most GCB_STALENESS_MAX */
    uint16_t *age;
    uint64_t pending_bytes; /* bytes of the gradients since the last message */
};

/* The j-th message of every step. Sums over workers are not divided by the number of workers,
 * because figures are ratios. */
struct gcb_replay_message {
    uint64_t count;                  /* number of elements */
    struct gcb_method method;        /* with this step's theta */
    struct gcb_exchange **exchanges; /* of each worker; the exchange of worker 0 gives the update */
    struct gcb_replay_worker *workers;
    /* arrays of `count` sums over workers: */
    float *window; /* owed since the last message; NULL if every step sends a message */
    double *drift; /* updates minus what was owed, since the start */
    double *owed;  /* owed since the start */
};

/* The state of a replay of one method. The messages' parts last from step to step. */
struct gcb_replay_state {
    const struct gcb_replay_config *config;
    const struct gcb_replay_plan *plan;
    uint32_t workers;
    size_t count; /* messages of a step */
    struct gcb_replay_message *messages;
    struct gcb_memory_params memory;
    struct gcb_method dense; /* method of messages that are sent as fp32 */
    float *weights;          /* 1 for each worker */
    struct gcb_local local;  /* carries messages between the workers */
    uint64_t largest;        /* elements of the largest message, at least 1 */
    /* buffers of the current message, each with room for the largest message */
    float *inputs;        /* plan->sources such buffers: the gradients of the first workers */
    float *decoded;       /* what arrived of a worker's tensor */
    float *owed, *update; /* sums over workers in one step: what is owed, what arrived */
    float *selected;      /* sum of what workers selected for a sparse all-reduce */
    uint8_t *touched; /* 1 for an element that arrived from some worker with another value than 0 */
    struct gcb_replay_span *spans;
};

/* Sums over one span of elements. */
struct gcb_replay_span {
    double drift, owed; /* squared norms of the arrays of struct gcb_replay_message */
    uint64_t touched;   /* number of elements that are 1 in gcb_replay_state.touched */
};

/* Squared norms of one worker in one step, over all messages. */
struct gcb_replay_norms {
    double gradient, residual;
    double clipped; /* of the gradients before clipping; 0 if the memory does not clip */
    double encoded; /* of the encoded values */
    double lost;    /* of encoded minus decoded values */
    double window;  /* not squared: sum of the gradients' norms since the last message */
};

/* Sums of one step over all messages. */
struct gcb_replay_step_sums {
    uint64_t at;                      /* number of the step, for random draws */
    struct gcb_replay_norms *workers; /* for each worker */
    struct gcb_replay_traffic traffic;
    double drift, owed; /* as in struct gcb_replay_span */
    uint64_t touched;
};

/* Makes the state of a replay of one method. Borrows `config` and `plan`. Release *s with
 * gcb_replay_state_fini, also after a failure. */
int gcb_replay_state_init(struct gcb_replay_state *s, const struct gcb_replay_config *config,
                          const struct gcb_replay_plan *plan, const struct gcb_method *method,
                          struct gcb_diag *diag);
void gcb_replay_state_fini(struct gcb_replay_state *s); /* a zeroed struct is allowed */

/* Changes the parameter `key` of a message's method. Memories stay. Encoders keep their state if it
 * fits (gcb_exchange_change). */
int gcb_replay_assign(struct gcb_replay_state *s, struct gcb_replay_message *message,
                      const char *key, double value, struct gcb_diag *diag);

/* Sends message j of a step for all workers: reads the gradients, runs the exchange, and adds what
 * arrived to *step, which starts zeroed except `at`, `workers` and their `window`. The parameter
 * `at` is the step's index in the plan. Send message 0 of a step first, because it measures the
 * norms for clipping. */
int gcb_replay_send(struct gcb_replay_state *s, size_t at, size_t j,
                    struct gcb_replay_step_sums *step, struct gcb_diag *diag);

/* Largest value of a staleness counter (`age` of struct gcb_replay_worker), which means at least
 * this many steps. */
#define GCB_STALENESS_MAX UINT16_MAX

#endif
