#ifndef SRC_TOOL_MEASURE_DEVICE_COPY_H
#define SRC_TOOL_MEASURE_DEVICE_COPY_H

#include "src/lib/device/load.h"

/* The bandwidth of copies within a device. */
struct gcb_device_copying {
    double gbps;        /* bytes read plus bytes written, in GB/s: the median of ten copies */
    uint64_t bytes;     /* size of a copy: eight times the L2 cache, or 16 MiB if that is more */
    unsigned clock_mhz; /* clock of its multiprocessors after the last copy; 0: not known */
};

/* Copies between two buffers larger than the device's caches, timed by the device's events. GCB_E_NOMEM,
 * GCB_E_DEVICE. */
int gcb_device_copy_measure(struct gcb_device_copying *out, const struct gcb_device *device,
                            struct gcb_diag *diag);

#endif
