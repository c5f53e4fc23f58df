#ifndef SRC_TOOL_SEARCH_PARETO_H
#define SRC_TOOL_SEARCH_PARETO_H

#include <stdbool.h>
#include <stddef.h>

/* The two figures by which settings are compared: less is better. */
struct gcb_pareto_point {
    double error, bits; /* rel_l2 and bits_per_element; NAN: unknown */
};

/* Sets mark[i] to true for each point that no other point beats, otherwise to false. A point beats
 * another if it is at least as good in both figures and better in at least one. Equal points are
 * all marked. A point with an unknown figure is not marked and beats no point. */
void gcb_pareto_mark(bool *mark, const struct gcb_pareto_point *points, size_t count);

#endif
