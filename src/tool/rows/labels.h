#ifndef SRC_TOOL_ROWS_LABELS_H
#define SRC_TOOL_ROWS_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/codec/method.h"

/*
 * Short names for a set of methods, for tables, answers and plots: "topk:theta=0.99". Two methods
 * of a set with different specs have different labels, unless the labels are cut. The label of a
 * policy has its number of rules, but its id only if another policy of the set has as many rules.
 */
#define GCB_LABEL 160 /* bytes of a label; a longer label is cut */
/* most bytes of a method's name and a parameter that is not needed to tell methods apart */
#define GCB_LABEL_COLUMNS 32
struct gcb_label {
    const char *spec; /* borrowed; in full (GCB_SPEC_FULL). Any other text is its own label. */
    size_t set;       /* only labels with the same `set` need to differ */
    char text[GCB_LABEL];
};

/* Writes `text` of all items. A label has the parameters that differ from what the method's name
 * means, and the main parameters (GCB_PARAM_LABEL) in which methods of this name differ in the set.
 * If there are none except `collective`, it also has the first main parameter that fits. */
void gcb_label_all(struct gcb_label *items, size_t count);

/* Labels a set of methods that lie `stride` bytes apart. Returns an array of `count` labels, which
 * also holds their specs. The caller releases it with gcb_free. */
struct gcb_label *gcb_label_methods(const struct gcb_method *first, size_t stride, size_t count);

#define GCB_SPEC_BEGIN SIZE_MAX
/* Moves *at to the next parameter "key=value" of a spec, and sets *length to its bytes. Before the
 * first call, set *at to the spec and *length to GCB_SPEC_BEGIN. Returns false after the last
 * parameter. */
bool gcb_spec_next(const char **at, size_t *length);

/* Removes a parameter, such as "collective", from a label or a spec. Returns text. */
char *gcb_spec_drop(char *text, const char *key);

/* True if the spec has this parameter with this value: the first `length` bytes of `piece`, such as
 * "theta=0.99". */
bool gcb_spec_has(const char *spec, const char *piece, size_t length);

/* True if `wanted` names the method with this spec and label. A user may write the spec, the label,
 * or the name with some of the parameters: "topk", "topk:theta=0.99". */
bool gcb_spec_is_named(const char *wanted, const char *spec, const char *label);

#endif
