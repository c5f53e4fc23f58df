#include "cli/base/interrupt.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/tidy.h"

/* A signal handler can reach nothing else. */
static volatile sig_atomic_t seen;

/* Ends the process as the signal would have, which is blocked until here. */
static void end(int number)
{
    gcb_tidy_all();
    signal(number, SIG_DFL);
    raise(number);
}

static void note(int number)
{
    seen = 1;
    gcb_tidy_signal(SIGTERM); /* nobody waits for them any more */
    signal(number, end);
}

/* A signal that was ignored from the start stays so: nohup, and what a script runs in the background. */
static void handle(int number, void (*handler)(int))
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
        handle(numbers[i], end);
    signal(SIGXFSZ, SIG_IGN);
    atexit(gcb_tidy_all);
}

void interrupt_catch(void)
{
    handle(SIGINT, note);
    handle(SIGTERM, note);
}

bool interrupt_seen(void)
{
    return seen;
}
