#ifndef SRC_TOOL_SEARCH_POLICY_SEARCH_H
#define SRC_TOOL_SEARCH_POLICY_SEARCH_H

#include "src/tool/search/choose.h"

/*
 * Finds a policy that meets a goal for all tensors together: a limit on rel_l2, ratio, bits_per_element or wire_bytes.
 *
 * The candidates are the settings that the searches of a choice have found, and other settings of the same methods with
 * smaller and larger messages. They are measured on a sample (gcb_sample_every_tensor), and the budget is allotted
 * (src/tool/search/allocate.h). The few settings that save most, and finer steps around them, are then measured on the
 * whole input, and the budget is allotted again.
 */

/* `choice` has finished its searches. `out` has no rules if no policy meets the goal, or after an interruption. Its last rule is
 * for the rest; gcb_policy_bind was called. */
int gcb_policy_search(struct gcb_policy *out, const struct gcb_choice *choice,
                      const struct gcb_run_config *config, const struct gcb_run_observer *observer,
                      bool *interrupted, struct gcb_diag *diag);

/* Can a policy meet a goal of this kind? */
bool gcb_policy_search_can(const struct gcb_match_goal *goal);

/* The best search of a choice that met goals[0]: the best single method. NULL: none. */
const struct gcb_match_search *gcb_choice_best(const struct gcb_choice *choice);

#endif
