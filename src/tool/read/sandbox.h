#ifndef SRC_TOOL_READ_SANDBOX_H
#define SRC_TOOL_READ_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Takes away all rights of the calling process that reading an HDF5 file does not need. The child of h5child.c calls
 * it right after the fork. Keeps the descriptor `keep`, whose number it returns, and closes all others. The process
 * then
 *   - ends when its parent, the process `parent`, ends;
 *   - ignores the signals of a terminal, which are the parent's business, and prints nothing;
 *   - writes no file, leaves no core dump and takes at most 2 GiB more address space than at the start;
 *   - can make only the system calls that reading needs, if gcb_h5sandbox_filters returns true: all others fail with
 *     EPERM. Files can be opened for reading until gcb_h5sandbox_close_files.
 *
 * A build with AddressSanitizer, ThreadSanitizer or MemorySanitizer keeps its standard error, and has no limit on
 * files and address space and no rule on system calls: the sanitizers map terabytes, and read /proc and write to
 * report what they find.
 */
int gcb_h5sandbox_enter(int keep, pid_t parent);

/* Forbids opening files. */
void gcb_h5sandbox_close_files(void);

/* Does this build restrict system calls, and does the kernel support it? */
bool gcb_h5sandbox_filters(void);

#endif
