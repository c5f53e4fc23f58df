#ifndef SRC_TOOL_SEARCH_POLICY_SEARCH_H
#define SRC_TOOL_SEARCH_POLICY_SEARCH_H

#include "src/tool/run/policy.h"
#include "src/tool/search/choose.h"

/*
 * Divides a budget of bytes or of error among tensors, each of which has a choice of settings. Each
 * tensor begins with its cheapest setting. Then, again and again, the tensor whose next setting
 * reduces the error most for each byte that it adds takes that setting, until the budget is met.
 * Only settings on the convex hull of a tensor's bytes and errors are taken.
 *
 * No allocation can be better than this one by more than a single step, because after each step
 * this one is the best for the bytes that it takes (Shoham and Gersho: "Efficient bit allocation
 * for an arbitrary set of quantizers", 1988).
 */
struct gcb_allot_option {
    double bytes;
    double error;   /* sum of squared errors */
    size_t setting; /* the caller's number of the setting */
};

struct gcb_allotment {
    struct gcb_allot_option
        *items;   /* sorted by gcb_allocate: those on the hull come first, from cheap to accurate */
    size_t count; /* at least 1; gcb_allocate keeps only the hull */
    size_t chosen; /* the result: index of an item */
};

struct gcb_budget_limit {
    bool on_error; /* the limit is on the sum of errors; otherwise on the sum of bytes */
    double most;
};

/* Returns false if the budget cannot be met: then the cheapest settings are chosen for a limit on
 * bytes, the most accurate for a limit on the error. *slope: bytes that a step added for each unit
 * of error that it took away. The step is the last one before the best step was too large for the
 * budget; 0: there was none. */
bool gcb_allocate(struct gcb_allotment *tensors, size_t count, const struct gcb_budget_limit *limit,
                  double *slope);

/* True if these sums over all tensors meet the limit. */
bool gcb_budget_meets(const struct gcb_budget_limit *limit, const struct gcb_allot_option *sum);

/* The sums over all tensors of what was chosen. */
struct gcb_allot_option gcb_allocated(const struct gcb_allotment *tensors, size_t count);

/* Writes the rules of a policy that gives methods[chosen[i]] to the tensor paths[i]. Paths with the
 * same method share globs where the globs match no other tensor; the method of most tensors is the
 * last rule, for the rest. Leaves `out` empty if globs cannot tell the tensors apart, such as "a=b"
 * and "a?b". */
int gcb_policy_write(struct gcb_policy *out, const char *const *paths, const size_t *chosen,
                     size_t count, const struct gcb_method *methods, struct gcb_diag *diag);

/*
 * Finds a policy that meets a goal for all tensors together: a limit on rel_l2, ratio,
 * bits_per_element or wire_bytes.
 *
 * The candidates are the settings that the searches of a choice have found, and other settings of
 * the same methods with smaller and larger messages. They are measured on a sample
 * (gcb_sample_every_tensor), and the budget is allotted (gcb_allocate). The few settings that save
 * most, and finer steps around them, are then measured on the whole input, and the budget is
 * allotted again.
 */

/* `choice` has finished its searches. `out` has no rules if no policy meets the goal, or after an
 * interruption. Its last rule is for the rest; gcb_policy_bind was called. */
int gcb_policy_search(struct gcb_policy *out, const struct gcb_choice *choice,
                      const struct gcb_run_config *config, const struct gcb_run_observer *observer,
                      bool *interrupted, struct gcb_diag *diag);

/* True if a policy can meet a goal of this kind. */
bool gcb_policy_search_can(const struct gcb_match_goal *goal);

#endif
