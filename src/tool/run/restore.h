#ifndef SRC_TOOL_RUN_RESTORE_H
#define SRC_TOOL_RUN_RESTORE_H

#include "src/lib/coder/coder.h"
#include "src/lib/device/place.h"
#include "src/tool/write/dump.h"

/* Restores tensors from files of messages: reads, checks and decodes each message, and adds the
 * message's tensors to a dump. One message is in memory at a time. The caller sets the members up
 * to `in_process`; the others start zeroed. */
struct gcb_restore {
    struct gcb_h5out *dump;            /* borrowed; the caller commits it */
    const struct gcb_kernels *kernels; /* borrowed */
    const struct gcb_queue *queue;     /* borrowed */
    struct gcb_place place; /* decodes messages if it has a device; otherwise the CPU does */
    uint64_t max_bytes;     /* for gcb_container_open, like in_process */
    bool in_process;
    struct gcb_coder *decoder; /* owned; the last decoder, which may also fit the next message */
};

/* Adds the tensors of all messages of a file. The text of an error names the file and the message.
 * GCB_E_BACKEND: the CPU can decode a message but the device cannot. */
int gcb_restore_file(struct gcb_restore *r, const char *file, struct gcb_diag *diag);
/* Releases place and decoder. A zeroed struct is fine. */
void gcb_restore_fini(struct gcb_restore *r);

#endif
