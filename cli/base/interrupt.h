#ifndef CLI_BASE_INTERRUPT_H
#define CLI_BASE_INTERRUPT_H

#include <stdbool.h>

/*
 * From here on, no half-written file and no child process is left when the process ends, whether a signal ends it or a
 * library exits (libgomp without threads, FFTW without memory). A write beyond the limit on file sizes becomes
 * an error, as on a full disk.
 */
void interrupt_tidy(void);

/*
 * From here on, Ctrl-C, SIGTERM and SIGHUP end a long command between two pieces of work: it can still show what was measured
 * and remove what is half-written. Programs that it started are told to end at once. A second signal ends the process
 * at once.
 */
void interrupt_catch(void);
bool interrupt_seen(void); /* Has a caught signal arrived? */
/* interrupt_seen as a callback for observers; `ctx` is not used. */
bool interrupt_stop(void *ctx);

#endif
