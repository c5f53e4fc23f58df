#ifndef SRC_TOOL_SEARCH_POLICY_RULES_H
#define SRC_TOOL_SEARCH_POLICY_RULES_H

#include "src/tool/run/policy.h"

/* Writes the rules of a policy that gives methods[chosen[i]] to the tensor paths[i]. Paths with the same method share globs
 * where the globs match no other tensor; the method of most tensors is the last rule, for the rest. Leaves `out` empty if
 * globs cannot tell the tensors apart, such as "a=b" and "a?b". */
int gcb_policy_write(struct gcb_policy *out, const char *const *paths, const size_t *chosen,
                     size_t count, const struct gcb_method *methods, struct gcb_diag *diag);

#endif
