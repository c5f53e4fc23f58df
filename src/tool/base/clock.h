#ifndef SRC_TOOL_BASE_CLOCK_H
#define SRC_TOOL_BASE_CLOCK_H

/* Returns the seconds since an arbitrary start, by a clock that never goes back. */
double gcb_clock(void);

/* Waits, at least for `seconds` unless a signal ends the wait. */
void gcb_clock_wait(double seconds);

#endif
