#ifndef SRC_TOOL_BASE_TIDY_H
#define SRC_TOOL_BASE_TIDY_H

#include <signal.h>
#include <sys/types.h>

/*
 * A list of the temporary files, folders and child processes that must not be left behind if a
 * signal ends this process. Enter each of them in the list as soon as it exists, and take it off
 * the list (leave) once it is removed. The list has room for 32 paths and 32 children; a signal
 * leaves any others behind.
 */

/* Adds a path to the list. The string must stay valid until gcb_tidy_leave. Returns the path's
 * place in the list, or -1 if the list is full. */
int gcb_tidy_enter(const char *path);

/* Takes a path off the list. `place` may be -1. */
void gcb_tidy_leave(int place);

/*
 * gcb_tidy_hold blocks all signals of the calling thread and stores the old mask in *before;
 * gcb_tidy_let_go restores the mask. Call gcb_tidy_hold before starting a child, and
 * gcb_tidy_let_go after entering the child in the list. Otherwise a signal in between could end
 * this process and leave the child running. The child inherits the blocked signals, unless it gets
 * another mask.
 */
void gcb_tidy_hold(sigset_t *before);
void gcb_tidy_let_go(const sigset_t *before);

/* Adds a process to the list, or a process group as -id. Returns its place, or -1 if the list is
 * full. Call gcb_tidy_leave_child with the place, which may be -1, as soon as the child has been
 * waited for: another process may get the same id. */
int gcb_tidy_enter_child(pid_t child);
void gcb_tidy_leave_child(int place);

/* Sends a signal to all children in the list, and to all children that are entered later (after
 * several calls, they get the last signal). Async-signal-safe. */
void gcb_tidy_signal(int number);

/* Kills the children, removes the files, then removes the empty folders. Async-signal-safe. */
void gcb_tidy_all(void);

#endif
