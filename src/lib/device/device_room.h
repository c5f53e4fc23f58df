#ifndef SRC_LIB_DEVICE_DEVICE_ROOM_H
#define SRC_LIB_DEVICE_DEVICE_ROOM_H

#include "src/lib/device/batch.h"

/* Device memory that grows; starts zeroed. */
struct gcb_device_area {
    void *dev;
    uint64_t bytes;
};

/*
 * What one message at a time takes on a device, kept from one to the next: memory for its tensor and its payload, and a
 * batch of one, whose scratch suffices. Starts zeroed but for the device, which is borrowed.
 */
struct gcb_device_room {
    const struct gcb_device *device;
    struct gcb_device_batch *batch;
    struct gcb_device_area tensor, payload;
};

/* In bytes. */
struct gcb_device_needs {
    uint64_t tensor, payload, scratch;
};

/* Room for so much at least. What has to grow loses what it held; where there is no memory for that, all do, and are as
 * small as they can be. GCB_E_NOMEM, GCB_E_DEVICE. */
int gcb_device_room_take(struct gcb_device_room *r, const struct gcb_device_needs *needs,
                         struct gcb_diag *diag);
/* Gives all back; it can be taken again. Waits for what was queued. */
void gcb_device_room_fini(struct gcb_device_room *r);

#endif
