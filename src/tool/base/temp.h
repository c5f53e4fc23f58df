#ifndef SRC_TOOL_BASE_TEMP_H
#define SRC_TOOL_BASE_TEMP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Temporary files and folders. Their names say which process made them: ".gcbench-HOST-PID-...", where HOST is a hash of
 * this start of the machine (its boot id) and of the pid namespace. So a later process can tell which processes have ended,
 * and removes what they left behind. It ignores files of other machines and containers.
 */
#define GCB_TEMP_PREFIX 40

/* Writes the first part of such a name. Returns out. */
char *gcb_temp_prefix(char out[GCB_TEMP_PREFIX]);

/* Removes what processes of this user and host left in `folder` ("" means "."), if they have ended. Follows no link, and
 * enters folders of such a name but not the folders in them. Says nothing about what it cannot remove. */
void gcb_temp_sweep(const char *folder);

/* Makes a folder with such a name in `parent`, and sweeps `parent` first. Returns its path, which the caller frees with
 * gcb_free. NULL: errno says why. */
char *gcb_temp_make_folder(const char *parent);

/* An empty file in memory, without a name, closed on exec. NULL: errno says why. */
FILE *gcb_temp_file(void);

#endif
