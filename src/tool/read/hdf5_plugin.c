/* The filters of HDF5 plug-ins, which the user allows with --hdf5-plugins. */
#include <H5PLextern.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/read/hdf5.h"

enum { MOST = 64 }; /* most filters that are loaded */

/* The filters that were loaded into this process. */
static H5Z_class2_t filters[MOST];
static size_t count;

const H5Z_class2_t *gcb_h5plugin_find(H5Z_filter_t id)
{
    for (size_t i = 0; i < count; i++)
        if (filters[i].id == id)
            return &filters[i];
    return NULL;
}

/* Loads a file, which runs the file's code, and registers its filter. Registers nothing if the file
 * is no plug-in of HDF5, if a filter with this number is known, or if there are MOST filters. The
 * file stays loaded in any case. */
static void load(const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const void *(*info)(void) = NULL;
    const H5Z_class2_t *filter;

    if (object)
        *(void **)&info = dlsym(object, "H5PLget_plugin_info");
    filter = info ? info() : NULL;
    if (filter && filter->version == H5Z_CLASS_T_VERS && filter->filter && count < MOST &&
        !gcb_h5plugin_find(filter->id) && filter->id != GCB_H5_LZF && H5Zregister(filter) >= 0)
        filters[count++] = *filter;
}

void gcb_h5plugin_load(const struct gcb_infile *file)
{
    const char *folder = file->limits.hdf5_plugins;
    struct dirent **entries = NULL;
    char path[GCB_READ_PATH];
    const int n = folder ? scandir(folder, &entries, NULL, alphasort) : 0;

    for (int i = 0; i < n; i++) {
        const int length = snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);

        if (strstr(entries[i]->d_name, ".so") && (size_t)length < sizeof(path)) {
            gcb_infile_trace(file, path);
            load(path);
        }
        free(entries[i]);
    }
    free(entries);
}

uint64_t gcb_h5plugin_unpacked(const struct gcb_h5dataset *d, const void *stored, uint64_t n)
{
    void *bytes = H5allocate_memory(n, false);
    size_t size = n;

    if (!bytes)
        return 0;
    memcpy(bytes, stored, n);
    n = d->plugin->filter(H5Z_FLAG_REVERSE, d->value_count, d->values, n, &size, &bytes);
    H5free_memory(bytes);
    return n;
}
