#ifndef SRC_LIB_DEVICE_BATCH_H
#define SRC_LIB_DEVICE_BATCH_H

#include "src/lib/device/load.h"

/*
 * A batch is what messages that are encoded or decoded together need: a stream, a result for each
 * message, scratch that all calls share, and pinned memory for copies between host and device. Only
 * one host thread at a time may use a batch.
 *
 *     gcb_device_batch_begin(b);
 *     gcb_device_coder_encode_async(...), once for each message
 *     gcb_device_batch_finish(b, diag);              waits for all of them
 *     gcb_device_coder_encode_finish(...), once for each message
 *     gcb_device_batch_wait(b, diag);                only if a message is sent raw
 */
struct gcb_device_batch;

struct gcb_device_batch_config {
    unsigned messages; /* most messages of a batch; 0 means 1 */
    /* Bytes of scratch: gcb_device_group_scratch of the coders or, if messages are not grouped, the
     * largest gcb_device_coder_scratch of a coder. */
    uint64_t scratch;
    uint64_t staging; /* bytes of pinned memory for uploads and downloads; 0: 16 MiB */
};

/* Makes a batch and all of its memory on `device`, which the calling thread must use
 * (gcb_device_open). The caller frees *out with gcb_device_batch_destroy. Returns 0, GCB_E_NOMEM or
 * GCB_E_DEVICE; after an error *out is NULL. */
int gcb_device_batch_create(struct gcb_device_batch **out, const struct gcb_device *device,
                            const struct gcb_device_batch_config *config, struct gcb_diag *diag);
/* Waits for queued work first. Memory that this work uses must not be freed earlier. NULL is
 * fine. */
void gcb_device_batch_destroy(struct gcb_device_batch *b);

const struct gcb_device_module *gcb_device_batch_module(const struct gcb_device_batch *b);
struct gcb_device_stream *gcb_device_batch_stream(struct gcb_device_batch *b);

/* Queues a fill that sets all results to 0; the messages' work begins after it. Returns 0,
 * GCB_E_DEVICE or GCB_E_NOMEM. */
int gcb_device_batch_begin(struct gcb_device_batch *b);
/* Queues one copy of all results and waits for all queued work. Returns 0, or GCB_E_DEVICE or
 * GCB_E_NOMEM if any queueing or work of this batch has failed, also before begin. */
int gcb_device_batch_finish(struct gcb_device_batch *b, struct gcb_diag *diag);

/* Waits for work that was queued after finish, such as raw tensors that
 * gcb_device_coder_encode_finish queued. Returns as gcb_device_batch_finish does. */
int gcb_device_batch_wait(struct gcb_device_batch *b, struct gcb_diag *diag);

/* The work from begin to the last finish or wait. */
struct gcb_device_work {
    /* Time between two events of the device. The fill of the results is not included, and after a
     * finish neither is their copy. */
    double seconds;
    uint64_t launches; /* number of kernels, and of fills by codecs */
};
/* Fills *out, after a finish or wait. Returns 0 or GCB_E_DEVICE. */
int gcb_device_batch_work(const struct gcb_device_batch *b, struct gcb_device_work *out,
                          struct gcb_diag *diag);

/* Fills the call for message `i`, which needs `scratch` bytes of scratch. Returns 0, or
 * GCB_E_INTERNAL if the batch has fewer messages or less scratch. */
int gcb_device_batch_call(struct gcb_device_call *out, struct gcb_device_batch *b, unsigned i,
                          uint64_t scratch, struct gcb_diag *diag);
/* Returns the result of message `i`, which is valid from finish to the next begin. */
const struct gcb_device_result *gcb_device_batch_result(const struct gcb_device_batch *b,
                                                        unsigned i);

/* Returns the size of the scratch in bytes. */
uint64_t gcb_device_batch_scratch(const struct gcb_device_batch *b);
/* Enlarges the scratch to at least `scratch` bytes, after waiting for queued work. If the scratch
 * grows, its content is lost. Returns 0, GCB_E_NOMEM or GCB_E_DEVICE; after an error the batch has
 * no scratch. */
int gcb_device_batch_reserve(struct gcb_device_batch *b, uint64_t scratch, struct gcb_diag *diag);
/* Waits for queued work and frees the scratch, even if the wait fails. Returns 0, GCB_E_DEVICE or
 * GCB_E_NOMEM. */
int gcb_device_batch_shrink(struct gcb_device_batch *b, struct gcb_diag *diag);
/* Returns a group with an empty table for `count` messages, which the caller fills. The table's
 * memory belongs to the batch, and is valid until the next finish. `count` is at most
 * gcb_device_batch_tables. */
struct gcb_device_group gcb_device_batch_group(struct gcb_device_batch *b, unsigned count);
/* Returns the most messages that the next group can have: the batch's tables have an entry for each
 * message of the batch, and are free again after a finish. 0 or 1: no group can be made. */
uint64_t gcb_device_batch_tables(const struct gcb_device_batch *b);

/* Copy between plain host memory and the device, through the pinned memory, and wait until the copy
 * is done. Return 0, GCB_E_DEVICE or GCB_E_NOMEM. */
int gcb_device_batch_upload(struct gcb_device_batch *b, void *to_dev, const void *from,
                            uint64_t bytes, struct gcb_diag *diag);
int gcb_device_batch_download(struct gcb_device_batch *b, void *to, const void *from_dev,
                              uint64_t bytes, struct gcb_diag *diag);

#endif
