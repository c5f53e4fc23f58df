#ifndef SRC_TOOL_SEARCH_POLICY_RULES_H
#define SRC_TOOL_SEARCH_POLICY_RULES_H

#include "src/tool/trial/policy.h"

/*
 * Writes the rules of a policy that gives methods[chosen[i]] to the tensor paths[i], `count` of them. Paths with the same
 * method share globs if the globs match no other tensor. The method of most tensors is the last rule, for the rest; it is
 * also that of a tensor that no glob of less than 1 KiB tells from all others. GCB_E_NOMEM.
 */
int gcb_policy_write(struct gcb_policy *out, const char *const *paths, const size_t *chosen,
                     size_t count, const struct gcb_method *methods, struct gcb_diag *diag);

#endif
