#ifndef SRC_TOOL_MEASURE_BANDWIDTH_H
#define SRC_TOOL_MEASURE_BANDWIDTH_H

#include "src/lib/base/queue.h"
#include "src/lib/device/load.h"
#include "src/tool/rows/environment.h"

/* A buffer larger than the caches: 256 MiB, or four times the last-level cache if that is more. */
uint64_t gcb_bandwidth_default_bytes(void);

/*
 * Measures the bandwidth of a newly allocated buffer of `bytes` (0: the default; at least 2 MiB)
 * with the queue's threads. It takes about 0.4 s, or as long as five passes. If the buffer fits in
 * the caches, the result is the caches' bandwidth. GCB_E_NOMEM.
 */
int gcb_bandwidth_measure(struct gcb_bandwidth *out, const struct gcb_queue *queue, uint64_t bytes,
                          struct gcb_diag *diag);

/* The bandwidth of copies within a device. */
struct gcb_device_copying {
    double gbps;        /* bytes read plus bytes written, in GB/s: the median of ten copies */
    uint64_t bytes;     /* size of a copy: eight times the L2 cache, or 16 MiB if that is more */
    unsigned clock_mhz; /* clock of its multiprocessors after the last copy; 0: not known */
};

/* Copies between two buffers larger than the device's caches, timed by the device's events.
 * GCB_E_NOMEM, GCB_E_DEVICE. */
int gcb_device_copy_measure(struct gcb_device_copying *out, const struct gcb_device *device,
                            struct gcb_diag *diag);

#endif
