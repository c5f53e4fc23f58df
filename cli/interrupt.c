#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>

/* A signal handler can reach nothing else. */
static volatile sig_atomic_t seen;

static void note(int number)
{
    (void)number;
    seen = 1;
}

void interrupt_catch(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = note;
    action.sa_flags = (int)(SA_RESTART | SA_RESETHAND);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool interrupt_seen(void)
{
    return seen;
}
