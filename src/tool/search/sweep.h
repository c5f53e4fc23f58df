#ifndef SRC_TOOL_SEARCH_SWEEP_H
#define SRC_TOOL_SEARCH_SWEEP_H

#include "src/lib/codec/method.h"

/* The settings that a sweep runs: values of parameters, and all combinations of them. */

/*
 * Values of a parameter, as users write them: "KEY=v1,v2,..." or "KEY=LO..HI/COUNT", with `log`
 * after COUNT for equal steps of the logarithm. Logarithmic steps of a parameter that has a
 * complement (theta) are steps of the complement, because a density spans decades. The ends are
 * used as written. Values between them are rounded to five significant digits, or to whole numbers,
 * and equal values appear once. LO may be greater than HI.
 */
#define GCB_VARY_TEXT 64  /* bytes for a key or a value, with the final 0 */
#define GCB_VARY_MAX 4096 /* most values of a key */

struct gcb_vary {
    char key[GCB_VARY_TEXT];
    const char *list; /* "v1,v2,...", borrowed; NULL: a range */
    char low[GCB_VARY_TEXT], high[GCB_VARY_TEXT];
    uint64_t count; /* number of values in a range */
    bool log;
};

/* Parses the value of one --vary. GCB_E_INVALID with a message. */
int gcb_vary_parse(struct gcb_vary *out, const char *text, struct gcb_diag *diag);

struct gcb_value_list {
    char (*text)[GCB_VARY_TEXT];
    size_t count, cap;
};

/* Lists the values for the parameter `p`, whose name or complement is the key. The values of a list
 * are not checked; the ends of a range have to be valid. Release with gcb_value_list_fini, also on
 * failure. */
int gcb_vary_values(struct gcb_value_list *out, const struct gcb_vary *v, const struct gcb_param *p,
                    struct gcb_diag *diag);
void gcb_value_list_fini(struct gcb_value_list *list); /* zeroed is fine */

/* More settings than this are refused before any is made. */
#define GCB_SWEEP_MAX 4096

/*
 * Lists every method with every combination of values of the keys that it has; the last key varies
 * fastest. A key that has no effect with the method's other values is left out, and equal settings
 * appear once. Combinations that gcb_method_check refuses are included, so that a run can report
 * them. GCB_E_INVALID with a message: a wrong range or value, a key that no method has or that is
 * given twice, too many settings, or only refused ones. Release *out with gcb_free.
 */
int gcb_sweep_expand(struct gcb_method **out, size_t *count, const struct gcb_method *methods,
                     size_t method_count, const char *const *vary, size_t vary_count,
                     struct gcb_diag *diag);

/* True if a sweep without --method includes this method. It includes methods with parameters, but
 * no codec that is the same as one of its presets. */
bool gcb_sweep_default(const struct gcb_method *m);

#endif
