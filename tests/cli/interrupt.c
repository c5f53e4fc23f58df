/* Linked into a copy of the command that gets SIGINT, as from Ctrl-C, when it has read the clock
 * GCBENCH_INTERRUPT_AT_READING times, or when it begins run GCBENCH_INTERRUPT_AT_RUN. How often a
 * command reads the clock can depend on speed; how many runs it makes cannot. The linker sends the
 * calls here (--wrap). */
#include <signal.h>
#include <stdlib.h>

#include "src/tool/base/clock.h"
#include "src/tool/run/run.h"

double __real_gcb_clock(void);
double __wrap_gcb_clock(void);
int __real_gcb_run(struct gcb_run_result *out, const struct gcb_run_config *config,
                   const struct gcb_run_observer *observer, struct gcb_diag *diag);
int __wrap_gcb_run(struct gcb_run_result *out, const struct gcb_run_config *config,
                   const struct gcb_run_observer *observer, struct gcb_diag *diag);

static void count(unsigned long *calls, const char *variable)
{
    const char *at = getenv(variable);

    if (at && ++*calls == strtoul(at, NULL, 10))
        raise(SIGINT);
}

double __wrap_gcb_clock(void)
{
    static unsigned long calls;

    count(&calls, "GCBENCH_INTERRUPT_AT_READING");
    return __real_gcb_clock();
}

int __wrap_gcb_run(struct gcb_run_result *out, const struct gcb_run_config *config,
                   const struct gcb_run_observer *observer, struct gcb_diag *diag)
{
    static unsigned long calls;

    count(&calls, "GCBENCH_INTERRUPT_AT_RUN");
    return __real_gcb_run(out, config, observer, diag);
}
