#ifndef SRC_TOOL_BASE_CLOCK_H
#define SRC_TOOL_BASE_CLOCK_H

/* Seconds of a clock that never goes back, from an arbitrary start. */
double gcb_clock(void);

#endif
