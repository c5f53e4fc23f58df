#include "src/lib/device/module/clock.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "src/lib/base/alloc.h"

#define LIBRARY "libnvidia-ml.so.1"
#define CLOCK_SM 1 /* NVML_CLOCK_SM */

/* NVML's functions return 0 where all is well. */
struct gcb_device_clock {
    void *library, *device;
    int (*shutdown)(void);
    int (*get)(void *device, int type, unsigned *mhz);
};

static void *symbol(void *library, const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

/* ISO C has no conversion from data to function pointers. */
static int is_function(void *function, void *from)
{
    memcpy(function, &from, sizeof(from));
    return from != NULL;
}

static int find_device(struct gcb_device_clock *c, const char *bus_id)
{
    int (*init)(void), (*by_bus)(const char *bus, void **device);

    if (!is_function(&init, symbol(c->library, "nvmlInit_v2")) ||
        !is_function(&by_bus, symbol(c->library, "nvmlDeviceGetHandleByPciBusId_v2")) ||
        !is_function(&c->get, symbol(c->library, "nvmlDeviceGetClockInfo")) || init() != 0)
        return 0;
    is_function(&c->shutdown, symbol(c->library, "nvmlShutdown"));
    return by_bus(bus_id, &c->device) == 0 && gcb_cuda_clock_mhz(c) > 0;
}

struct gcb_device_clock *gcb_cuda_clock_open(const char *bus_id)
{
    struct gcb_device_clock *c = gcb_alloc_zero(1, sizeof(*c));

    if (!c)
        return NULL;
    c->library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
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
