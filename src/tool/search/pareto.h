#ifndef SRC_TOOL_SEARCH_PARETO_H
#define SRC_TOOL_SEARCH_PARETO_H

#include <stdbool.h>
#include <stddef.h>

/* The figures by which settings are compared. NAN: the setting is not marked and beats nothing. */
struct gcb_pareto_point {
    double error, bits; /* rel_l2 and bits_per_element: less is better */
};

/* Marks the points that no other point beats. A point beats another if it is at least as good in
 * both figures and better in at least one. Equal points are all marked. */
void gcb_pareto_mark(bool *mark, const struct gcb_pareto_point *points, size_t count);

#endif
