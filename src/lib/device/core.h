#ifndef SRC_LIB_DEVICE_CORE_H
#define SRC_LIB_DEVICE_CORE_H

#include "src/lib/codec/qsgd.h"
#include "src/lib/sparse/select.h"
#include "src/lib/sparse/sparse.h"

/*
 * The functions of the core that the CUDA module calls but does not contain, because they need
 * kernels or FFTW. The core passes this table to the module when it opens the module. The module
 * could not find the functions itself: executables and libgcbench.so do not export private
 * functions. A field is the function of the same name with the prefix gcb_. The module defines
 * functions of these names that call through the table (src/lib/device/module/core.c). So the
 * module's sources call them as the core's sources do.
 */
struct gcb_device_core {
    uint32_t version; /* GCB_DEVICE_MODULE_VERSION; the module refuses a table of another version */
    uint32_t size;    /* sizeof(struct gcb_device_core) */
    void (*qsgd_lay_out)(struct gcb_qsgd_layout *l);
    struct gcb_sample_plan (*sample_plan)(uint64_t positions, double share, uint64_t k,
                                          uint64_t step);
    void (*sparse_bind)(struct gcb_sparse *s);
};

extern const struct gcb_device_core gcb_device_core;

#endif
