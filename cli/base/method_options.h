#ifndef CLI_BASE_METHOD_OPTIONS_H
#define CLI_BASE_METHOD_OPTIONS_H

#include "cli/base/optparse.h"
#include "src/lib/codec/method.h"

/* Methods, and their parameters given as options. */
struct opt_methods {
    struct opt_list specs;
    struct opt_list overrides; /* key, value, key, value, ... */
};
extern const struct opt_row opt_methods_rows[];
/* Every parameter and complement name of every method, the memory's too. A command's opt_extra has it as name_at. */
const char *opt_methods_key_at(size_t i);
/*
 * The methods in the order given, each with the overrides that it has. GCB_E_INVALID also for an override
 * that no method has. None given: *count is 0. Release *out with gcb_free.
 */
int opt_methods_resolve(struct gcb_method **out, size_t *count, const struct opt_methods *in,
                        struct gcb_diag *diag);

/* A parameter of a method in words, for `gcbench methods` and the manual. Each returns out. */

/* "in [0, 1)" or "one of a, b, c". */
char *param_range(char *out, size_t size, const struct gcb_param *p);

/* What it is, its other names, and, with `condition`, the settings without which it has no meaning. */
char *param_help(char *out, size_t size, const struct gcb_param *p, bool condition);

#endif
