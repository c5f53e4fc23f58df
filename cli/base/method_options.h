#ifndef CLI_BASE_METHOD_OPTIONS_H
#define CLI_BASE_METHOD_OPTIONS_H

#include "cli/base/optparse.h"
#include "src/lib/codec/method.h"
#include "src/tool/run/policy.h"

/* Options that name methods or set their parameters. */
struct opt_methods {
    struct opt_list specs;
    struct opt_list overrides; /* in turn a key and its value */
    struct opt_list rules;     /* of --method-for */
    const char *nearer_than;   /* the method that the others are compared with; NULL: none */
};
extern const struct opt_row opt_methods_rows[];
extern const struct opt_row opt_nearer_rows[]; /* --nearer-than */
extern const struct opt_row opt_policy_rows[]; /* --method-for */
/* Names of all parameters and complements, of every method and of the memory: name_at of a command's opt_extra.
 * NULL past the end; a name may occur more than once. */
const char *opt_methods_key_at(size_t i);
/*
 * Makes the list of named methods, in the order given, with the method of --nearer-than before the others. Each takes those
 * overrides that it has as parameters. If no method is named, the list has those that `wanted` chooses, with their default
 * parameters; `wanted` may be NULL.
 * GCB_E_INVALID also for an override that no method has. Release *out with gcb_free.
 */
int opt_methods_resolve(struct gcb_method **out, size_t *count, const struct opt_methods *in,
                        bool (*wanted)(const struct gcb_method *), struct gcb_diag *diag);
/* True for all methods, except one that is the same as another; for opt_methods_resolve. */
bool opt_methods_all(const struct gcb_method *m);
/* Makes the policy of --method-for, whose last rule is --method. Call gcb_policy_bind when the source is open, and release
 * with gcb_policy_fini, also on failure. */
int opt_policy_resolve(struct gcb_policy *out, const struct opt_methods *in, struct gcb_diag *diag);
/* Appends a method to an array that opt_methods_resolve made. */
int opt_methods_append(struct gcb_method **methods, size_t *count, const char *spec,
                       struct gcb_diag *diag);

/* Two functions describe a parameter in words, for `gcbench methods` and the manual. Both return out. */

/* Writes the values that a parameter takes: "in [0, 1)" or "one of a, b, c". */
char *param_range(char *out, size_t size, const struct gcb_param *p);

/* Writes what a parameter is, its other names and, with `condition`, the settings that it depends on. */
char *param_help(char *out, size_t size, const struct gcb_param *p, bool condition);

#endif
