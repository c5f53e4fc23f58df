#ifndef SRC_TOOL_SEARCH_SWEEP_H
#define SRC_TOOL_SEARCH_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/codec/method.h"

/* The settings that a sweep runs: values of parameters, and all combinations of them. */

#define GCB_VARY_TEXT 64  /* bytes for a key or a value, with the final 0 */
#define GCB_VARY_MAX 4096 /* most values of a key */

/*
 * Values of a parameter, as users write them: "KEY=v1,v2,..." or "KEY=LO..HI/COUNT". The range has
 * equal steps. With `log` after COUNT, it has equal steps of the logarithm: of the complement, if
 * the parameter has one, because a density (1 - theta) spans decades. The ends are used as written,
 * and LO may be greater than HI. If the parameter is a whole number, values between the ends are
 * rounded to whole numbers. Otherwise, values from 1e-11 to 1e5 are rounded to five significant
 * digits. Equal values appear once.
 */
struct gcb_vary {
    char key[GCB_VARY_TEXT];
    const char *list; /* "v1,v2,...", borrowed; NULL: a range */
    char low[GCB_VARY_TEXT], high[GCB_VARY_TEXT];
    uint64_t count; /* number of values in a range */
    bool log;
};

/* Parses the value of one --vary, from which out->list is borrowed. Returns 0 or GCB_E_INVALID. */
int gcb_vary_parse(struct gcb_vary *out, const char *text, struct gcb_diag *diag);

struct gcb_value_list {
    char (*text)[GCB_VARY_TEXT];
    size_t count, cap;
};

/* Lists the values for the parameter `p`, whose name or complement is v->key. The values of a list
 * are only checked for their length. GCB_E_INVALID: a value of a list is empty or too long, an end
 * of a range is not valid, an end of a log range is not above 0, a range of one value has two
 * different ends, `p` takes names but v is a range, or there are too many values. Release `out`
 * with gcb_value_list_fini, also after a failure. */
int gcb_vary_values(struct gcb_value_list *out, const struct gcb_vary *v, const struct gcb_param *p,
                    struct gcb_diag *diag);
void gcb_value_list_fini(struct gcb_value_list *list); /* zeroed is fine */

/* Most settings of a sweep. */
#define GCB_SWEEP_MAX 4096

/*
 * Lists each method with each combination of values of the keys that the method has; the last key
 * varies fastest. `vary` has the values of all --vary. A key that has no effect with the method's
 * other values is left out, and equal settings of a method appear once. Combinations that
 * gcb_method_check refuses are included, so that a run can report them. Release *out with gcb_free.
 *
 * With `all`, the user has named no methods: a method that does not take all values is left out, if
 * other methods take them.
 *
 * GCB_E_INVALID: a range or value is wrong, a key has no effect in any setting, a key is given
 * twice, there are too many keys or settings, or all settings are refused. *out is then NULL.
 */
int gcb_sweep_expand(struct gcb_method **out, size_t *count, const struct gcb_method *methods,
                     size_t method_count, bool all, const char *const *vary, size_t vary_count,
                     struct gcb_diag *diag);

/* True if a sweep without --method includes this method: it has parameters, and it is neither a
 * baseline nor a codec whose defaults are those of one of its presets. */
bool gcb_sweep_default(const struct gcb_method *m);

/* The two figures by which settings are compared: less is better. */
struct gcb_pareto_point {
    double error, bits; /* rel_l2 and bits_per_element; NAN: unknown */
};

/* Sets mark[i] to true for each point that no other point beats, otherwise to false. A point beats
 * another if it is at least as good in both figures and better in at least one. Equal points are
 * all marked. A point with an unknown figure is not marked and beats no point. */
void gcb_pareto_mark(bool *mark, const struct gcb_pareto_point *points, size_t count);

#endif
