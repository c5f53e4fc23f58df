#ifndef SRC_TOOL_BASE_DATA_H
#define SRC_TOOL_BASE_DATA_H

#include <stdbool.h>

#define GCB_DATA_PATH 4096 /* size of a path, with its terminator */

/*
 * Finds a file or folder that comes with gcbench: in the installed tree share/gcbench, or else in
 * the source tree. The installed tree may be moved, because it is found from the executable's
 * folder, unless the build set an absolute data folder. `name` is the path in either tree, such as
 * "datasets/sample.h5". Returns false if neither tree has the file; `out` is then the last path
 * tried.
 */
bool gcb_data_find(char out[GCB_DATA_PATH], const char *name);

#endif
