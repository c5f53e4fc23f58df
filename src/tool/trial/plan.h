#ifndef SRC_TOOL_TRIAL_PLAN_H
#define SRC_TOOL_TRIAL_PLAN_H

#include "src/lib/codec/codec.h"
#include "src/tool/dump/layout.h"

/*
 * A planned message (src/tool/dump/layout.h) as the rest of a run sees it: what its coder is to know, what it is
 * called, and how an error names it.
 */

/* Which tensors are an output layer: globs on their paths. Borrowed. */
struct gcb_output_layers {
    const char *const *globs;
    size_t count;
};

/*
 * Sets count, shape, rank, role and path of `env`. Shape and role are those of a single tensor; several
 * together have none. `buffer` keeps the path where it is not the source's own.
 */
void gcb_plan_env(struct gcb_codec_env *env, char buffer[40], const struct gcb_source *source,
                  const struct gcb_message_plan *plan, const struct gcb_output_layers *layers);

/* Name of a message below its worker: the path of its tensor, or "messages/NNNN". Borrowed from the
 * source or written to `buffer`. */
const char *gcb_plan_name(char buffer[40], const struct gcb_message_plan *plan,
                          const struct gcb_source *source);

/* Puts method, step, worker and name in front of the words that diag has; returns err. */
int gcb_plan_explain(int err, const char *method, const struct gcb_message_plan *plan,
                     const struct gcb_source *source, struct gcb_diag *diag);

#endif
