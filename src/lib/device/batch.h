#ifndef SRC_LIB_DEVICE_BATCH_H
#define SRC_LIB_DEVICE_BATCH_H

#include "src/lib/device/load.h"

/*
 * The messages that are encoded or decoded together: a stream, one result each, scratch that their calls share, and
 * pinned memory through which bytes come and go. One host thread at a time.
 *
 *     gcb_device_batch_begin(b);
 *     gcb_device_coder_encode_async(...), once for each message
 *     gcb_device_batch_finish(b, diag);              the one wait
 *     gcb_device_coder_encode_finish(...), once for each
 */
struct gcb_device_batch;

struct gcb_device_batch_config {
    unsigned messages; /* at most; 0: 1 */
    uint64_t scratch;  /* bytes: the most that any of the coders asks for */
    uint64_t staging;  /* bytes of pinned memory for uploads and downloads; 0: 16 MiB */
};

/* Takes all memory. GCB_E_NOMEM, GCB_E_DEVICE. `device` is borrowed as long as the batch. */
int gcb_device_batch_create(struct gcb_device_batch **out, const struct gcb_device *device,
                            const struct gcb_device_batch_config *config, struct gcb_diag *diag);
/* Waits for what was queued, so whatever that uses is given back later. NULL is fine. */
void gcb_device_batch_destroy(struct gcb_device_batch *b);

const struct gcb_device_module *gcb_device_batch_module(const struct gcb_device_batch *b);
struct gcb_device_stream *gcb_device_batch_stream(struct gcb_device_batch *b);

/* Queues: all results become 0. */
int gcb_device_batch_begin(struct gcb_device_batch *b);
/* Queues the one copy of all results, and waits for everything queued so far. */
int gcb_device_batch_finish(struct gcb_device_batch *b, struct gcb_diag *diag);

/* What a call of message `i` gets, and after finish how it ended. */
int gcb_device_batch_call(struct gcb_device_call *out, struct gcb_device_batch *b, unsigned i,
                          uint64_t scratch, struct gcb_diag *diag);
const struct gcb_device_result *gcb_device_batch_result(const struct gcb_device_batch *b,
                                                        unsigned i);

/* Bytes of scratch there are; and at least so many from now on, what it held being lost if that is more. Waits for what
 * was queued. GCB_E_NOMEM: there is none then. */
uint64_t gcb_device_batch_scratch(const struct gcb_device_batch *b);
int gcb_device_batch_reserve(struct gcb_device_batch *b, uint64_t scratch, struct gcb_diag *diag);
/* A group of `count` messages, with room for its table, of any content, until the next finish; and how many at most a
 * group can have now. All messages of a batch, each in one group, have room. */
struct gcb_device_group gcb_device_batch_group(struct gcb_device_batch *b, unsigned count);
uint64_t gcb_device_batch_tables(const struct gcb_device_batch *b);

/* Copies between plain host memory and the device, through the pinned memory; they wait. */
int gcb_device_batch_upload(struct gcb_device_batch *b, void *to_dev, const void *from,
                            uint64_t bytes, struct gcb_diag *diag);
int gcb_device_batch_download(struct gcb_device_batch *b, void *to, const void *from_dev,
                              uint64_t bytes, struct gcb_diag *diag);

#endif
