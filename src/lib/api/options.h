#ifndef SRC_LIB_API_OPTIONS_H
#define SRC_LIB_API_OPTIONS_H

#include "src/lib/base/sized.h"
#include "src/lib/coder/coder.h"

/* The public options, and a coder's configuration that is made from them. Do not copy the struct:
 * `config` points into it. */
struct gcb_settings {
    struct gcb_options options;
    struct gcb_method method; /* set by gcb_settings_open */
    struct gcb_queue queue;
    struct gcb_coder_config config; /* borrows path, shape and joined shapes from the caller */
};

/*
 * Checks what the caller passes to open an object for tensors of n elements, and fills *s. `out` is
 * where the object will go, and `what` names that place in messages. `spec` names the method.
 * `options` NULL means all defaults. Returns 0, or GCB_E_INVALID if `out` or `spec` is NULL, the
 * spec is wrong, or an option is out of range or unknown to this version of the library.
 */
int gcb_settings_open(struct gcb_settings *s, const void *out, const char *what, const char *spec,
                      uint64_t n, const struct gcb_options *options, struct gcb_diag *diag);
/* Like gcb_settings_open, for an object that is opened from a message: parses the message's frame
 * into *frame, and does not set s->method. Also returns errors of gcb_frame_parse. */
int gcb_settings_open_like(struct gcb_settings *s, const void *out, const char *what,
                           struct gcb_frame *frame, const void *message, size_t length,
                           const struct gcb_options *options, struct gcb_diag *diag);

#endif
