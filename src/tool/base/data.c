#include "src/tool/base/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tool/gcb_build.h"

/* Writes the path in the tree `folder`, where nothing may exist. Returns false if the tree is
 * unknown or the path too long. */
static bool write_path(char out[GCB_DATA_PATH], const char *folder, const char *name)
{
    char place[GCB_DATA_PATH] = "";
    ssize_t length;

    if (folder[0] != '/') { /* relative to the folder of the executable */
        length = readlink("/proc/self/exe", place, sizeof(place) - 1);
        if (length <= 0)
            return false;
        place[length] = '\0';
        strrchr(place, '/')[1] = '\0';
    }
    return snprintf(out, GCB_DATA_PATH, "%s%s/%s", place, folder, name) < GCB_DATA_PATH;
}

bool gcb_data_find(char out[GCB_DATA_PATH], const char *name)
{
    const bool found = (write_path(out, GCB_BUILD_DATA, name) && access(out, R_OK) == 0) ||
                       (write_path(out, GCB_BUILD_SOURCE, name) && access(out, R_OK) == 0);
    char *real = found ? realpath(out, NULL) : NULL; /* without the ".." of a relative folder */

    if (real && strlen(real) < GCB_DATA_PATH)
        memcpy(out, real, strlen(real) + 1);
    free(real);
    return found;
}
