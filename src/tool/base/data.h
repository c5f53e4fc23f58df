#ifndef SRC_TOOL_BASE_DATA_H
#define SRC_TOOL_BASE_DATA_H

#include <stdbool.h>
#include <stddef.h>

#define GCB_DATA_PATH 4096

/*
 * Finds a file or folder that comes with gcbench. `name` is its path in the source tree, such as
 * "datasets/sample.h5"; it is installed under the same path in share/gcbench. The installed tree
 * may be moved, because it is found from the executable's folder.
 */

/* Writes the path in the first tree that has the file. Returns false if neither has it; out is then
 * the last path tried.
 */
bool gcb_data_find(char out[GCB_DATA_PATH], const char *name);

#endif
