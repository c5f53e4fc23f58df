#ifndef SRC_TOOL_BASE_CLOCK_H
#define SRC_TOOL_BASE_CLOCK_H

/* Seconds since an arbitrary start, by a clock that never goes back. */
double gcb_clock(void);

#endif
