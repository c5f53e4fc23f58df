#include "src/lib/device/module/libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The versions of cuFFT that CUDA 13 and 12 bring. */
static const char *const names[] = {"libcufft.so.12", "libcufft.so.11"};

void *gcb_cuda_fft_open(void)
{
    void *library = NULL;

    for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
        library = dlopen(names[i],
                         RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE); /* it keeps memory of its own */
    return library;
}

void gcb_cuda_fft_close(void *library)
{
    if (library)
        dlclose(library);
}

bool gcb_cuda_fft_symbol(void *function, void *library, const char *name)
{
    void *symbol = dlsym(library, name);

    memcpy(function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

void gcb_cuda_fft_library(char *out, size_t size)
{
    int (*get_version)(int *version);
    void *library = gcb_cuda_fft_open();
    int version = 0;

    out[0] = '\0';
    if (!library)
        return;
    if (gcb_cuda_fft_symbol(&get_version, library, "cufftGetVersion") && get_version(&version) == 0)
        snprintf(out, size, "cuFFT %d.%d.%d", version / 1000, version / 100 % 10, version % 100);
    gcb_cuda_fft_close(library);
}
