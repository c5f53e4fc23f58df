#ifndef SRC_TOOL_BASE_CLOCK_H
#define SRC_TOOL_BASE_CLOCK_H

/* Returns the seconds since an arbitrary start, by a clock that never goes back. */
double gcb_clock(void);

/* The seconds that measurements of this process leave out: gcb_clock_leave_out adds to their sum,
 * and gcb_clock_left_out returns it. The process of a plug-in measures itself how long its function
 * takes; the time of the transfer is left out. Not thread-safe. */
void gcb_clock_leave_out(double seconds);
double gcb_clock_left_out(void);

/* Waits for at least `seconds`, unless a signal ends the wait earlier. */
void gcb_clock_wait(double seconds);

#endif
