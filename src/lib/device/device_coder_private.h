#ifndef SRC_LIB_DEVICE_DEVICE_CODER_PRIVATE_H
#define SRC_LIB_DEVICE_DEVICE_CODER_PRIVATE_H

#include "src/lib/device/device_coder.h"

/* What a coder on a device holds: for device_coder.c, which has one message at a time, and device_group.c. */
struct gcb_device_coder {
    const struct gcb_device_module *module;
    const struct gcb_device_ops *ops;
    struct gcb_method method;
    struct gcb_codec_env env;
    enum gcb_nonfinite nonfinite;
    struct gcb_frame frame; /* of its messages; lengths and the stored flag vary */
    char *path;
    void *state; /* NULL: a decoder of stored messages only */
    uint64_t clamped;
};

/* What queueing came to, in words; the stream knows more, and says it when it is waited for. */
int gcb_device_coder_queued(const struct gcb_device_coder *c, int err, struct gcb_diag *diag);

/* May the coder encode it? GCB_E_MISMATCH: it is a decoder, or not made for a residual. */
int gcb_device_coder_takes(const struct gcb_device_coder *c, const struct gcb_device_message *m,
                           struct gcb_diag *diag);

/* What is encoded of a message; `compensated` as in struct gcb_device_input. */
struct gcb_device_input gcb_device_coder_input(const struct gcb_device_coder *c,
                                               const struct gcb_device_message *m, int compensated);

/* As gcb_coder_accepts. */
bool gcb_device_coder_accepts(const struct gcb_device_coder *c, const struct gcb_frame *f);

#endif
