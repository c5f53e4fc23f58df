#ifndef SRC_LIB_MEMORY_CHECKPOINT_H
#define SRC_LIB_MEMORY_CHECKPOINT_H

#include "src/lib/coder/coder.h"
#include "src/lib/memory/memory.h"

/* What a worker keeps from step to step for a tensor. */
struct gcb_checkpoint {
    struct gcb_memory *memory;
    struct gcb_coder *encoder;           /* NULL: none */
    const struct gcb_kept_ops *kept_ops; /* of something else; NULL: none */
    void *state;                         /* that kept_ops saves and restores */
};

/* Saves and restores it. src/gcbench.h describes the structs and the errors. After a failure
 * nothing has changed. */
uint64_t gcb_checkpoint_bytes(const struct gcb_checkpoint *c);
int gcb_checkpoint_save(const struct gcb_checkpoint *c, struct gcb_memory_state *state,
                        struct gcb_diag *diag);
int gcb_checkpoint_restore(const struct gcb_checkpoint *c, const struct gcb_memory_view *saved,
                           struct gcb_diag *diag);

#endif
