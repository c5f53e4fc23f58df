#include "src/lib/device/load.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/fork.h"
#include "src/lib/base/text.h"
#include "src/lib/device/core.h"

#define MODULE "libgcbench-cuda.so"

/* Writes the path of the executable or library that contains this code. Returns false if the path
 * is unknown or too long. */
static bool find_own_path(char *path, size_t size)
{
    struct link_map *map = NULL;
    Dl_info info;
    ssize_t length;

    if (!dladdr1((const void *)MODULE, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return false;
    if (map->l_name[0])
        return snprintf(path, size, "%s", map->l_name) < (int)size;
    length = readlink("/proc/self/exe", path, size); /* the loader has no name for the executable */
    if (length <= 0 || (size_t)length == size)
        return false;
    path[length] = '\0';
    return true;
}

/* Writes the path of the module in the folder of the executable or library that contains this code.
 * Returns false if the module is not there, or the folder is unknown. */
static bool find_beside(char *path, size_t size)
{
    char *slash;
    size_t left;

    if (!find_own_path(path, size))
        return false;
    slash = strrchr(path, '/');
    if (!slash)
        return false;
    left = size - (size_t)(slash + 1 - path);
    return snprintf(slash + 1, left, "%s", MODULE) < (int)left && access(path, F_OK) == 0;
}

/* Opens the module. Returns NULL and sets diag if it is not found or cannot be opened. */
static void *open_module(struct gcb_diag *diag)
{
    char path[4096], shown[240];
    const char *why;
    void *module;

    gcb_fork_hold();
    module = dlopen(find_beside(path, sizeof(path)) ? path : MODULE, RTLD_NOW | RTLD_LOCAL);
    gcb_fork_release();
    if (module)
        return module;
    why = dlerror();
    if (!why || strstr(why, MODULE ": cannot open"))
        gcb_diag_set(diag, GCB_E_BACKEND,
                     "device cuda: no CUDA module (%s was not found; build gcbench with "
                     "`./dev build` on a machine with nvcc to get it)",
                     MODULE);
    else
        gcb_diag_set(diag, GCB_E_BACKEND, "device cuda: %s", gcb_escape(shown, sizeof(shown), why));
    return NULL;
}

/* Returns `module`. If `module` is NULL or has another version, sets diag and returns NULL. */
static const struct gcb_device_module *check_version(const struct gcb_device_module *module,
                                                     struct gcb_diag *diag)
{
    if (module && module->version == GCB_DEVICE_MODULE_VERSION && module->size == sizeof(*module))
        return module;
    gcb_diag_set(diag, GCB_E_BACKEND,
                 "device cuda: %s was built for another version of gcbench; build both together",
                 MODULE);
    return NULL;
}

static const struct gcb_device_module *find_module(struct gcb_diag *diag)
{
    void *module = open_module(diag), *symbol;
    gcb_device_module_fn *get;

    if (!module)
        return NULL;
    symbol = dlsym(module, GCB_DEVICE_MODULE_SYMBOL);
    if (!symbol)
        return check_version(NULL, diag);
    memcpy(&get, &symbol, sizeof(get)); /* ISO C has no conversion from data to function pointers */
    return check_version(get(&gcb_device_core), diag);
}

const struct gcb_device_codec *gcb_device_codecs_here(void)
{
    const struct gcb_device_module *module = find_module(NULL);

    return module ? module->codecs : NULL;
}

int gcb_device_adopt(struct gcb_device *out, const struct gcb_device_module *module, unsigned index,
                     struct gcb_diag *diag)
{
    int err;

    memset(out, 0, sizeof(*out));
    if (!check_version(module, diag))
        return GCB_E_BACKEND;
    err = module->probe(&out->facts, index, diag);
    if (!err && (module->used(&out->before, diag) || module->use(index, diag)))
        err = GCB_E_BACKEND; /* the first use of the device failed, so it counts as missing */
    if (err)
        return err;
    out->module = module;
    out->index = index;
    return 0;
}

int gcb_device_open(struct gcb_device *out, unsigned index, struct gcb_diag *diag)
{
    const struct gcb_device_module *module = find_module(diag);

    memset(out, 0, sizeof(*out));
    return module ? gcb_device_adopt(out, module, index, diag) : GCB_E_BACKEND;
}
