#ifndef SRC_TOOL_REPLAY_REPLAY_STATE_H
#define SRC_TOOL_REPLAY_REPLAY_STATE_H

#include "src/lib/exchange/device_reduce.h"
#include "src/lib/exchange/local.h"
#include "src/lib/memory/device_memory.h"
#include "src/tool/replay/replay.h"
#include "src/tool/run/device_check.h"

/* The state that a replay of one method keeps from step to step, for every message of a step and
 * every worker. */

/* One worker's part of one message on a device. Starts zeroed. */
struct gcb_replay_device_worker {
    struct gcb_device_memory *memory; /* NULL: the device does nothing for this message */
    struct gcb_coder *encoder;        /* in an all-gather; NULL before the first step */
    struct gcb_device_reduce *reduce; /* in an all-reduce; NULL before the first step */
    float *gradient_dev; /* in an all-reduce, which needs the gradient until the step ends */
    float *encoded_dev;  /* the memory's output in this step; NULL: nothing is sent */
};

/* One worker's part of one message. */
struct gcb_replay_worker {
    uint16_t *age;          /* steps since each element was sent, up to GCB_STALENESS_MAX */
    uint64_t pending_bytes; /* bytes of the gradients since the last message */
    struct gcb_replay_device_worker on_device;
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
    /* buffers of the current message, each with room for the largest message */
    uint64_t largest;     /* elements of the largest message, at least 1 */
    float *inputs;        /* plan->sources such buffers: the gradients of the first workers */
    float *decoded;       /* what arrived of a worker's tensor */
    float *owed, *update; /* sums over workers in one step: what is owed, what arrived */
    float *selected;      /* sum of what workers selected for a sparse all-reduce */
    uint8_t *touched;     /* 1 for an element that some worker sent */
    struct gcb_replay_span *spans;
    struct gcb_wbuf *wires;           /* the workers' messages of the last round, in `local` */
    struct gcb_replay_device *device; /* NULL: no device */
};

/* Sums over one span of elements. */
struct gcb_replay_span {
    double drift, owed; /* squared norms of the arrays of struct gcb_replay_message */
    uint64_t touched;   /* elements that some worker sent */
};

/* Squared norms of one worker in one step, over all messages. */
struct gcb_replay_norms {
    double gradient, residual;
    double clipped; /* of the gradients, if they are clipped: measured before the first message */
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
 * fits (gcb_exchange_change). With a device, its encoders are made anew, and the encoders on the
 * CPU start over as well. */
int gcb_replay_assign(struct gcb_replay_state *s, struct gcb_replay_message *message,
                      const char *key, double value, struct gcb_diag *diag);

/* Fills the configuration of a message's coders. The message's path is borrowed from the source or
 * from `plan`. */
void gcb_replay_coder_config(const struct gcb_replay_state *s, const struct gcb_message_plan *plan,
                             struct gcb_coder_config *out);

/* Sends message j of a step for all workers: reads the gradients, runs the exchange, and adds what
 * arrived to *step. `at` is the step's number in the plan. */
int gcb_replay_send(struct gcb_replay_state *s, size_t at, size_t j,
                    struct gcb_replay_step_sums *step, struct gcb_diag *diag);

/* The exchange of one message in one step: all workers begin, the rounds run, and what arrived is
 * measured. */
struct gcb_replay_sending {
    struct gcb_replay_state *s;
    size_t at, j; /* step of the plan; message */
    struct gcb_replay_message *message;
    struct gcb_replay_step_sums *step;
    bool sent;   /* false: this step sends nothing */
    bool sparse; /* the exchange was a sparse all-reduce */
    /* set by set_worker for the current worker: */
    uint32_t w;
    struct gcb_exchange *exchange;
    struct gcb_replay_worker *worker;
    const struct gcb_message_plan *plan;
    float *gradient;
    double norm;          /* norm of the worker's gradients, if they are clipped, else NAN */
    const float *encoded; /* what the exchange sends; NULL: nothing */
};

/*
 * The device's part of a replay (replay_device.c). The workers' memories are on the device. In an
 * all-gather, so are the encoders and the receiver's decoder. In an all-reduce, so are the values
 * that workers contribute, the update, and what arrived. The replay does the same on the CPU, and
 * each step compares the results. The functions return GCB_E_UNVERIFIED if they differ.
 */

/* Takes space for messages of up to `largest` elements, for all-reduces if `reduces`, else for
 * all-gathers. Borrows `device`. Returns 0, GCB_E_NOMEM or GCB_E_DEVICE. Destroy *out also after a
 * failure, after gcb_replay_device_end for all workers. */
int gcb_replay_device_create(struct gcb_replay_device **out, const struct gcb_device *device,
                             uint64_t largest, bool reduces, struct gcb_diag *diag);
void gcb_replay_device_destroy(struct gcb_replay_device *d); /* the argument may be NULL */

/* Makes the memory of one of `workers` workers for a message of `count` elements. */
int gcb_replay_device_start(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                            const struct gcb_memory_params *params, uint64_t count,
                            uint32_t workers, struct gcb_diag *diag);
/* Destroys w->encoder and w->reduce. The next step makes them anew. */
void gcb_replay_device_forget(struct gcb_replay_device_worker *w);
/* Frees everything of a worker. `d` may be NULL if the worker never started. */
void gcb_replay_device_end(struct gcb_replay_device *d, struct gcb_replay_device_worker *w);

/* Begins the current worker's step: adds the gradient to the memory, and compares the memory's
 * output with job->encoded, which is the CPU's. */
int gcb_replay_device_compensate(const struct gcb_replay_sending *job, struct gcb_diag *diag);
/* In an all-gather: encodes the memory's output, and decodes that message into job->s->decoded.
 * Compares both with the CPU's. Adds the device's message to the tally. */
int gcb_replay_device_code(const struct gcb_replay_sending *job, struct gcb_tally *t,
                           struct gcb_diag *diag);
/* In an all-reduce: runs all rounds, after gcb_replay_device_compensate for all workers. The host
 * combines the values. */
int gcb_replay_device_rounds(const struct gcb_replay_sending *job, struct gcb_diag *diag);
/* In an all-reduce, after the rounds: concludes for the current worker, and compares the update,
 * what arrived and the number of clamped elements with the CPU's. */
int gcb_replay_device_conclude(const struct gcb_replay_sending *job, uint64_t clamped,
                               struct gcb_diag *diag);
/* Ends the step: updates the memory if a message was sent, and compares the residual with
 * `expected`, which is the CPU's residual or NULL. */
int gcb_replay_device_update(const struct gcb_replay_sending *job, const float *expected,
                             struct gcb_diag *diag);

/* Largest value of a staleness counter (`age` of struct gcb_replay_worker), which means at least
 * this many steps. */
#define GCB_STALENESS_MAX UINT16_MAX

#endif
