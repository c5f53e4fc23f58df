/* Linked into a copy of the command that gets SIGINT, as from Ctrl-C, when it reads the clock for the time of number
 * GCBENCH_INTERRUPT_AT. The linker sends the calls here (--wrap). */
#include <signal.h>
#include <stdlib.h>

#include "src/tool/base/clock.h"

double __real_gcb_clock(void);
double __wrap_gcb_clock(void);

double __wrap_gcb_clock(void)
{
    static unsigned long calls;
    const char *at = getenv("GCBENCH_INTERRUPT_AT");

    if (at && ++calls == strtoul(at, NULL, 10))
        raise(SIGINT);
    return __real_gcb_clock();
}
