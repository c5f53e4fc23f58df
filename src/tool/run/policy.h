#ifndef SRC_TOOL_RUN_POLICY_H
#define SRC_TOOL_RUN_POLICY_H

#include "src/lib/codec/method.h"
#include "src/tool/read/source.h"

/*
 * A policy chooses the method of each tensor by the tensor's path: the first rule whose glob
 * matches. Messages must cover one tensor each.
 */
#define GCB_RULE_GLOB 1024 /* bytes of a glob, with its terminator */
/* Bytes that hold any rule as an option. A quote in a glob takes 5 bytes; 600 are for the rest. */
#define GCB_RULE_TEXT (5 * GCB_RULE_GLOB + 600)

struct gcb_rule {
    char *glob; /* owned; NULL: all tensors (the option --method) */
    struct gcb_method method;
};

struct gcb_policy {
    struct gcb_rule *rules; /* `count` rules; owned */
    size_t count, cap;
    char *text; /* owned; set by gcb_policy_method: "--method-for 'GLOB=SPEC' --method SPEC" */
    const struct gcb_method **by_tensor; /* method of each tensor; owned; set by gcb_policy_bind */
};

/* Adds a rule, with copies of the glob (NULL: all tensors) and the method. GCB_E_INVALID: the glob
 * is too long. */
int gcb_policy_add(struct gcb_policy *p, const char *glob, const struct gcb_method *method,
                   struct gcb_diag *diag);

/* Writes p->text, and makes a method that names the policy in rows and tables: "policy:rules=3".
 * The method's full spec also has a hash of the rules. The method cannot encode. Call this once,
 * after the last rule was added. */
void gcb_policy_method(struct gcb_method *out, struct gcb_policy *p);
/* True if the method is from gcb_policy_method. */
bool gcb_policy_is(const struct gcb_method *m);

/* Sets p->by_tensor for the tensors of `source`. Call this once, after the last rule was added.
 * GCB_E_INVALID: a glob matches no tensor, or no rule matches a tensor. */
int gcb_policy_bind(struct gcb_policy *p, const struct gcb_source *source, struct gcb_diag *diag);
void gcb_policy_fini(struct gcb_policy *p); /* zeroed is fine */

/* Returns the rule for the tensor with this path; NULL if no rule matches. */
const struct gcb_rule *gcb_policy_rule(const struct gcb_policy *p, const char *path);
/* Writes a rule as "GLOB=SPEC", or "*=SPEC" without a glob, cut to `size` bytes. Returns out. */
char *gcb_policy_rule_text(char *out, size_t size, const struct gcb_rule *rule);
/* Writes a rule as an option for a shell, cut to `size` bytes. Returns out. */
char *gcb_policy_option(char *out, size_t size, const struct gcb_rule *rule);

#endif
