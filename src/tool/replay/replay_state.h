#ifndef SRC_TOOL_REPLAY_REPLAY_STATE_H
#define SRC_TOOL_REPLAY_REPLAY_STATE_H

#include "src/lib/exchange/device_reduce.h"
#include "src/lib/exchange/local.h"
#include "src/lib/memory/device_memory.h"
#include "src/tool/replay/replay.h"
#include "src/tool/run/device_check.h"

/* What a replay of one method keeps from step to step, for every message of a step and every
 * worker. */

/* One worker's part of one message on a device; starts zeroed. */
struct gcb_replay_device_worker {
    struct gcb_device_memory *memory; /* NULL: nothing is done on a device */
    struct gcb_coder *encoder;        /* NULL before the first step */
    struct gcb_device_reduce *reduce; /* the same, in an all-reduce */
    float *gradient_dev; /* only in an all-reduce, which needs it until the end of the step */
    float *encoded_dev;  /* the memory's output in this step; NULL: nothing is sent */
};

/* One worker's part of one message. */
struct gcb_replay_worker {
    uint16_t *age;          /* staleness of every element, up to GCB_STALENESS_MAX */
    uint64_t pending_bytes; /* bytes of the gradients since the last message */
    struct gcb_replay_device_worker on_device;
};

/* The j-th message of every step. Sums are over workers, without dividing by their number,
 * because figures are ratios. */
struct gcb_replay_message {
    uint64_t count;
    struct gcb_method method; /* with this step's theta and the tuned max */
    bool tuned;
    double largest;                  /* largest value coded while tuning */
    struct gcb_exchange **exchanges; /* of each worker; worker 0's gives the update */
    struct gcb_replay_worker *workers;
    float *window; /* sum owed since the last message; NULL if every step sends a message */
    double *drift; /* sum of updates minus sum of what was owed, since the start */
    double *owed;  /* sum of what was owed, since the start */
};

struct gcb_replay_state {
    const struct gcb_replay_config *config;
    const struct gcb_replay_plan *plan;
    uint32_t workers;
    size_t count;
    struct gcb_replay_message *messages;
    struct gcb_memory_params memory;
    struct gcb_method dense; /* of messages that are sent as fp32 */
    float *weights;          /* 1 for each worker */
    struct gcb_local local;  /* carries messages between the workers */
    /* buffers that messages use one after the other, each as large as the largest message */
    uint64_t largest;     /* elements of the largest message, at least 1 */
    float *inputs;        /* the gradients of the first plan->sources workers, each `largest` */
    float *decoded;       /* what arrived of a worker's tensor */
    float *owed, *update; /* sums over workers in one step: what is owed, what arrived */
    float *selected;      /* sum of what workers selected for a sparse all-reduce */
    uint8_t *touched;     /* 1: some worker sent this element */
    struct gcb_replay_span *spans;
    struct gcb_wbuf *wires;           /* with a device: the workers' messages, in `local` */
    struct gcb_replay_device *device; /* NULL: all is done on the CPU */
};

/* Sums over one span of elements. */
struct gcb_replay_span {
    double drift, owed; /* squared norms */
    uint64_t touched;   /* elements that some worker sent */
};

/* Squared norms of one worker in one step, over all messages. */
struct gcb_replay_norms {
    double gradient, residual;
    double clipped; /* of the gradients; known before the first message, if clip-norm limits them */
    double encoded; /* squared norm of the encoded values */
    double lost;    /* squared norm of encoded minus decoded values */
    double window;  /* sum of the norms of the gradients since the last message */
};

/* Sums of one step over all messages. */
struct gcb_replay_step_sums {
    uint64_t at;                      /* number of the step, for random draws */
    struct gcb_replay_norms *workers; /* for each worker */
    struct gcb_replay_traffic traffic;
    double drift, owed; /* squared norms */
    uint64_t touched;
};

int gcb_replay_state_init(struct gcb_replay_state *s, const struct gcb_replay_config *config,
                          const struct gcb_replay_plan *plan, const struct gcb_method *method,
                          struct gcb_diag *diag);
void gcb_replay_state_fini(struct gcb_replay_state *s); /* zeroed is fine */

/* Changes a parameter of a message's method. Memories stay, and what encoders keep if it fits
 * (gcb_exchange_change); on a device encoders are made anew. */
int gcb_replay_assign(struct gcb_replay_state *s, struct gcb_replay_message *message,
                      const char *key, double value, struct gcb_diag *diag);

/* The configuration of coders of a message. The path is borrowed from the source or written to
 * `name`. */
void gcb_replay_coder_config(const struct gcb_replay_state *s, const struct gcb_message_plan *plan,
                             char name[40], struct gcb_coder_config *out);

/* Message j of a step for all workers: reads gradients, runs the exchange, measures what
 * arrived. `at` is the step's place in the plan. */
int gcb_replay_send(struct gcb_replay_state *s, size_t at, size_t j,
                    struct gcb_replay_step_sums *step, struct gcb_diag *diag);

/* A step of one message: all workers begin, the rounds run, and what arrived is measured. */
struct gcb_replay_sending {
    struct gcb_replay_state *s;
    size_t at, j; /* step of the plan; message */
    struct gcb_replay_message *message;
    struct gcb_replay_step_sums *step;
    bool sent;   /* false: this step sends nothing */
    bool sparse; /* by a sparse all-reduce */
    /* the current worker */
    uint32_t w;
    struct gcb_exchange *exchange;
    struct gcb_replay_worker *worker;
    const struct gcb_message_plan *plan;
    float *gradient;
    double norm;          /* to which its gradients are clipped; NAN: they are not */
    const float *encoded; /* what its exchange sends; NULL: nothing */
};

/*
 * The device's part of a replay (replay_device.c). Workers' memories are on the device. So are, in
 * an all-gather, their encoders and the receiver's decoder; in an all-reduce, what workers
 * contribute, the update, and what arrived. The replay does the same on the CPU. Each step compares
 * the device's memory output, message and decoded tensor, or update and what arrived, and residual
 * with the CPU's. GCB_E_UNVERIFIED with a message: they differ.
 *
 * gcb_replay_device_create takes space for messages of up to `largest` elements. `reduces`: for
 * all-reduces, not all-gathers. `device` is borrowed. GCB_E_NOMEM, GCB_E_DEVICE. After a failure
 * *out must be destroyed too, after gcb_replay_device_end for all workers. NULL is fine.
 */
int gcb_replay_device_create(struct gcb_replay_device **out, const struct gcb_device *device,
                             uint64_t largest, bool reduces, struct gcb_diag *diag);
bool gcb_replay_device_reduces(const struct gcb_replay_device *d);
void gcb_replay_device_destroy(struct gcb_replay_device *d);

int gcb_replay_device_start(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                            const struct gcb_memory_params *params, uint64_t count,
                            uint32_t workers, struct gcb_diag *diag);
/* Forgets the encoder, or the part in the all-reduce, which are then made anew. */
void gcb_replay_device_forget(struct gcb_replay_device_worker *w);
void gcb_replay_device_end(struct gcb_replay_device *d, struct gcb_replay_device_worker *w);

/* Begins the current worker's step: adds the gradient to the memory. a->encoded: the output of
 * the CPU's memory. */
int gcb_replay_device_compensate(const struct gcb_replay_sending *a, struct gcb_diag *diag);
/* In an all-gather: encodes the memory's output, and decodes that message into a->s->decoded.
 * The tally counts the device's message. */
int gcb_replay_device_code(const struct gcb_replay_sending *a, struct gcb_tally *t,
                           struct gcb_diag *diag);
/* In an all-reduce, after gcb_replay_device_compensate of all workers: runs all rounds. The host
 * combines the values. Then each worker concludes: the update, what arrived and the clamped
 * elements are the CPU's. */
int gcb_replay_device_rounds(const struct gcb_replay_sending *a, struct gcb_diag *diag);
int gcb_replay_device_conclude(const struct gcb_replay_sending *a, uint64_t clamped,
                               struct gcb_diag *diag);
/* Ends the step: updates the memory, if a message was sent. `expected` is the CPU's residual, or
 * NULL. */
int gcb_replay_device_update(const struct gcb_replay_sending *a, const float *expected,
                             struct gcb_diag *diag);

/* Largest value of a staleness counter (`age` of struct gcb_replay_worker). It means: at least
 * this many steps. */
#define GCB_STALENESS_MAX UINT16_MAX

#endif
