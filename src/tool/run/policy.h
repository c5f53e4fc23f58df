#ifndef SRC_TOOL_RUN_POLICY_H
#define SRC_TOOL_RUN_POLICY_H

#include "src/lib/codec/method.h"
#include "src/tool/read/source.h"

/*
 * A policy chooses the method of each tensor by the tensor's path: the first rule whose glob
 * matches. Messages must cover one tensor each.
 */
#define GCB_RULE_GLOB 1024                      /* bytes of a glob, with the 0 at its end */
#define GCB_RULE_TEXT (5 * GCB_RULE_GLOB + 600) /* bytes that hold every rule as an option */

struct gcb_rule {
    char *glob; /* owned; NULL: all tensors, as --method means it */
    struct gcb_method method;
};

struct gcb_policy {
    struct gcb_rule *rules; /* `count`; owned */
    size_t count, cap;
    char *text; /* owned; set by gcb_policy_method: "--method-for 'GLOB=SPEC' --method SPEC" */
    const struct gcb_method **by_tensor; /* owned; set by gcb_policy_bind: for each tensor */
};

/* Adds a rule, with copies of the glob (NULL: all tensors) and the method. GCB_E_INVALID: the glob
 * is too long. GCB_E_NOMEM. */
int gcb_policy_add(struct gcb_policy *p, const char *glob, const struct gcb_method *method,
                   struct gcb_diag *diag);

/* After the last rule: writes the text, and makes a method that names the policy in rows and
 * tables: "policy:rules=3". Its full spec also has a hash of the rules. It cannot encode. */
int gcb_policy_method(struct gcb_method *out, struct gcb_policy *p, struct gcb_diag *diag);
bool gcb_policy_is(const struct gcb_method *m);

/* Finds the method of each tensor, after the last rule. GCB_E_INVALID: a glob matches no tensor, or
 * no rule matches a tensor. */
int gcb_policy_bind(struct gcb_policy *p, const struct gcb_source *source, struct gcb_diag *diag);
void gcb_policy_fini(struct gcb_policy *p); /* zeroed is fine */

/* The rule for the tensor with this path, or NULL. */
const struct gcb_rule *gcb_policy_rule(const struct gcb_policy *p, const char *path);
/* Write a rule as "GLOB=SPEC", or as an option for a shell, cut to `size` bytes. Return out. */
char *gcb_policy_rule_text(char *out, size_t size, const struct gcb_rule *rule);
char *gcb_policy_option(char *out, size_t size, const struct gcb_rule *rule);

#endif
