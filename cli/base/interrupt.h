#ifndef CLI_BASE_INTERRUPT_H
#define CLI_BASE_INTERRUPT_H

#include <stdbool.h>

/*
 * From here on, however the process ends, no half-written file and no child stays behind: signals that end it, and
 * libraries that do (libgomp without threads, FFTW without memory). A write beyond the limit on file
 * sizes becomes an error like that of a full disk.
 */
void interrupt_tidy(void);

/*
 * Ctrl-C and termination end a long command between two pieces of work, so that what was measured is
 * shown and what is half-written is removed; programs that it started are asked to end at once. Once caught, a
 * second signal ends the process at once.
 */
void interrupt_catch(void);
bool interrupt_seen(void);

#endif
