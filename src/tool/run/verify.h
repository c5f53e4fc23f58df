#ifndef SRC_TOOL_RUN_VERIFY_H
#define SRC_TOOL_RUN_VERIFY_H

#include "src/tool/read/layout.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/input.h"
#include "src/tool/run/promises.h"
#include "src/tool/run/rows.h"

/*
 * Chooses the messages to check and removes all others from a layout. Empty and dense messages are
 * removed. Without `all`, only the smallest, the median and the largest message of the first step
 * and worker stay. Numbers the messages from 0, in the order in which they are checked.
 * GCB_E_INVALID: no message is left.
 */
int gcb_verify_choose(struct gcb_layout *layout, bool all, struct gcb_diag *diag);

/* How to check the promises of methods. */
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

/* A promise of a method that was checked on a message. */
struct gcb_verify_check {
    const struct gcb_message_plan *plan;
    const char *file; /* file of the message's first tensor; not escaped */
    const char *name; /* name of the message; not escaped */
    size_t method;    /* index */
    const struct gcb_promise *promise;
    struct gcb_promise_outcome outcome;
    double seconds; /* duration of the check */
};

/* What a note tells: before any check, which messages will be checked; later, what was not
 * checked. */
enum gcb_verify_event {
    GCB_VERIFY_CHOSEN,    /* the message will be checked */
    GCB_VERIFY_LEFT_OUT,  /* the message holds infinities or NaNs */
    GCB_VERIFY_NOT_THERE, /* the device does not have the method, or lacks a library for it */
    GCB_VERIFY_UNREACHED, /* the run ended before the method's last check of the message */
    GCB_VERIFY_EVENTS
};
struct gcb_verify_note {
    enum gcb_verify_event event;
    const struct gcb_message_plan *plan;
    const char *name; /* name of the message; not escaped */
    size_t method;    /* index; only with GCB_VERIFY_NOT_THERE and GCB_VERIFY_UNREACHED */
};

struct gcb_verify_observer {
    int (*check)(void *ctx, const struct gcb_verify_check *check, struct gcb_diag *diag);
    void (*note)(void *ctx, const struct gcb_verify_note *note); /* may be NULL */
    void *ctx;                                                   /* of `check` and `note` */
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
 * method or its library (GCB_VERIFY_NOT_THERE). GCB_E_NONFINITE: a message holds infinities or
 * NaNs, and the policy is GCB_POLICY_ERROR. GCB_E_DEVICE, GCB_E_NOMEM, GCB_E_BACKEND: the device or
 * memory failed, or a library is missing on the CPU, which says nothing about the method. Also
 * returns the error of creating a coder (but then the first promise of a plug-in counts as broken),
 * and errors of reading and of the observer.
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
