#ifndef SRC_TOOL_RUN_RUN_H
#define SRC_TOOL_RUN_RUN_H

#include "src/tool/measure/measure.h"
#include "src/tool/run/input.h"
#include "src/tool/run/trial.h"
#include "src/tool/write/container.h"

/*
 * Runs all methods on all messages of a layout. A message is read once, and then all methods run on
 * it. One message is in memory at a time, or with `groups` several small messages,
 * GCB_RUN_GROUP_ELEMENTS at most.
 */
struct gcb_run_config {
    struct gcb_source *source;
    const struct gcb_layout *layout;
    bool sharded; /* the layout is a shard, which may be empty (src/tool/read/layout.h) */
    const struct gcb_method *methods; /* method_count */
    size_t method_count;
    /* NULL: none. If by_tensor[i] is not NULL, it has the method of each tensor of the source,
     * which encodes instead of methods[i] (gcb_policy.by_tensor). Messages must then cover one
     * tensor each. */
    const struct gcb_method *const *const *by_tensor;
    struct gcb_trial_config trial; /* timing.stop is taken from the observer, take is set */
    enum gcb_nonfinite_policy nonfinite;
    struct gcb_output_layers output_layers;
    struct gcb_h5out *keep; /* receives the messages of methods[0]; NULL: none */
    /* sets timing.max_time of each trial, by gcb_run_weight; NULL: none */
    struct gcb_budget *budget;
    /* seconds for the timing of all trials together, a limit like `budget`; 0: none. Not with a
     * budget. */
    double seconds;
    /* If a method fails, go on with the others; its total has the error. GCB_E_UNSUPPORTED: its
     * parameters contradict each other, or it cannot encode the message; GCB_E_BACKEND: a library
     * that it needs is missing; GCB_E_UNVERIFIED: a device's message or values differ from the
     * CPU's. */
    bool carry_on;
    /* Messages of at least so many elements are decoded into the memory of their input, which is
     * read again to compare; 0: none. Only on the CPU, without trial.copy, and from files that
     * allow it (gcb_source_has_parts). */
    uint64_t in_place;
    /* Compare each method's decoded elements with those of methods[0] (gcb_fidelity_compare). Needs
     * inputs and decoded tensors together, so `in_place` must be 0. */
    bool compare;
    bool groups; /* on a device: encode neighbours of at most GCB_RUN_SMALL elements in groups */
};

/* In elements. For smaller messages a GPU's launches take longer than its work. */
#define GCB_RUN_SMALL (UINT64_C(1) << 16)
#define GCB_RUN_GROUP_ELEMENTS (UINT64_C(1) << 22)

/* The usual `in_place`: 1 GiB. Reading smaller inputs again would save little memory. */
#define GCB_RUN_IN_PLACE (UINT64_C(1) << 28)

struct gcb_run_observer {
    /* after each trial; may be NULL */
    int (*trial)(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag);
    void (*progress)(void *ctx, double done); /* share of the work, 0 to 1; may be NULL */
    bool (*stop)(void *ctx);                  /* called often; true ends the run; may be NULL */
    void *ctx;
};

/* The result of a method over all messages. */
struct gcb_run_total {
    struct gcb_tally tally;
    uint64_t last_step; /* step and worker of the last message */
    uint32_t last_worker;
    struct gcb_sample_sums samples[GCB_TIMED];
    /* with carry_on: the error that ended the method early; status 0: none; and the number of the
     * message */
    struct gcb_diag failure;
    size_t failed_at;
};

/* Adds the result of the next message to the total of its method. Uses step and worker of t->plan,
 * tally and samples. */
int gcb_run_total_add(struct gcb_run_total *total, const struct gcb_run_trial *t,
                      struct gcb_diag *diag);

/* True if the method ended because it does not run here: because of its parameters, the message,
 * the device or a missing library. */
bool gcb_run_unsupported(const struct gcb_run_total *total);

struct gcb_run_result {
    struct gcb_run_total *totals; /* method_count */
    size_t method_count;
    uint64_t skipped_messages, skipped_steps; /* left out by GCB_POLICY_SKIP */
    uint64_t zeroed;                          /* elements set to 0 with GCB_POLICY_ZERO */
    bool interrupted; /* the observer stopped the run: totals cover the trials until then */
};

/*
 * GCB_E_NONFINITE: with GCB_POLICY_ERROR a tensor has infinities or NaNs: the run ends at its
 * message, and diag names the first few such tensors of the dump, or of the shard; with
 * GCB_POLICY_SKIP no step is left. `out` must be released with gcb_run_result_fini on success and
 * on failure.
 */
int gcb_run(struct gcb_run_result *out, const struct gcb_run_config *config,
            const struct gcb_run_observer *observer, struct gcb_diag *diag);
void gcb_run_result_fini(struct gcb_run_result *r); /* zeroed is fine */

/* The result of a run that cannot start: all methods have failed with `why`, except memcpy without
 * config->trial.copy. Released in the same way. */
int gcb_run_none(struct gcb_run_result *out, const struct gcb_run_config *config,
                 const struct gcb_diag *why, struct gcb_diag *diag);

/* The work of a message, for progress and budgets: its elements, and a constant for the overhead of
 * a small message. */
double gcb_run_weight(const struct gcb_message_plan *plan);

/* Size of the buffer for measuring memory bandwidth: at least 32 MiB, and otherwise about as much
 * as the run needs. */
uint64_t gcb_run_bandwidth_bytes(const struct gcb_layout *layout);

/*
 * True if the largest trial fits in the caches. It takes 12 bytes an element: the tensor, the
 * message and the decoded tensor. If so, repeated timing does not use memory, and a share of the
 * bandwidth measured over `bandwidth_bytes` means nothing; unless that buffer is less than twice as
 * large as the trial, because then the buffer is in the caches too.
 */
bool gcb_run_in_cache(const struct gcb_layout *layout, uint64_t bandwidth_bytes);

#endif
