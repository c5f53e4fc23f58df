#ifndef SRC_TOOL_ROWS_LABELS_H
#define SRC_TOOL_ROWS_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/codec/method.h"

/*
 * Short names for a set of methods, for tables, answers and plots: "topk:theta=0.99". Two methods
 * of a set with different specs have different labels, except policies, of which only the number of
 * rules is shown unless that is not enough.
 */
#define GCB_LABEL 160
#define GCB_LABEL_COLUMNS 32 /* a label gets longer only if that is needed to tell methods apart */
struct gcb_label {
    const char *spec; /* in full (GCB_SPEC_FULL); any other text is its own label */
    size_t set;       /* only labels of one set need to differ */
    char text[GCB_LABEL];
};

/* Fills `text` of all. A label has the parameters that differ from what the method's name means,
 * the main parameters that differ in the set, and otherwise at most one main parameter. */
void gcb_label_all(struct gcb_label *items, size_t count);

/* Labels a set of methods, which lie `stride` bytes apart. Release the array, which also has their
 * specs, with gcb_free. NULL if memory runs out. */
struct gcb_label *gcb_label_methods(const struct gcb_method *first, size_t stride, size_t count);

/* Removes a parameter, such as "collective", from a label or a spec. Returns text. */
char *gcb_spec_drop(char *text, const char *key);

/* True if the spec has this parameter, such as "theta=0.99", of `length` bytes. */
bool gcb_spec_has(const char *spec, const char *piece, size_t length);

/* True if `wanted`, which a user wrote ("topk", "topk:theta=0.99", a spec or a label), names the
 * method with this spec and label. */
bool gcb_spec_is_named(const char *wanted, const char *spec, const char *label);

#endif
