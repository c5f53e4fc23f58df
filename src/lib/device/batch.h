#ifndef SRC_LIB_DEVICE_BATCH_H
#define SRC_LIB_DEVICE_BATCH_H

#include "src/lib/device/load.h"

/*
 * Messages that are encoded or decoded together: a stream, a result for each message, scratch that
 * all calls share, and pinned memory for copies between host and device. One host thread at a time.
 *
 *     gcb_device_batch_begin(b);
 *     gcb_device_coder_encode_async(...), once for each message
 *     gcb_device_batch_finish(b, diag);              the one wait
 *     gcb_device_coder_encode_finish(...), once for each
 */
struct gcb_device_batch;

struct gcb_device_batch_config {
    unsigned messages; /* the most messages of a batch; 0 means 1 */
    /* bytes: for groups gcb_device_group_scratch; otherwise the largest scratch of any coder */
    uint64_t scratch;
    uint64_t staging; /* bytes of pinned memory for uploads and downloads; 0: 16 MiB */
};

/* Allocates all memory. Returns 0, GCB_E_NOMEM or GCB_E_DEVICE. `device` is borrowed until the
 * batch is destroyed. */
int gcb_device_batch_create(struct gcb_device_batch **out, const struct gcb_device *device,
                            const struct gcb_device_batch_config *config, struct gcb_diag *diag);
/* Waits for queued work first. Memory that this work uses must not be freed earlier. NULL is
 * fine. */
void gcb_device_batch_destroy(struct gcb_device_batch *b);

const struct gcb_device_module *gcb_device_batch_module(const struct gcb_device_batch *b);
struct gcb_device_stream *gcb_device_batch_stream(struct gcb_device_batch *b);

/* Queues a fill that sets all results to 0. */
int gcb_device_batch_begin(struct gcb_device_batch *b);
/* Queues one copy of all results and waits for everything queued so far. */
int gcb_device_batch_finish(struct gcb_device_batch *b, struct gcb_diag *diag);

/* Waits for more work, such as raw tensors that gcb_device_coder_encode_finish queued. */
int gcb_device_batch_wait(struct gcb_device_batch *b, struct gcb_diag *diag);

/* The work from the end of the fill to the last finish or wait: its time by the device's events,
 * without the copy of the results, and the kernels that were launched. */
struct gcb_device_work {
    double seconds;
    uint64_t launches;
};
int gcb_device_batch_work(const struct gcb_device_batch *b, struct gcb_device_work *out,
                          struct gcb_diag *diag);

/* Fills the call for message `i`. Its result is valid after finish. */
int gcb_device_batch_call(struct gcb_device_call *out, struct gcb_device_batch *b, unsigned i,
                          uint64_t scratch, struct gcb_diag *diag);
const struct gcb_device_result *gcb_device_batch_result(const struct gcb_device_batch *b,
                                                        unsigned i);

/* Returns the size of the scratch in bytes. */
uint64_t gcb_device_batch_scratch(const struct gcb_device_batch *b);
/* Enlarges the scratch to at least `scratch` bytes, after waiting for queued work. Old content is
 * lost if the scratch grows. After GCB_E_NOMEM the batch has no scratch. gcb_device_batch_shrink
 * frees the scratch. */
int gcb_device_batch_reserve(struct gcb_device_batch *b, uint64_t scratch, struct gcb_diag *diag);
int gcb_device_batch_shrink(struct gcb_device_batch *b, struct gcb_diag *diag);
/* gcb_device_batch_group returns a group of `count` messages, whose table has memory until the next
 * finish. gcb_device_batch_tables returns the largest `count` that is possible now: the memory
 * suffices for one table entry per message of the batch. */
struct gcb_device_group gcb_device_batch_group(struct gcb_device_batch *b, unsigned count);
uint64_t gcb_device_batch_tables(const struct gcb_device_batch *b);

/* Copies between plain host memory and the device, through the pinned memory. Both functions wait
 * until the copy is done. */
int gcb_device_batch_upload(struct gcb_device_batch *b, void *to_dev, const void *from,
                            uint64_t bytes, struct gcb_diag *diag);
int gcb_device_batch_download(struct gcb_device_batch *b, void *to, const void *from_dev,
                              uint64_t bytes, struct gcb_diag *diag);

#endif
