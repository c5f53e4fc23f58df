#ifndef SRC_LIB_API_OPTIONS_H
#define SRC_LIB_API_OPTIONS_H

#include "src/lib/base/sized.h"
#include "src/lib/coder/coder.h"

/* The public options, and a coder's configuration that is made from them. Do not copy the struct:
 * `config` points into it. */
struct gcb_settings {
    struct gcb_options options;
    struct gcb_queue queue;
    struct gcb_coder_config config; /* path and shape are borrowed from the caller */
};

/*
 * Checks the caller's options for tensors of n elements, and fills *s. `options` NULL means all
 * defaults. Returns 0, or GCB_E_INVALID if an option is out of range or unknown to this version of
 * the library.
 */
int gcb_settings_init(struct gcb_settings *s, const struct gcb_options *options, uint64_t n,
                      struct gcb_diag *diag);

#endif
