#ifndef SRC_TOOL_BASE_TEMP_H
#define SRC_TOOL_BASE_TEMP_H

#include <stdio.h>

/*
 * Temporary files and folders. Their names tell which process made them: ".gcbench-HOST-PID-...".
 * HOST is a hash of the machine's boot id and the pid namespace. So a later process can remove the
 * files of processes that have ended, and leaves the files of other machines and containers alone.
 * Files from before a restart of the machine stay, too, because the boot id has changed.
 */
#define GCB_TEMP_PREFIX 40 /* size of ".gcbench-HOST-PID-", with its terminator */

/* Writes ".gcbench-HOST-PID-" for this process. Returns out. */
char *gcb_temp_prefix(char out[GCB_TEMP_PREFIX]);

/*
 * Removes the temporary files and folders of this user in `folder` ("" means ".") whose process has
 * ended. Follows no link. A temporary folder that contains a folder loses only its files. Failures
 * are not reported.
 */
void gcb_temp_sweep(const char *folder);

/* Calls gcb_temp_sweep for `parent`, then makes a temporary folder in it. Returns the folder's
 * path, which the caller frees with gcb_free. On failure returns NULL and sets errno. */
char *gcb_temp_make_folder(const char *parent);

/* Opens an empty file in memory, for reading and writing. The file has no name and is closed on
 * exec. The caller closes the file. On failure returns NULL and sets errno. */
FILE *gcb_temp_file(void);

#endif
