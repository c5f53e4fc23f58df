#ifndef SRC_TOOL_EXCHANGE_LOAD_H
#define SRC_TOOL_EXCHANGE_LOAD_H

#include "src/tool/replay/replay_plan.h"

/*
 * The gradients that workers exchange: those of the first step of a source. Worker w takes the
 * gradients of worker w modulo the number of workers in the source. If the gradients are synthetic,
 * each worker has gradients of its own. All workers have messages of the same names, sizes and
 * types.
 */
struct gcb_load {
    struct gcb_source *source;                    /* borrowed */
    const struct gcb_layout *layout;              /* borrowed */
    const struct gcb_source_synthetic *synthetic; /* what `source` makes; NULL: it reads files */
    uint64_t seed; /* of synthetic gradients: those of worker w have seed + w */
    /* set by gcb_load_init */
    struct gcb_replay_plan plan;    /* of the first step */
    uint64_t elements, input_bytes; /* of all messages of a worker */
};

/* Sets `plan`, `elements` and `input_bytes` from the other members. Returns 0 or GCB_E_NOMEM.
 * GCB_E_INVALID: the workers of the first step have different messages. Release with gcb_load_fini,
 * also after a failure. */
int gcb_load_init(struct gcb_load *load, struct gcb_diag *diag);
void gcb_load_fini(struct gcb_load *load); /* zeroed is fine */

/* Returns message j of a worker, borrowed from the layout. */
const struct gcb_message_plan *gcb_load_message(const struct gcb_load *load, unsigned worker,
                                                size_t j);
/* Writes the gradient of message j of a worker to x, which has room for the elements of the
 * message. Fails as gcb_layout_read. */
int gcb_load_read(const struct gcb_load *load, unsigned worker, size_t j, float *x,
                  struct gcb_diag *diag);
/* Returns a hash of the messages' names, sizes and types, of which messages are sent dense, and of
 * the number of workers in the source. Ranks with the same messages have the same hash. */
uint64_t gcb_load_hash(const struct gcb_load *load);

#endif
