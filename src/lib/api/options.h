#ifndef SRC_LIB_API_OPTIONS_H
#define SRC_LIB_API_OPTIONS_H

#include "src/lib/codec/coder.h"

/* The public options with their defaults, and what they mean for a coder. Do not copy the struct: `config` points into
 * it. */
struct gcb_settings {
    struct gcb_options options;
    struct gcb_queue queue;
    /* for coders of n elements; path and shape are borrowed from the caller */
    struct gcb_coder_config config;
};

/*
 * Public structs begin with their size in the caller's version of the header. gcb_struct_copy copies a struct that
 * the caller has filled into `out`, which has `known` bytes. Fields that the caller's header does not have become 0.
 * GCB_E_INVALID: the size is impossible, or a field that this library does not know is not 0.
 */
#define GCB_STRUCT_MOST 4096 /* bytes */
int gcb_struct_check_size(size_t size, const char *type, struct gcb_diag *diag);
int gcb_struct_copy(void *out, size_t known, const void *in, const char *type,
                    struct gcb_diag *diag);
/* Copies a struct of `known` bytes into the caller's, which has `size` bytes. Fields that the library does not know
 * become 0. */
void gcb_struct_fill(void *out, size_t size, const void *in, size_t known);

/*
 * Checks the caller's options (NULL: all defaults) for a tensor of n elements. GCB_E_INVALID: an option is out of
 * range, or unknown to this version of the library.
 */
int gcb_settings_init(struct gcb_settings *s, const struct gcb_options *options, uint64_t n,
                      struct gcb_diag *diag);

#endif
