/*
 * Stand-ins for the libraries that the module opens at run time: cuFFT, and the driver's library
 * that reads the clock. GCB_HOST_CLOCK=missing removes the latter; with GCB_HOST_CLOCK=falling each
 * reading is 10 MHz below the one before.
 */
#include <stdlib.h>
#include <string.h>

#include "dlfcn.h"
#include "libraries.h"

namespace
{

int opened, readings; /* of the clock's library */

bool clock_is(const char *how)
{
    const char *asked = getenv("GCB_HOST_CLOCK");

    return asked && strcmp(asked, how) == 0;
}

int init()
{
    opened++;
    return 0;
}

int shutdown()
{
    return --opened < 0;
}

int handle_of(const char *bus, void **device)
{
    *device = &opened;
    return opened > 0 && strcmp(bus, "0000:3B:00.0") == 0 ? 0 : 6;
}

int clock_of(void *device, int type, unsigned *mhz)
{
    *mhz = 1500 - (clock_is("falling") ? 10 * static_cast<unsigned>(readings++ % 100) : 0);
    return opened > 0 && device == &opened && type == 1 ? 0 : 2;
}

void *clock_symbol(const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"nvmlInit_v2", reinterpret_cast<void *>(init)},
        {"nvmlShutdown", reinterpret_cast<void *>(shutdown)},
        {"nvmlDeviceGetHandleByPciBusId_v2", reinterpret_cast<void *>(handle_of)},
        {"nvmlDeviceGetClockInfo", reinterpret_cast<void *>(clock_of)},
    };

    for (const auto &symbol : symbols)
        if (strcmp(symbol.name, name) == 0)
            return symbol.function;
    return nullptr;
}

} /* namespace */

void *gcb_host_dlopen(const char *name, int flags)
{
    (void)flags;
    if (strcmp(name, "libcufft.so.12") == 0)
        return gcb_host_cufft();
    return strcmp(name, "libnvidia-ml.so.1") == 0 && !clock_is("missing") ? &opened : nullptr;
}

void *gcb_host_dlsym(void *library, const char *name)
{
    if (library == &opened)
        return clock_symbol(name);
    return library ? gcb_host_cufft_symbol(name) : nullptr;
}

int gcb_host_dlclose(void *library)
{
    return library ? 0 : -1;
}
