#include "cli/base/interrupt.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/tidy.h"

static volatile sig_atomic_t seen; /* global, because a signal handler gets no argument */

/* Tidies up, then ends the process by the same signal, which is blocked while its handler runs. */
static void end_process(int number)
{
    gcb_tidy_all();
    signal(number, SIG_DFL);
    raise(number);
}

static void note_signal(int number)
{
    seen = 1;
    gcb_tidy_signal(SIGTERM); /* ends child processes: nobody waits for them any more */
    signal(number, end_process);
}

/* Sets a handler, unless the signal was ignored from the start: under nohup, or in the background of a script. */
static void set_handler(int number, void (*handler)(int))
{
    struct sigaction action, before;

    if (sigaction(number, NULL, &before) != 0 || before.sa_handler == SIG_IGN)
        return;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, NULL);
}

void interrupt_tidy(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGABRT};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        set_handler(numbers[i], end_process);
    signal(SIGXFSZ, SIG_IGN);
    atexit(gcb_tidy_all);
}

void interrupt_catch(void)
{
    set_handler(SIGINT, note_signal);
    set_handler(SIGTERM, note_signal);
    set_handler(SIGHUP, note_signal);
}

bool interrupt_seen(void)
{
    return seen;
}

bool interrupt_stop(void *ctx)
{
    return seen;
}
