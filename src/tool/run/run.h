#ifndef SRC_TOOL_RUN_RUN_H
#define SRC_TOOL_RUN_RUN_H

#include "src/tool/measure/measure.h"
#include "src/tool/run/input.h"
#include "src/tool/run/trial.h"
#include "src/tool/write/container.h"

/*
 * Runs all methods on all messages of a layout. A message is read, and then all methods run on it.
 * (With `in_place`, large messages are read again for each further method and for the comparison.
 * With GCB_POLICY_SKIP, the tensors are also read before the first trial.) One message is in memory
 * at a time. With `groups` on a device, several small messages may be in memory, which together
 * have at most GCB_RUN_GROUP_ELEMENTS elements.
 */
struct gcb_run_config {
    struct gcb_source *source;
    const struct gcb_layout *layout;
    bool sharded; /* the layout is a shard, which may be empty (src/tool/read/layout.h) */
    const struct gcb_method *methods; /* method_count methods */
    size_t method_count;
    /* Policies (gcb_policy.by_tensor). If by_tensor[i] is not NULL, it has the method of each
     * tensor of the source, which encodes instead of methods[i]. Messages must then cover one
     * tensor each. NULL: no policies. */
    const struct gcb_method *const *const *by_tensor;
    /* gcb_run sets timing.stop, timing.stop_ctx, take and ctx; with `budget` or `seconds` also
     * timing.max_time */
    struct gcb_trial_config trial;
    enum gcb_nonfinite_policy nonfinite;
    struct gcb_output_layers output_layers;
    struct gcb_h5out *keep; /* receives the messages of methods[0]; NULL: none */
    /* gives timing.max_time of each trial, by gcb_run_weight; NULL: none */
    struct gcb_budget *budget;
    /* most seconds for the timing of all trials together; 0: no limit; must be 0 with a budget */
    double seconds;
    /* If a method fails with any error, go on with the other methods. The error is in the method's
     * total, such as GCB_E_UNSUPPORTED: its parameters contradict each other, or it cannot encode
     * the message; GCB_E_BACKEND: a library that it needs is missing; GCB_E_UNVERIFIED: a device's
     * message or values differ from the CPU's, or a sum differs from the decoded tensor. */
    bool carry_on;
    /* Messages of at least this many elements are decoded into the memory of their input. The input
     * is read again for the comparison. 0: no messages. Only on the CPU, without trial.copy, and
     * from files that can be read in parts (gcb_source_has_parts). */
    uint64_t in_place;
    /* on a device: encode neighbouring messages of at most GCB_RUN_SMALL elements in groups */
    bool groups;
};

/* Most elements of a message in a group. For messages up to this size, a GPU's launches take longer
 * than its work. */
#define GCB_RUN_SMALL (UINT64_C(1) << 16)
/* Most elements of all messages of a group. */
#define GCB_RUN_GROUP_ELEMENTS (UINT64_C(1) << 22)

/* The usual `in_place`: 1 GiB. For smaller inputs, reading again would save little memory. */
#define GCB_RUN_IN_PLACE (UINT64_C(1) << 28)

struct gcb_run_observer {
    /* called after each trial; an error ends the run; may be NULL */
    int (*trial)(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag);
    void *ctx; /* passed to `trial` */
    struct gcb_watch watch;
};

/* The result of a method over all messages. */
struct gcb_run_total {
    struct gcb_tally tally;
    uint64_t last_step; /* step and worker of the last message */
    uint32_t last_worker;
    struct gcb_sample_sums samples[GCB_TIMED];
    /* with carry_on, or of a plug-in: the error that ended the method early; status 0: none */
    struct gcb_diag failure;
    size_t failed_at; /* number of the message that failed; 0 if none was tried */
};

/* Adds the result of the next message to the total of its method. Reads only the tally, the samples
 * and the plan's step and worker of `t`. */
void gcb_run_total_add(struct gcb_run_total *total, const struct gcb_run_trial *t);

/* True if the method ended because it does not run here: because of its parameters, the message,
 * the device or a missing library. */
bool gcb_run_unsupported(const struct gcb_run_total *total);

struct gcb_run_result {
    struct gcb_run_total *totals; /* one for each method */
    size_t method_count;
    uint64_t skipped_messages, skipped_steps; /* left out by GCB_POLICY_SKIP */
    uint64_t zeroed;                          /* elements set to 0 with GCB_POLICY_ZERO */
    bool interrupted; /* the watch stopped the run; the totals have the trials until then */
};

/*
 * Runs all trials. Returns the first error of preparing (GCB_E_NOMEM or a device's error), of a
 * trial (unless carry_on is set, or a plug-in failed), of reading, of writing to config->keep, or
 * of the observer. Returns 0 if the watch stops the run. GCB_E_NONFINITE with GCB_POLICY_ERROR: a
 * tensor has infinities or NaNs, and `diag` names the first few such tensors of the dump, or of the
 * shard. GCB_E_NONFINITE with GCB_POLICY_SKIP: no step is left; for a shard this is no error. `out`
 * must be released with gcb_run_result_fini on success and on failure.
 */
int gcb_run(struct gcb_run_result *out, const struct gcb_run_config *config,
            const struct gcb_run_observer *observer, struct gcb_diag *diag);
void gcb_run_result_fini(struct gcb_run_result *r); /* zeroed is fine */

/* Makes the result of a run that cannot start. All methods have failed with `why`, except memcpy if
 * config->trial.copy is false. Release `out` as after gcb_run. */
void gcb_run_none(struct gcb_run_result *out, const struct gcb_run_config *config,
                  const struct gcb_diag *why);

/* Returns the work of a message, for progress and budgets: its number of elements, plus a constant
 * for the overhead of each message. */
double gcb_run_weight(const struct gcb_message_plan *plan);

/* Returns the bytes of the buffer for measuring memory bandwidth: 16 for each element of the
 * largest message, at least 32 MiB, at most gcb_bandwidth_default_bytes. */
uint64_t gcb_run_bandwidth_bytes(const struct gcb_layout *layout);

/*
 * True if the largest trial fits in the caches, but the buffer over which bandwidth was measured is
 * at least twice as large as this trial. Then repeated timing does not use memory, and a share of
 * that bandwidth means nothing. A trial takes 12 bytes for each element: the tensor, the message
 * and the decoded tensor.
 */
bool gcb_run_in_cache(const struct gcb_layout *layout, uint64_t bandwidth_bytes);

#endif
