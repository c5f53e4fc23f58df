#ifndef SRC_CUDA_MODULE_SPARSE_H
#define SRC_CUDA_MODULE_SPARSE_H

#include "kernels/select/index_cuda.h"
#include "kernels/select/values_cuda.h"
#include "src/codec/device.h"
#include "src/sparse/sparse.h"

/*
 * The sparse codec on the device: transform -> select -> values -> index, as on the CPU (src/sparse/sparse.h). A
 * stage is a row of a small table here too, named as on the CPU; what has no row runs on the CPU only.
 *
 * The stages behind the transform take one float per position, so a transform's spectrum can stand where the tensor
 * does now.
 */
struct gcb_device_sparse {
    struct gcb_sparse p; /* the CPU's state: parameters, and the sizes that follow from them */
    const struct gcb_device_selector *selector; /* NULL in a decoder, which needs none */
    const struct gcb_device_index *index;
    struct gcb_cuda_values values;
};

/* ---- selection: sparse_select.c ---- */

struct gcb_device_selector {
    const char *name;
    /* bytes of scratch that select needs, its chosen positions included */
    uint64_t (*scratch)(const struct gcb_sparse *p);
    /* Queues the choice from in->n = p.t.positions floats, all finite; lays out *chosen in the call's scratch, which
     * must last until the message is written. */
    int (*select)(const struct gcb_device_sparse *s, const struct gcb_step *at,
                  const struct gcb_device_input *in, struct gcb_cuda_chosen *chosen,
                  const struct gcb_device_call *call);
};

/* The row of a name; NULL: on the CPU only. */
const struct gcb_device_selector *gcb_device_selector_find(const char *name);

/* ---- values: sparse_values.c ---- */

/* What the kernels are to know; false: on the CPU only. */
bool gcb_device_values_bind(struct gcb_cuda_values *v, const struct gcb_sparse *p);

/* ---- index: sparse_index.c ---- */

struct gcb_device_index {
    const char *name;
    struct gcb_cuda_index_length length; /* of what it writes, where it follows from counts */
    /* bytes of scratch for `most` of n positions, and to decode n; NULL: none */
    uint64_t (*put_scratch)(uint64_t n, uint64_t most);
    uint64_t (*get_scratch)(uint64_t n);
    gcb_cuda_put_index_fn *put;
    gcb_cuda_get_index_fn *get;
};

const struct gcb_device_index *gcb_device_index_find(const char *name);

#endif
