#ifndef SRC_TOOL_TRIAL_RESTORE_H
#define SRC_TOOL_TRIAL_RESTORE_H

#include "src/lib/device/device_decoder.h"
#include "src/tool/dump/dump.h"

/*
 * Files of messages back into tensors: each message is read, checked and decoded, and its tensors are added
 * to a dump. One message is in memory at a time.
 */
struct gcb_restore {
    struct gcb_dump *dump;             /* borrowed; left to be committed */
    const struct gcb_kernels *kernels; /* borrowed */
    const struct gcb_queue *queue;     /* borrowed */
    const struct gcb_device *device;   /* borrowed: messages are decoded there; NULL: on the CPU */
    uint64_t max_bytes;                /* as gcb_container_open takes it */
    uint64_t messages, tensors;        /* restored so far */
    struct gcb_coder *decoder; /* owned: the last one, for the next message if it takes it */
    struct gcb_device_decoder *on_device; /* owned */
};

/* Adds the tensors of all messages of a file. The words of a failure name file and message. GCB_E_BACKEND: a message
 * that the CPU would decode and the device does not. */
int gcb_restore_file(struct gcb_restore *r, const char *file, struct gcb_diag *diag);
void gcb_restore_fini(struct gcb_restore *r); /* frees the decoders; zeroed is fine */

#endif
