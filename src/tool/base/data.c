#include "src/tool/base/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tool/gcb_build.h"

/* Writes the path that `name` has in the tree `folder`, whether or not there is such a file.
 * Returns false if the executable's folder is not known or the path is too long. */
static bool write_path(char out[GCB_DATA_PATH], const char *folder, const char *name)
{
    char start[GCB_DATA_PATH] = ""; /* the executable's folder, if `folder` is relative */
    ssize_t length;

    if (folder[0] != '/') {
        length = readlink("/proc/self/exe", start, sizeof(start) - 1);
        if (length <= 0)
            return false;
        start[length] = '\0';
        strrchr(start, '/')[1] = '\0';
    }
    return snprintf(out, GCB_DATA_PATH, "%s%s/%s", start, folder, name) < GCB_DATA_PATH;
}

bool gcb_data_find(char out[GCB_DATA_PATH], const char *name)
{
    const bool found = (write_path(out, GCB_BUILD_DATA, name) && access(out, R_OK) == 0) ||
                       (write_path(out, GCB_BUILD_SOURCE, name) && access(out, R_OK) == 0);
    char *real = found ? realpath(out, NULL) : NULL; /* resolves the ".." of a relative folder */

    if (real && strlen(real) < GCB_DATA_PATH)
        memcpy(out, real, strlen(real) + 1);
    free(real);
    return found;
}
