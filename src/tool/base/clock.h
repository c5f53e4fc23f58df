#ifndef SRC_TOOL_BASE_CLOCK_H
#define SRC_TOOL_BASE_CLOCK_H

/* Returns the seconds since an arbitrary start, by a clock that never goes back. */
double gcb_clock(void);

/* Waits for at least `seconds`, unless a signal ends the wait earlier. */
void gcb_clock_wait(double seconds);

#endif
