#ifndef SRC_TOOL_MEASURE_BANDWIDTH_H
#define SRC_TOOL_MEASURE_BANDWIDTH_H

#include "src/lib/base/queue.h"
#include "src/lib/device/load.h"
#include "src/tool/rows/environment.h"

/* Returns the bytes of a buffer that no cache holds: four times the last-level cache, at least 256
 * MiB. */
uint64_t gcb_bandwidth_default_bytes(void);

/*
 * Measures how fast the queue's threads read, fill and copy a newly allocated buffer of `bytes`
 * bytes, rounded down to a multiple of 2 MiB, but at least 2 MiB (0: the default size). If the
 * buffer fits in the caches, the result is the caches' bandwidth. Each of the three measurements
 * takes at most about 0.1 s, unless six passes over the buffer take longer. Returns 0 or
 * GCB_E_NOMEM.
 */
int gcb_bandwidth_measure(struct gcb_bandwidth *out, const struct gcb_queue *queue, uint64_t bytes,
                          struct gcb_diag *diag);

/* The bandwidth of copies within a device. */
struct gcb_device_copying {
    double gbps;        /* bytes read plus bytes written, in GB/s: the median of ten copies */
    uint64_t bytes;     /* bytes of one copy: eight times the L2 cache, at least 16 MiB */
    unsigned clock_mhz; /* clock of the multiprocessors after the last copy; 0: not known */
};

/* Measures copies between two buffers larger than the device's caches. The device's events give the
 * times. Returns 0, GCB_E_NOMEM or GCB_E_DEVICE. */
int gcb_device_copy_measure(struct gcb_device_copying *out, const struct gcb_device *device,
                            struct gcb_diag *diag);

#endif
