#include "src/lib/device/module/libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"

bool gcb_module_symbol(void *function, void *library, const char *name)
{
    void *symbol = library ? dlsym(library, name) : NULL;

    memcpy(function, &symbol, sizeof(symbol)); /* ISO C cannot convert data to function pointers */
    return symbol != NULL;
}

/* ---- cuFFT ---- */

void *gcb_cuda_fft_open(void)
{
    /* cuFFT of CUDA 13, then of CUDA 12 */
    static const char *const names[] = {"libcufft.so.12", "libcufft.so.11"};
    const int flags = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE; /* cuFFT keeps memory after a close */
    void *library = NULL;

    for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
        library = dlopen(names[i], flags);
    return library;
}

void gcb_cuda_fft_close(void *library)
{
    if (library)
        dlclose(library);
}

void gcb_cuda_fft_library(char *out, size_t size)
{
    int (*get_version)(int *version);
    void *library = gcb_cuda_fft_open();
    int version = 0;

    out[0] = '\0';
    if (gcb_module_symbol(&get_version, library, "cufftGetVersion") && get_version(&version) == 0)
        snprintf(out, size, "cuFFT %d.%d.%d", version / 1000, version / 100 % 10, version % 100);
    gcb_cuda_fft_close(library);
}

/* ---- NVML: its functions return 0 if they succeed ---- */

#define CLOCK_SM 1 /* NVML_CLOCK_SM */

struct gcb_device_clock {
    void *library, *device;
    int (*shutdown)(void);
    int (*get)(void *device, int type, unsigned *mhz);
};

static bool find_device(struct gcb_device_clock *c, const char *bus_id)
{
    int (*init)(void), (*by_bus)(const char *bus, void **device);

    if (!gcb_module_symbol(&init, c->library, "nvmlInit_v2") ||
        !gcb_module_symbol(&by_bus, c->library, "nvmlDeviceGetHandleByPciBusId_v2") ||
        !gcb_module_symbol(&c->get, c->library, "nvmlDeviceGetClockInfo") || init() != 0)
        return false;
    gcb_module_symbol(&c->shutdown, c->library, "nvmlShutdown");
    return by_bus(bus_id, &c->device) == 0 && gcb_cuda_clock_mhz(c) > 0;
}

struct gcb_device_clock *gcb_cuda_clock_open(const char *bus_id)
{
    struct gcb_device_clock *c = gcb_alloc_zero(1, sizeof(*c));

    if (!c)
        return NULL;
    c->library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (find_device(c, bus_id))
        return c;
    gcb_cuda_clock_close(c);
    return NULL;
}

unsigned gcb_cuda_clock_mhz(const struct gcb_device_clock *c)
{
    unsigned mhz = 0;

    return c && c->get(c->device, CLOCK_SM, &mhz) == 0 ? mhz : 0;
}

void gcb_cuda_clock_close(struct gcb_device_clock *c)
{
    if (!c)
        return;
    if (c->shutdown)
        c->shutdown();
    if (c->library)
        dlclose(c->library);
    gcb_free(c);
}
