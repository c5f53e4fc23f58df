#ifndef SRC_LIB_MEMORY_CHECKPOINT_H
#define SRC_LIB_MEMORY_CHECKPOINT_H

#include "src/lib/codec/coder.h"
#include "src/lib/memory/memory.h"

/*
 * Saves and restores what a worker keeps from step to step, for tensors of `count` elements: in its memory (NULL: none), and
 * in its encoder (NULL: none). src/gcbench.h describes the structs and the errors. After a failure nothing has changed.
 */
int gcb_checkpoint_save(const struct gcb_memory *memory, const struct gcb_coder *encoder,
                        uint64_t count, struct gcb_memory_state *state, struct gcb_diag *diag);
int gcb_checkpoint_restore(struct gcb_memory *memory, struct gcb_coder *encoder, uint64_t count,
                           const struct gcb_memory_view *saved, struct gcb_diag *diag);

#endif
