#ifndef SRC_TOOL_MEASURE_STEADY_H
#define SRC_TOOL_MEASURE_STEADY_H

#include <stdbool.h>

#include "src/tool/measure/stats.h"

/*
 * The rule for when a median is precise enough: the intervals of all operations measured in turn are narrow at two
 * consecutive checks, with at least GCB_STEADY_LEAST samples. An interval may be narrow once by chance; a rule that
 * stops at the first narrow interval too often has an interval that misses the median.
 */
#define GCB_STEADY_LEAST 20

/* The state of a measurement. Call gcb_steady_init before the first sample. */
struct gcb_steady {
    /* number of samples for the next check; the gaps grow, because sorting takes time */
    size_t look_at;
    bool narrow; /* at the last check all intervals were narrow */
};
void gcb_steady_init(struct gcb_steady *s);

/* Is a check due with `count` samples? */
bool gcb_steady_due(const struct gcb_steady *s, size_t count);
/* Stores the result of a check. Returns true if all intervals are narrow at this check and were at the last. */
bool gcb_steady_look(struct gcb_steady *s, size_t count, bool narrow);

/* Is the interval narrow enough for `precision`? False if there is no interval. */
bool gcb_steady_narrow(const struct gcb_stats *stats, double precision);

#endif
