#ifndef SRC_LIB_MEMORY_CHECKPOINT_H
#define SRC_LIB_MEMORY_CHECKPOINT_H

#include "src/lib/coder/coder.h"
#include "src/lib/memory/memory.h"

/* The objects that keep something from step to step for a worker's tensor. All are borrowed. */
struct gcb_checkpoint {
    struct gcb_memory *memory;
    struct gcb_coder *encoder;           /* NULL with a collective that has none */
    const struct gcb_kept_ops *kept_ops; /* of a collective; NULL: `state` is not saved */
    void *state;                         /* the collective's state, for kept_ops */
};

/* Bytes of the array `kept` in struct gcb_memory_state. */
uint64_t gcb_checkpoint_bytes(struct gcb_checkpoint c);
/* Save and restore the objects. src/gcbench.h describes the structs and the errors
 * (gcb_encoder_save, gcb_encoder_restore). After an error the memory is unchanged, and so is the
 * encoder if there are no kept_ops. With kept_ops, restore needs a new encoder and a new `state`;
 * after an error the caller drops both. */
int gcb_checkpoint_save(struct gcb_checkpoint c, struct gcb_memory_state *state,
                        struct gcb_diag *diag);
int gcb_checkpoint_restore(struct gcb_checkpoint c, const struct gcb_memory_view *saved,
                           struct gcb_diag *diag);

#endif
