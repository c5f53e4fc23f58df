#ifndef SRC_TOOL_BASE_TIDY_H
#define SRC_TOOL_BASE_TIDY_H

#include <signal.h>
#include <sys/types.h>

/*
 * What a process that is ended by a signal must not leave behind: temporary files and folders, and processes that it
 * started. Each is entered once it exists and left before it is gone; beyond 32 of a kind, one is merely not tidied.
 */

/* `path` stays the caller's and must live until it is left. Returns its place, -1 if none was free. */
int gcb_tidy_enter(const char *path);

/* place may be -1. */
void gcb_tidy_leave(int place);

/*
 * Between the start of a process and its entry no signal may end this one, or nobody would end that one: hold the
 * signals before, with their mask kept in *before, and let go of them behind. They stay held in the process that is
 * started, unless it is given another mask.
 */
void gcb_tidy_hold(sigset_t *before);
void gcb_tidy_let_go(const sigset_t *before);

/* A process, or as -id a whole process group. To be left as soon as it has been waited for. */
int gcb_tidy_enter_child(pid_t child);
void gcb_tidy_leave_child(int place);

/* Sends a signal to every child that is entered, now or later. Async-signal-safe. */
void gcb_tidy_signal(int number);

/* Kills children, removes files, then folders, which have to be empty by then. Async-signal-safe. */
void gcb_tidy_all(void);

#endif
