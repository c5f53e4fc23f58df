#ifndef SRC_TOOL_BASE_TIDY_H
#define SRC_TOOL_BASE_TIDY_H

#include <signal.h>
#include <sys/types.h>

/*
 * A list of the temporary files, folders and child processes that must not be left behind if a signal ends this process.
 * Add each one to the list as soon as it exists (enter), and take it off the list once it is removed (leave). The list
 * has room for 32 paths and 32 children; a signal leaves any others behind.
 */

/* Adds a path to the list. The string must stay valid until gcb_tidy_leave. Returns the path's place in the list, or -1 if
 * the list is full. */
int gcb_tidy_enter(const char *path);

/* Takes a path off the list. `place` may be -1. */
void gcb_tidy_leave(int place);

/*
 * If a signal ended this process after the start of a child and before its entry, the child would go on running. So block
 * all signals before starting a child, and restore the mask, which is kept in *before, after its entry. The child inherits
 * the blocked signals, unless it gets another mask.
 */
void gcb_tidy_hold(sigset_t *before);
void gcb_tidy_let_go(const sigset_t *before);

/* Adds a process to the list, or a process group as -id. Take it off the list as soon as it has been waited for. */
int gcb_tidy_enter_child(pid_t child);
void gcb_tidy_leave_child(int place);

/* Sends a signal to all children in the list, and to those that are entered later. Async-signal-safe. */
void gcb_tidy_signal(int number);

/* Kills the children, and removes the files, then the folders, which must be empty by then. Async-signal-safe. */
void gcb_tidy_all(void);

#endif
