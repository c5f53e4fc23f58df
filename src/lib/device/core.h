#ifndef SRC_LIB_DEVICE_CORE_H
#define SRC_LIB_DEVICE_CORE_H

#include "src/lib/base/alloc.h"
#include "src/lib/base/diag.h"
#include "src/lib/codec/packed.h"
#include "src/lib/codec/qsgd.h"
#include "src/lib/sparse/select.h"
#include "src/lib/sparse/sparse.h"
#include "src/lib/sparse/transform.h"

/*
 * The functions of the core that the CUDA module calls. Whoever opens the module passes this table to it, because an
 * executable and libgcbench.so do not export their private functions. Each field is the function of the same name
 * with the prefix gcb_. The module defines functions of these names that call through the table
 * (src/lib/device/module/core.c), so its sources call them as the core's sources do.
 */
struct gcb_device_core {
    uint32_t version; /* GCB_DEVICE_MODULE_VERSION; the module refuses a table of another version */
    uint32_t size;    /* of this struct */
    void *(*alloc_array)(uint64_t count, size_t size);
    void *(*alloc_zero)(uint64_t count, size_t size);
    void (*free)(void *p);
    int (*diag_set)(struct gcb_diag *diag, int status, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    int (*diag_nomem)(struct gcb_diag *diag, uint64_t bytes, const char *what);
    uint64_t (*packed_bytes)(uint64_t count, unsigned width);
    void (*qsgd_lay_out)(struct gcb_qsgd_layout *out, struct gcb_qsgd_params *p, uint64_t count);
    uint64_t (*qsgd_elias_bound)(uint64_t count, uint32_t levels);
    struct gcb_rounding_draw (*rounding_draw)(const struct gcb_codec_env *env,
                                              const struct gcb_step *at);
    uint64_t (*kept_of)(double density, uint64_t n);
    struct gcb_sample_plan (*sample_plan)(uint64_t positions, double share, uint64_t k,
                                          uint64_t step);
    void (*sparse_bind)(struct gcb_sparse *s, const struct gcb_codec_env *env);
    uint64_t (*sparse_max_payload)(const void *state);
    uint64_t (*hadamard_length)(uint64_t count, uint64_t chunk);
    uint64_t (*hadamard_key)(const struct gcb_codec_env *env, uint64_t step);
};

extern const struct gcb_device_core gcb_device_core;

#endif
