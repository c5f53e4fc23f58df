#ifndef SRC_TOOL_TIMING_STEADY_H
#define SRC_TOOL_TIMING_STEADY_H

#include <stdbool.h>

#include "src/tool/timing/stats.h"

/*
 * When is a median known well enough? Once the intervals of all operations measured together are narrow, twice in a row,
 * and not before GCB_STEADY_LEAST samples: an interval that is narrow once may be so by chance, and a rule that stops at
 * the first of them picks the wrong ones.
 */
#define GCB_STEADY_LEAST 20

/* Where a measurement stands; gcb_steady_init before the first sample. */
struct gcb_steady {
    size_t look_at; /* samples at which to look again: sorting takes longer the more there are */
    bool narrow;    /* as the last look found it */
};
void gcb_steady_init(struct gcb_steady *s);

/* Is this the time to look, with so many samples? */
bool gcb_steady_due(const struct gcb_steady *s, size_t count);
/* What such a look found: are all intervals narrow? True where they were so at the last look too. */
bool gcb_steady_look(struct gcb_steady *s, size_t count, bool narrow);

/* Is the interval of the statistics as narrow as that? False where there is none. */
bool gcb_steady_narrow(const struct gcb_stats *stats, double precision);

#endif
