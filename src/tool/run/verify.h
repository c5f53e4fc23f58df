#ifndef SRC_TOOL_RUN_VERIFY_H
#define SRC_TOOL_RUN_VERIFY_H

#include "src/tool/read/layout.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/input.h"
#include "src/tool/run/promises.h"
#include "src/tool/run/rows.h"

/*
 * Chooses the messages to check and removes all others from a layout. Empty messages, and dense
 * messages (sent as fp32, whatever the method), are removed. Without `all`, only the smallest, the
 * median and the largest message of the first step and worker stay. Numbers the messages from 0, in
 * the order in which they are checked. GCB_E_INVALID: no message is left.
 */
int gcb_verify_choose(struct gcb_layout *layout, bool all, struct gcb_diag *diag);

/* What to check, and how. Pointers are borrowed. */
struct gcb_verify_config {
    struct gcb_source *source;
    const struct gcb_layout *layout;  /* from gcb_verify_choose; a shard may have no message */
    const struct gcb_method *methods; /* method_count methods */
    size_t method_count;
    struct gcb_compute compute; /* the queue is not used: checks choose their threads */
    /* GCB_POLICY_RAW acts as GCB_POLICY_SKIP, because a raw message does not test the method */
    enum gcb_nonfinite_policy nonfinite;
    struct gcb_output_layers output_layers;
    double budget; /* seconds after which no check starts; 0: no limit */
};

/* The outcome of checking one promise of a method on a message. Valid only while the observer's
 * function `check` runs. */
struct gcb_verify_check {
    const struct gcb_message_plan *plan;
    const char *file; /* file of the message's first tensor; not escaped */
    const char *name; /* name of the message; not escaped */
    size_t method;    /* index in config->methods */
    const struct gcb_promise *promise;
    struct gcb_promise_outcome outcome;
    double seconds; /* duration of the check; 0: a plug-in made no coder */
};

/* What a note tells. GCB_VERIFY_CHOSEN comes for each message before the first check; the others
 * say later what was not checked. */
enum gcb_verify_event {
    GCB_VERIFY_CHOSEN,    /* the message was chosen by gcb_verify_choose */
    GCB_VERIFY_LEFT_OUT,  /* not checked, because the message holds infinities or NaNs */
    GCB_VERIFY_NOT_THERE, /* the device does not have the method, or lacks a library for it */
    GCB_VERIFY_UNREACHED, /* the run ended before the method's last check of the message */
    GCB_VERIFY_EVENTS
};
struct gcb_verify_note {
    enum gcb_verify_event event;
    const struct gcb_message_plan *plan;
    const char *name; /* name of the message; not escaped */
    size_t method;    /* index in config->methods; 0 for CHOSEN and LEFT_OUT */
};

struct gcb_verify_observer {
    /* Receives each outcome. An error ends the run. */
    int (*check)(void *ctx, const struct gcb_verify_check *check, struct gcb_diag *diag);
    void (*note)(void *ctx, const struct gcb_verify_note *note); /* may be NULL */
    void *ctx;                                                   /* passed to `check` and `note` */
    struct gcb_watch watch;
};

struct gcb_verify_result {
    uint64_t messages;                     /* number of messages checked */
    uint64_t checks[GCB_PROMISE_STATUSES]; /* number of checks with each outcome */
    uint64_t notes[GCB_VERIFY_EVENTS];     /* number of notes of each kind */
    struct gcb_diag missing;               /* reason of the first GCB_VERIFY_NOT_THERE */
    bool interrupted;
};

/*
 * Checks every promise that binds a method, on all messages of the layout, until the budget is
 * spent or the watch ends the run. A broken promise is not an error, nor is a device that lacks a
 * method or its library (GCB_VERIFY_NOT_THERE). If a plug-in makes no coder for a message, its
 * first promise counts as broken. Errors:
 *   - GCB_E_NONFINITE: a message holds infinities or NaNs, and the policy is GCB_POLICY_ERROR;
 *   - GCB_E_DEVICE, GCB_E_NOMEM: the device failed, or there is too little memory;
 *   - GCB_E_BACKEND: a library is missing on the CPU;
 *   - any other error of making a coder, of reading, or of the observer.
 */
int gcb_verify(struct gcb_verify_result *out, const struct gcb_verify_config *config,
               const struct gcb_verify_observer *observer, struct gcb_diag *diag);

/* Makes a `promise` row (docs/rows.md). Release it with gcb_row_fini. */
void gcb_verify_row(struct gcb_row *row, const struct gcb_rows_setting *setting,
                    const struct gcb_method *method, const struct gcb_verify_check *check);
extern const char *const gcb_promise_status_names[]; /* "kept", "broken", "idle", NULL */
/* Returns the status with this name. An unknown name is GCB_PROMISE_BROKEN. */
enum gcb_promise_status gcb_verify_status(const char *name);

#endif
