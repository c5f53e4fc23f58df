#ifndef SRC_TOOL_TRIAL_DEVICE_BENCH_H
#define SRC_TOOL_TRIAL_DEVICE_BENCH_H

#include "src/lib/device/workspace.h"
#include "src/tool/timing/measure.h"

/* What trials on a device keep from one to the next. */
struct gcb_device_bench {
    struct gcb_device_workspace space;
    struct gcb_device_event *from, *to;
    struct gcb_device_buffer flush; /* more than its caches hold; none: they stay warm */
    struct gcb_samples kernel;      /* of the device's clock */
    struct gcb_device_clock *clock; /* NULL: it cannot be read */
};

/* `device` is borrowed. GCB_E_NOMEM, GCB_E_DEVICE. */
int gcb_device_bench_create(struct gcb_device_bench **out, const struct gcb_device *device,
                            const struct gcb_timing *timing, struct gcb_diag *diag);
void gcb_device_bench_destroy(struct gcb_device_bench *d); /* NULL is fine */

#endif
