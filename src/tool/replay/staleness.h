#ifndef SRC_TOOL_REPLAY_STALENESS_H
#define SRC_TOOL_REPLAY_STALENESS_H

#include "src/lib/base/queue.h"

/*
 * How long ago an element was last sent: a counter for each, 0 in the step that sends it and one more in
 * each that does not. Counters stop at GCB_STALENESS_MAX, which then means "at least".
 */
#define GCB_STALENESS_MAX UINT16_MAX

/* How many counters stand where: filled anew each step, so that percentiles are exact. */
struct gcb_staleness {
    uint64_t count[GCB_STALENESS_MAX + 1];
    uint64_t total;
};

void gcb_staleness_clear(struct gcb_staleness *s);
void gcb_staleness_add(struct gcb_staleness *s, const uint16_t *age, uint64_t n);

/* The least age that at least `share` (above 0) of all counters do not exceed; 0 without any. */
uint64_t gcb_staleness_at(const struct gcb_staleness *s, double share);
uint64_t gcb_staleness_max(const struct gcb_staleness *s);

#endif
