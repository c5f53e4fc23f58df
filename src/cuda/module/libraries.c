#include "src/cuda/module/libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The versions of cuFFT that CUDA 13 and 12 bring. */
static const char *const names[] = {"libcufft.so.12", "libcufft.so.11"};

void gcb_cuda_fft_library(char *out, size_t size)
{
    int (*get_version)(int *version);
    void *library = NULL, *symbol;
    int version = 0;

    out[0] = '\0';
    for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
        library = dlopen(names[i],
                         RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE); /* it keeps memory of its own */
    if (!library)
        return;
    symbol = dlsym(library, "cufftGetVersion");
    if (symbol) {
        memcpy(&get_version, &symbol, sizeof(get_version));
        if (get_version(&version) == 0)
            snprintf(out, size, "cuFFT %d.%d.%d", version / 1000, version / 100 % 10,
                     version % 100);
    }
    dlclose(library);
}
