#ifndef SRC_TOOL_TRIAL_PLAN_H
#define SRC_TOOL_TRIAL_PLAN_H

#include "src/lib/codec/codec.h"
#include "src/tool/read/layout.h"

/* Facts about a planned message (src/tool/read/layout.h) for its coder, and its name for rows and error messages. */

/* Tensors whose path matches one of the globs belong to the output layer. Borrowed. */
struct gcb_output_layers {
    const char *const *globs;
    size_t count;
};

/* Sets count, shape, rank, role and path of `env`. A message of several tensors has no shape and the role "hidden". The
 * path is borrowed from the source or written to `buffer`. */
void gcb_plan_env(struct gcb_codec_env *env, char buffer[40], const struct gcb_source *source,
                  const struct gcb_message_plan *plan, const struct gcb_output_layers *layers);

/* The name of a message below its worker: the path of its tensor, or "messages/NNNN". Borrowed from the source, or written
 * to `buffer`. */
const char *gcb_plan_name(char buffer[40], const struct gcb_message_plan *plan,
                          const struct gcb_source *source);

/* Puts method, step, worker and name in front of the message in diag. Returns err. */
int gcb_plan_explain(int err, const char *method, const struct gcb_message_plan *plan,
                     const struct gcb_source *source, struct gcb_diag *diag);

#endif
