#ifndef SRC_TOOL_BASE_TEMP_H
#define SRC_TOOL_BASE_TEMP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Temporary files and folders. Their names tell which process made them: ".gcbench-HOST-PID-...".
 * HOST is a hash of the machine's boot id and the pid namespace. So a later process can find and
 * remove the files of processes that have ended. It ignores files of other machines and containers.
 */
#define GCB_TEMP_PREFIX 40

/* Writes ".gcbench-HOST-PID-" for this process. Returns out. */
char *gcb_temp_prefix(char out[GCB_TEMP_PREFIX]);

/*
 * Removes the temporary files and folders in `folder` ("" means ".") that this user's ended
 * processes left there. Follows no link. A temporary folder that itself contains a folder is only
 * emptied of its files. Failures are not reported.
 */
void gcb_temp_sweep(const char *folder);

/* Sweeps `parent`, then makes a temporary folder in it. Returns the folder's path, which the caller
 * frees with gcb_free. On failure returns NULL and sets errno. */
char *gcb_temp_make_folder(const char *parent);

/* Makes an empty file in memory. It has no name and is closed on exec. On failure returns NULL and
 * sets errno. */
FILE *gcb_temp_file(void);

#endif
