#ifndef SRC_TOOL_VERIFY_VERIFY_H
#define SRC_TOOL_VERIFY_VERIFY_H

#include "src/tool/rows/sink.h"
#include "src/tool/trial/nonfinite.h"
#include "src/tool/trial/plan.h"
#include "src/tool/trial/rows.h"
#include "src/tool/verify/promises.h"

/* Every promise that binds a method, on messages of a dump. */
struct gcb_verify_config {
    struct gcb_source *source;
    const struct gcb_layout *layout;
    const struct gcb_method *methods; /* method_count of them */
    size_t method_count;
    const struct gcb_kernels *kernels;
    uint64_t seed;
    enum gcb_fft_rigor fft_rigor;
    enum gcb_nonfinite_policy nonfinite; /* RAW: as SKIP, of the message alone */
    struct gcb_output_layers output_layers;
    bool
        all; /* messages; else the smallest, a middle and the largest of the first step and worker */
    double budget; /* seconds, asked between checks; 0: none */
    const struct gcb_promise_trip
        *trip; /* NULL: the coders themselves; else messages are made and read by it */
};

struct gcb_verify_check {
    const struct gcb_message_plan *plan;
    const char *file, *name; /* of the message's first tensor, of the message; escape them */
    size_t method;
    const struct gcb_promise *promise;
    struct gcb_promise_outcome outcome;
    double seconds;
};
/* What is looked at, before any check, and what is not. */
enum gcb_verify_event {
    GCB_VERIFY_CHOSEN,
    GCB_VERIFY_LEFT_OUT,  /* it holds infinities or NaNs */
    GCB_VERIFY_NOT_THERE, /* the device does not do the method on it, or lacks a library */
    GCB_VERIFY_UNREACHED, /* the budget, or an interruption, came before the method's last check on it */
};
struct gcb_verify_note {
    enum gcb_verify_event event;
    const struct gcb_message_plan *plan;
    const char *name; /* of the message; escape it */
    size_t method;    /* of NOT_THERE and UNREACHED */
};
struct gcb_verify_observer {
    int (*check)(void *ctx, const struct gcb_verify_check *check, struct gcb_diag *diag);
    void (*note)(void *ctx, const struct gcb_verify_note *note); /* may be NULL */
    void (*progress)(void *ctx, double done);                    /* may be NULL */
    bool (*stop)(void *ctx);                                     /* may be NULL */
    void *ctx;
};

struct gcb_verify_result {
    uint64_t messages, kept, broken, idle;
    uint64_t left_out; /* messages with infinities and NaNs */
    uint64_t
        unreached; /* pairs of message and method that the budget, or an interruption, cut off */
    uint64_t not_there; /* pairs that the device does not do; the others are checked all the same */
    struct gcb_diag missing; /* the first of them in words */
    bool interrupted;
};
/* GCB_E_NONFINITE under GCB_POLICY_ERROR; GCB_E_INVALID: no message to look at. GCB_E_DEVICE, GCB_E_NOMEM: the
 * trip failed, so that nothing can be said of the method. */
int gcb_verify(struct gcb_verify_result *out, const struct gcb_verify_config *config,
               const struct gcb_verify_observer *observer, struct gcb_diag *diag);

/* A row of `promise`. */
void gcb_verify_row(struct gcb_row *row, const struct gcb_rows_setting *setting,
                    const struct gcb_method *method, const struct gcb_verify_check *check);
extern const char *const gcb_promise_status_names[]; /* kept, broken, idle */

#endif
