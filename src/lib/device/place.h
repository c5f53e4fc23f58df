#ifndef SRC_LIB_DEVICE_PLACE_H
#define SRC_LIB_DEVICE_PLACE_H

#include "src/lib/device/batch.h"

/* Device memory that grows. The caller zeroes the struct first. */
struct gcb_device_buffer {
    void *dev;
    uint64_t bytes;
};

/*
 * A place where coders work: a device, a queue on it, and memory for one batch of messages at a
 * time, kept from batch to batch: for tensors, payloads and scratch. The caller zeroes the struct
 * first and sets the device, which is borrowed.
 */
struct gcb_place {
    const struct gcb_device *device;
    /* decoding begins with the tensor's old values, so that those show which it fails to write */
    bool prefill;
    struct gcb_device_batch *batch;
    unsigned messages; /* the most messages that `batch` can hold */
    struct gcb_device_buffer tensor, payload;
};

struct gcb_place_size {
    uint64_t tensor, payload, scratch; /* bytes */
    unsigned messages;                 /* the most messages of a batch; 0 means 1 */
};

/*
 * Makes every part at least as large as `size` says. A part that grows loses its content. A batch
 * for more messages replaces `batch`; otherwise its stream stays. If memory does not suffice, all
 * parts are freed and allocated again at exactly this size. GCB_E_NOMEM, GCB_E_DEVICE.
 */
int gcb_place_reserve(struct gcb_place *p, const struct gcb_place_size *size,
                      struct gcb_diag *diag);
/* Waits for queued work and frees all memory. The place can be used again. */
void gcb_place_fini(struct gcb_place *p);

#endif
