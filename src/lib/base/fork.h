#ifndef SRC_LIB_BASE_FORK_H
#define SRC_LIB_BASE_FORK_H

/*
 * Sections make fork safe. A child process has only the thread that called fork. If another thread
 * held a lock, the lock stays locked in the child, and the data that it protects may be half
 * changed. So code that holds a global lock, or calls a library with global locks, is a section: it
 * is between gcb_fork_hold and gcb_fork_release. A fork waits until no thread is in a section, and
 * no thread enters a section during a fork. The lock of src/lib/base/queue.c needs no section: it
 * has fork handlers of its own.
 *
 * In a section a thread must not call gcb_fork_hold again, and must not fork.
 */
void gcb_fork_hold(void);
void gcb_fork_release(void);

/* Registers the fork handlers. Called when gcbench's library is loaded. Must be called again after
 * another library with fork handlers of its own was loaded, so that a fork waits for the sections
 * before that library's handlers run. */
void gcb_fork_watch(void);

#endif
