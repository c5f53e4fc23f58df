#ifndef SRC_TOOL_SEARCH_COMPOSE_H
#define SRC_TOOL_SEARCH_COMPOSE_H

#include "src/tool/search/descent.h"

/*
 * Searches the compositions of the sparse codec (transform and chunk, selection, values and bits,
 * index coder) for the best one at a goal. docs/method.md says which compositions are tried and
 * which are left out.
 *
 * The search is a coordinate descent (src/tool/search/descent.h). Each round changes one stage at a
 * time in the best three compositions. The descent begins without a transform: with top-k or a
 * threshold, range floats of 5, 8 or 12 bits, and the adaptive index.
 */
#define GCB_COMPOSE_BEST 3 /* compositions that are changed in each round */

/* Makes d->families[family] a family of compositions and adds its first settings. `goal` is
 * borrowed. */
void gcb_compose_begin(struct gcb_descent *d, size_t family, const struct gcb_match_goal *goal);

/* True if compositions have the same transform (in chunks of any size), values and bits. */
bool gcb_compose_related(const struct gcb_method *a, const struct gcb_method *b);

/* The stages of a composition. The plain stages are no transform, top-k, fp32 and u32. */
enum gcb_stage_name {
    GCB_STAGE_NAME_TRANSFORM,
    GCB_STAGE_NAME_SELECT,
    GCB_STAGE_NAME_VALUES,
    GCB_STAGE_NAME_INDEX,
    GCB_STAGE_NAMES
};
extern const char *const gcb_stage_names[GCB_STAGE_NAMES];

/* Replaces a stage of the composition `from` by the plain one. Returns false if the stage is plain
 * already, or if the result is not valid. */
bool gcb_compose_without(struct gcb_method *out, const struct gcb_method *from,
                         enum gcb_stage_name stage);
/* Writes the parameters of a stage, such as "transform=dct,chunk=64", cut to `size` bytes. Returns
 * out. */
char *gcb_compose_stage(char *out, size_t size, const struct gcb_method *m,
                        enum gcb_stage_name stage);

#endif
