#include "src/tool/base/tidy.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#define PLACES 32 /* most paths, and most children, in the list */

/* These arrays are atomic and static, because a signal handler uses them. */
static _Atomic(const char *) paths[PLACES];
static _Atomic(pid_t) children[PLACES];
/* The last signal of gcb_tidy_signal, or 0. Children that are entered later get it too. */
static atomic_int sent;

int gcb_tidy_enter(const char *path)
{
    for (int i = 0; i < PLACES; i++) {
        const char *none = NULL;

        if (atomic_compare_exchange_strong(&paths[i], &none, path))
            return i;
    }
    return -1;
}

void gcb_tidy_leave(int place)
{
    if (place >= 0)
        atomic_store(&paths[place], NULL);
}

void gcb_tidy_hold(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

void gcb_tidy_let_go(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

int gcb_tidy_enter_child(pid_t child)
{
    for (int i = 0; i < PLACES; i++) {
        pid_t none = 0;

        if (atomic_compare_exchange_strong(&children[i], &none, child)) {
            if (atomic_load(&sent))
                kill(child, atomic_load(&sent));
            return i;
        }
    }
    return -1;
}

void gcb_tidy_leave_child(int place)
{
    if (place >= 0)
        atomic_store(&children[place], 0);
}

void gcb_tidy_signal(int number)
{
    const int before = errno;

    atomic_store(&sent, number);
    for (int i = 0; i < PLACES; i++) {
        const pid_t child = atomic_load(&children[i]);

        if (child)
            kill(child, number);
    }
    errno = before;
}

/* Calls `remove` for each path. unlink fails for a folder, and rmdir for a file; that does no
 * harm. */
static void remove_paths(int (*remove)(const char *path))
{
    for (int i = 0; i < PLACES; i++) {
        const char *path = atomic_load(&paths[i]);

        if (path)
            remove(path);
    }
}

void gcb_tidy_all(void)
{
    gcb_tidy_signal(SIGKILL);
    remove_paths(unlink);
    remove_paths(rmdir);
}
