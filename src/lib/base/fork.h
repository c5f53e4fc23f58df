#ifndef SRC_LIB_BASE_FORK_H
#define SRC_LIB_BASE_FORK_H

/*
 * A child process has only the thread that called fork. A lock that another thread held stays
 * locked in the child, and what the lock protects may be half changed. So a fork waits until no
 * thread is in a section, and a thread waits with its section until the fork is over. Locks of the
 * process, and calls of libraries that have such locks, are inside sections. (Only the lock of
 * src/lib/base/queue.c is not.)
 *
 * Between hold and release a thread must not call hold again, and must not fork.
 */
void gcb_fork_hold(void);
void gcb_fork_release(void);

/* Registers the handlers. Call it again after loading a library that has fork handlers of its own:
 * then a fork waits for the sections before it calls those handlers. */
void gcb_fork_watch(void);

#endif
