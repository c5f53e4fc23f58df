#ifndef SRC_TOOL_BASE_TEMP_H
#define SRC_TOOL_BASE_TEMP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Temporary files and folders. Their names say which process made them: ".gcbench-HOST-PID-...", where HOST is a hash of
 * this start of the machine (its boot id) and of the pid namespace. So a later process can remove what a killed one left
 * behind, and never takes a file of a process that it cannot see for one.
 */
#define GCB_TEMP_PREFIX 40

/* Writes the first part of such a name. Returns out. */
char *gcb_temp_prefix(char out[GCB_TEMP_PREFIX]);

/* Removes what processes of this user and host left in `folder` ("" means "."), if they have ended. Follows no link, and
 * enters folders of such a name but not the folders in them. Says nothing about what it cannot remove. */
void gcb_temp_sweep(const char *folder);

/* The first of $TMPDIR, /tmp, /dev/shm and "." that is a folder in which files can be made. */
const char *gcb_temp_folder(void);

/* An empty file in memory, without a name, closed on exec. NULL: errno says why. */
FILE *gcb_temp_file(void);

#endif
