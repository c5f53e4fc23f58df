#ifndef SRC_TOOL_READ_NETWORKS_H
#define SRC_TOOL_READ_NETWORKS_H

#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"

/* The parameters of known networks, so that synthetic gradients have real shapes. */

#define GCB_LAYOUT_ROWS 161 /* number of rows in the longest layout */

/* One parameter of a network. */
struct gcb_shape_row {
    char name[48];
    unsigned rank;
    uint64_t dims[4];
};

/* "resnet50" (26 M parameters), "gpt2" (124 M), "alexnet" (61 M), "vgg16" (138 M) and "lstm" (66 M); NULL ends them. */
extern const char *const gcb_network_names[];

/*
 * The parameters of a network, in the order in which its reference implementation registers them. Fills `rows` and
 * returns their number; returns 0 for an unknown name.
 */
size_t gcb_network_layout(struct gcb_shape_row rows[GCB_LAYOUT_ROWS], const char *name);

/* Says that there is no such network, and lists `others` (text before the list) and the names. Returns GCB_E_INVALID. */
int gcb_network_unknown(const char *name, const char *others, struct gcb_diag *diag);

/* Returns the product of a row's dims. */
uint64_t gcb_shape_elements(const struct gcb_shape_row *row);

#endif
