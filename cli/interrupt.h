#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

/*
 * Ctrl-C and termination end a long command between two pieces of work, so that what was measured is
 * shown and what is half-written is removed. Once caught, a second signal ends the process at once.
 */
void interrupt_catch(void);
bool interrupt_seen(void);

#endif
