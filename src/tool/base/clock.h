#ifndef SRC_TOOL_BASE_CLOCK_H
#define SRC_TOOL_BASE_CLOCK_H

/* Returns the seconds since an arbitrary start, by a clock that never goes back. */
double gcb_clock(void);

/* Seconds that measurements leave out, and their sum so far. So an operation that another process
 * carries out takes as long as that process says. */
void gcb_clock_leave_out(double seconds);
double gcb_clock_left_out(void);

/* Waits for at least `seconds`, unless a signal ends the wait earlier. */
void gcb_clock_wait(double seconds);

#endif
