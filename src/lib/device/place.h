#ifndef SRC_LIB_DEVICE_PLACE_H
#define SRC_LIB_DEVICE_PLACE_H

#include "src/lib/device/batch.h"

/* Device memory that can grow. The caller zeroes the struct first. */
struct gcb_device_buffer {
    void *dev;
    uint64_t bytes;
};

/*
 * A place where coders work: a device, a stream on the device, and memory for the tensors, payloads
 * and scratch of one batch of messages. The memory is kept from batch to batch. The caller zeroes
 * the struct first and sets the device, which is borrowed.
 */
struct gcb_place {
    const struct gcb_device *device;
    /* If true, the caller's output array is uploaded before a message is decoded, so that its old
     * values show where the decoder fails to write. */
    bool prefill;
    struct gcb_device_batch *batch;
    unsigned messages; /* most messages that `batch` can hold */
    struct gcb_device_buffer tensor, payload;
};

/* The least sizes of a place's parts that the caller needs. */
struct gcb_place_size {
    uint64_t tensor, payload, scratch; /* bytes */
    unsigned messages;                 /* most messages of a batch; 0 means 1 */
};

/*
 * Makes every part at least as large as `size` says. A part that grows loses its content. If
 * `messages` grows, a new batch with a new stream replaces `batch`. If memory does not suffice,
 * tensor, payload and scratch are freed and allocated again at exactly this size. The calling
 * thread must use the device. Returns 0, GCB_E_NOMEM or GCB_E_DEVICE; after an error parts may be
 * missing.
 */
int gcb_place_reserve(struct gcb_place *p, const struct gcb_place_size *size,
                      struct gcb_diag *diag);
/* Waits for queued work and frees all memory. The place can be used again. */
void gcb_place_fini(struct gcb_place *p);

#endif
