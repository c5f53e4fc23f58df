#ifndef SRC_LIB_API_OPTIONS_H
#define SRC_LIB_API_OPTIONS_H

#include "src/lib/base/sized.h"
#include "src/lib/coder/coder.h"

/* The public options with their defaults, and what they mean for a coder. Do not copy the struct:
 * `config` points into it. */
struct gcb_settings {
    struct gcb_options options;
    struct gcb_queue queue;
    /* for coders of n elements; path and shape are borrowed from the caller */
    struct gcb_coder_config config;
};

/*
 * Checks the caller's options (NULL: all defaults) for a tensor of n elements. GCB_E_INVALID: an
 * option is out of range, or unknown to this version of the library.
 */
int gcb_settings_init(struct gcb_settings *s, const struct gcb_options *options, uint64_t n,
                      struct gcb_diag *diag);

#endif
