#ifndef SRC_TOOL_TIMING_DEVICE_COPY_H
#define SRC_TOOL_TIMING_DEVICE_COPY_H

#include "src/lib/device/load.h"

/* How fast a device copies within itself. */
struct gcb_device_copying {
    double gbps;        /* bytes read and bytes written, a second, in GB/s: the median of ten */
    uint64_t bytes;     /* of one copy: eight times the L2 cache, or 16 MiB if that is more */
    unsigned clock_mhz; /* of its multiprocessors as the last copy ended; 0: not known */
};

/* Between two buffers that its caches do not hold, by its own events. GCB_E_NOMEM, GCB_E_DEVICE. */
int gcb_device_copy_measure(struct gcb_device_copying *out, const struct gcb_device *device,
                            struct gcb_diag *diag);

#endif
