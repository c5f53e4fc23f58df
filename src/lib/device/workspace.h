#ifndef SRC_LIB_DEVICE_WORKSPACE_H
#define SRC_LIB_DEVICE_WORKSPACE_H

#include "src/lib/device/batch.h"

/* Device memory that grows. The caller zeroes the struct first. */
struct gcb_device_buffer {
    void *dev;
    uint64_t bytes;
};

/*
 * Device memory for one batch at a time, kept from batch to batch: for its tensors, its payloads and its scratch. The
 * caller zeroes the struct first and sets the device, which is borrowed.
 */
struct gcb_device_workspace {
    const struct gcb_device *device;
    struct gcb_device_batch *batch;
    unsigned messages; /* the most messages that `batch` can hold */
    struct gcb_device_buffer tensor, payload;
};

struct gcb_device_workspace_size {
    uint64_t tensor, payload, scratch; /* bytes */
    unsigned messages;                 /* the most messages of a batch; 0 means 1 */
};

/*
 * Makes every part at least as large as `size` says. A part that grows loses its content, and `batch` may be replaced
 * by a new batch. If memory does not suffice, all parts are freed and allocated again at exactly this size.
 * GCB_E_NOMEM, GCB_E_DEVICE.
 */
int gcb_device_workspace_reserve(struct gcb_device_workspace *w,
                                 const struct gcb_device_workspace_size *size,
                                 struct gcb_diag *diag);
/* Waits for queued work and frees all memory. The workspace can be used again. */
void gcb_device_workspace_fini(struct gcb_device_workspace *w);

#endif
