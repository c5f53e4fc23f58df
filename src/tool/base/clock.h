#ifndef SRC_TOOL_BASE_CLOCK_H
#define SRC_TOOL_BASE_CLOCK_H

/* Returns the seconds since an arbitrary start, by a clock that never goes back. */
double gcb_clock(void);

/* gcb_clock_leave_out adds to the sum of the seconds that measurements in this process leave out;
 * gcb_clock_left_out returns the sum. An example is the time to send a request to the process of a
 * plug-in, which itself measures how long its function takes. Not thread-safe. */
void gcb_clock_leave_out(double seconds);
double gcb_clock_left_out(void);

/* Waits for at least `seconds`, unless a signal ends the wait earlier. */
void gcb_clock_wait(double seconds);

#endif
