#ifndef SRC_TOOL_SEARCH_SWEEP_H
#define SRC_TOOL_SEARCH_SWEEP_H

#include "src/lib/codec/method.h"

/* Settings of methods: what a sweep runs. More than these are refused before any is made. */
#define GCB_SWEEP_MAX 4096

/*
 * Every method with every combination of the values (src/tool/search/vary.h) of the keys that it has; the last key
 * varies fastest. A key that has no meaning beside a method's other values is left away from it, and settings that
 * come out the same stand once. Combinations that gcb_method_check refuses are among them, so that a run can say
 * so. GCB_E_INVALID with words: a bad range or value, a key that no method has, a key given twice, too many
 * settings, none that stands. Release *out with gcb_free.
 */
int gcb_sweep_expand(struct gcb_method **out, size_t *count, const struct gcb_method *methods,
                     size_t method_count, const char *const *vary, size_t vary_count,
                     struct gcb_diag *diag);

/* Is it among those that are compared when none is named: a published method that can be set, rather a preset
 * than the codec it is made of? */
bool gcb_sweep_default(const struct gcb_method *m);

#endif
