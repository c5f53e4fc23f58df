#ifndef SRC_TOOL_TRIAL_RUN_H
#define SRC_TOOL_TRIAL_RUN_H

#include "src/tool/container/container.h"
#include "src/tool/timing/budget.h"
#include "src/tool/trial/nonfinite.h"
#include "src/tool/trial/plan.h"
#include "src/tool/trial/trial.h"

/*
 * Every message of a layout under every method. A message is read once and all methods run on it. One message is in
 * memory at a time, or with `groups` small messages of GCB_RUN_GROUP_ELEMENTS together.
 */
struct gcb_run_config {
    struct gcb_source *source;
    const struct gcb_layout *layout;
    const struct gcb_method *methods; /* method_count of them */
    size_t method_count;
    struct gcb_trial_config trial; /* timing.stop is set from the observer */
    enum gcb_nonfinite_policy nonfinite;
    struct gcb_output_layers output_layers;
    struct gcb_container_writer *keep; /* NULL, or takes the messages of methods[0] */
    struct gcb_budget
        *budget; /* NULL, or sets timing.max_time of each trial; gcb_run_weight is each one's */
    /* A method that fails ends alone, and its total says why: GCB_E_UNSUPPORTED where its parameters do not go
     * together or it does not take the message, GCB_E_BACKEND where a library that it needs is not there,
     * GCB_E_UNVERIFIED where a device's message or values are not the CPU's. */
    bool carry_on;
    bool groups; /* on a device: encode neighbours of at most GCB_RUN_SMALL elements in groups */
};

/* In elements. Smaller messages take a GPU less time than their launches. */
#define GCB_RUN_SMALL (UINT64_C(1) << 16)
#define GCB_RUN_GROUP_ELEMENTS (UINT64_C(1) << 22)

/* One message under one method, as soon as it is known. Everything is borrowed for the call. */
struct gcb_run_trial {
    const struct gcb_message_plan *plan;
    const struct gcb_tensor *first; /* of the message's tensors */
    const char *name;               /* gcb_plan_name */
    size_t method;                  /* index */
    struct gcb_tally tally;
    const struct gcb_samples *encode, *decode;
    const float *input, *decoded; /* plan->count of each */
};

struct gcb_run_observer {
    int (*trial)(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag);
    void (*progress)(void *ctx, double done); /* share of the work; may be NULL */
    bool (*stop)(void *ctx);                  /* asked often; may be NULL */
    void *ctx;
};

/* Of a method over all messages. */
struct gcb_run_total {
    struct gcb_tally tally;
    struct gcb_sample_sums encode, decode;
    struct gcb_diag
        failure; /* status 0: none. Under carry_on; the total is of what was done before */
};

/* Did it end because the method does not run here: its parameters, the message, the device, or a library of that
 * which is not there? */
bool gcb_run_unsupported(const struct gcb_run_total *total);

struct gcb_run_result {
    struct gcb_run_total *totals; /* method_count of them */
    size_t method_count;
    uint64_t skipped_messages, skipped_steps; /* under GCB_POLICY_SKIP */
    uint64_t zeroed;                          /* elements, under GCB_POLICY_ZERO */
    bool interrupted; /* the observer stopped it: totals are of what was done */
};

/*
 * GCB_E_NONFINITE: under GCB_POLICY_ERROR, before any work, with words that name the first few tensors;
 * under GCB_POLICY_SKIP if no step is left. `out` must be released with gcb_run_result_fini on success
 * and on failure.
 */
int gcb_run(struct gcb_run_result *out, const struct gcb_run_config *config,
            const struct gcb_run_observer *observer, struct gcb_diag *diag);
void gcb_run_result_fini(struct gcb_run_result *r); /* zeroed is fine */

/* A run that comes to nothing: every method, but a copy where none is asked for, has failed with `why`. To be released as above. */
int gcb_run_none(struct gcb_run_result *out, const struct gcb_run_config *config,
                 const struct gcb_diag *why, struct gcb_diag *diag);

/* What a message weighs, for progress and budgets: its elements and what small ones cost as well. */
double gcb_run_weight(const struct gcb_message_plan *plan);

/*
 * How much memory a measurement of bandwidth may go over beside a run: at least 32 MiB, and otherwise
 * no more than the run itself takes.
 */
uint64_t gcb_run_bandwidth_bytes(const struct gcb_layout *layout);

/*
 * Do the caches hold the largest message with what becomes of it (12 bytes an element: it, the message, and what was
 * decoded), so that timing it again and again asks nothing of memory? A share of a bandwidth that was measured over
 * `bandwidth_bytes` means nothing then. It does where that buffer is less than twice as large, for then both are in the
 * same place.
 */
bool gcb_run_in_cache(const struct gcb_layout *layout, uint64_t bandwidth_bytes);

#endif
