#include "src/cuda/load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

#define MODULE "libgcbench-cuda.so"

/* Entry point of the module: 0, or GCB_E_BACKEND and a reason (no driver, no such device). */
typedef int gcb_cuda_probe_fn(unsigned index, struct gcb_diag *diag);

/* The module beside the library that this code is part of; NULL if there is none. */
static void *open_beside(void)
{
    char path[4096];
    const char *slash;
    Dl_info info;

    if (!dladdr((const void *)MODULE, &info) || !info.dli_fname)
        return NULL;
    slash = strrchr(info.dli_fname, '/');
    if (!slash || snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - info.dli_fname),
                           info.dli_fname, MODULE) >= (int)sizeof(path))
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int probe(void *module, unsigned index, struct gcb_diag *diag)
{
    void *symbol = dlsym(module, "gcb_cuda_probe");
    gcb_cuda_probe_fn *fn;

    if (!symbol)
        return gcb_diag_set(diag, GCB_E_BACKEND, "device cuda: %s is not one of this version",
                            MODULE);
    memcpy(&fn, &symbol, sizeof(fn)); /* ISO C has no conversion from data to function pointers */
    return fn(index, diag);
}

int gcb_cuda_check(unsigned index, struct gcb_diag *diag)
{
    void *module = open_beside();
    int err;

    if (!module)
        module = dlopen(MODULE, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        return gcb_diag_set(diag, GCB_E_BACKEND, "device cuda: no CUDA module (%s was not found)",
                            MODULE);
    err = probe(module, index, diag);
    dlclose(module);
    return err;
}
