#ifndef SRC_TOOL_SEARCH_POLICY_SEARCH_H
#define SRC_TOOL_SEARCH_POLICY_SEARCH_H

#include "src/tool/run/policy.h"
#include "src/tool/search/choose.h"

/*
 * Divides a budget of bytes or of error among tensors, each of which has several settings to choose
 * from. Each tensor begins with its cheapest setting. Each step gives one tensor its next setting:
 * the tensor whose next setting reduces the error most for each byte that it adds. The steps end
 * when the budget of bytes is used up, or when the error is within its budget; in the second case,
 * steps that turn out not to be needed are taken back. Settings that are not on the convex hull of
 * a tensor's bytes and errors are never chosen.
 *
 * As long as each step is the best of all, no other choice for the same bytes has a smaller error.
 * Near the end of a budget of bytes, only steps that still fit are taken. So the result differs
 * from the best choice for the budget by less than one step (Shoham and Gersho: "Efficient bit
 * allocation for an arbitrary set of quantizers", 1988).
 */
struct gcb_allot_option {
    double bytes;
    double error;   /* sum of squared errors */
    size_t setting; /* the caller's number of the setting */
};

/* A tensor with its settings. */
struct gcb_allotment {
    struct gcb_allot_option *items; /* the caller's; gcb_allocate sorts them, cheapest first */
    size_t count;                   /* at least 1; gcb_allocate keeps only the hull */
    size_t chosen;                  /* the result: index of an item */
};

struct gcb_budget_limit {
    bool on_error; /* the limit is on the sum of errors; otherwise on the sum of bytes */
    double most;
};

/* Chooses a setting for each tensor. Returns false if the budget cannot be met; the choice is then
 * the cheapest settings for a limit on bytes, and the most accurate ones for a limit on the error.
 * *slope becomes the bytes per unit of error of the last step that was the best of all, and 0 if
 * there was no such step. Other steps are only the best that still fit the budget. */
bool gcb_allocate(struct gcb_allotment *tensors, size_t count, const struct gcb_budget_limit *limit,
                  double *slope);

/* Returns bytes and error of the chosen settings, summed over all tensors. */
struct gcb_allot_option gcb_allocated(const struct gcb_allotment *tensors, size_t count);

/* Writes the rules of a policy that gives methods[chosen[i]] to the tensor paths[i]. Tensors with
 * the same method share a glob if it matches no other tensor without an earlier rule. The last
 * rule, for all other tensors, has the method of most tensors. `out` must be empty. It stays empty
 * if globs cannot tell the tensors apart, such as "a=b" and "a?b", which is no error. */
int gcb_policy_write(struct gcb_policy *out, const char *const *paths, const size_t *chosen,
                     size_t count, const struct gcb_method *methods, struct gcb_diag *diag);

/*
 * Finds a policy that meets the first goal of a choice for all tensors together: a limit on rel_l2,
 * ratio, bits_per_element or wire_bytes.
 *
 * The candidates are the settings that the choice has found, the compositions that it has tried,
 * and other settings of the same methods with smaller and larger messages. All candidates are
 * measured, on a sample if the input has more than GCB_CHOOSE_SAMPLE elements
 * (gcb_sample_every_tensor), and the budget is divided (gcb_allocate). The few settings that save
 * most, and finer steps around them, are then measured on the whole input, and the budget is
 * divided again. All tensors whose path has less than a thousandth of the elements get the same
 * setting.
 *
 * The searches of `choice` must have ended, each message of config->layout must have one tensor,
 * and `out` must be empty. The policy found is bound to the source (gcb_policy_bind). `out` stays
 * empty if no policy meets the goal, if globs cannot tell the tensors apart, or after an
 * interruption.
 */
int gcb_policy_search(struct gcb_policy *out, const struct gcb_choice *choice,
                      const struct gcb_run_config *config, const struct gcb_watch *watch,
                      bool *interrupted, struct gcb_diag *diag);

/* True if a policy can meet a goal of this kind. */
bool gcb_policy_search_can(const struct gcb_match_goal *goal);

#endif
