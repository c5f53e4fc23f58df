#ifndef SRC_TOOL_EXCHANGE_LOAD_H
#define SRC_TOOL_EXCHANGE_LOAD_H

#include "src/tool/replay/replay_plan.h"

/*
 * The gradients that workers exchange: those of the first step of a source. Worker w has the
 * gradients of worker w modulo the number of workers in the source, or synthetic ones of its own.
 * All workers have the same messages.
 */
struct gcb_load {
    struct gcb_source *source;                    /* borrowed */
    const struct gcb_layout *layout;              /* borrowed */
    const struct gcb_source_synthetic *synthetic; /* what `source` makes; NULL: it reads files */
    uint64_t seed;                  /* of synthetic gradients: worker w has seed + w */
    struct gcb_replay_plan plan;    /* of the first step */
    uint64_t elements, input_bytes; /* of all messages of a worker */
};

/* Sets the last three members from the others. GCB_E_INVALID: workers of the first step differ
 * in their messages. Release with gcb_load_fini, also on failure. */
int gcb_load_init(struct gcb_load *load, struct gcb_diag *diag);
void gcb_load_fini(struct gcb_load *load); /* zeroed is fine */

/* Message j of a worker. */
const struct gcb_message_plan *gcb_load_message(const struct gcb_load *load, unsigned worker,
                                                size_t j);
/* Writes the gradient of message j of a worker to x. */
int gcb_load_read(const struct gcb_load *load, unsigned worker, size_t j, float *x,
                  struct gcb_diag *diag);
/* A hash of the messages' names, sizes and types: equal for ranks that have the same messages. */
uint64_t gcb_load_hash(const struct gcb_load *load);

#endif
