#ifndef SRC_TOOL_SEARCH_COMPOSE_H
#define SRC_TOOL_SEARCH_COMPOSE_H

#include "src/tool/search/match.h"

/*
 * Searches the compositions of the sparse codec (transform and chunk, selection, values and bits, index coder) for the best
 * one at a goal. docs/method.md says which compositions are tried and which are left out.
 *
 * First it searches each transform with a few chunks, with range floats of 5 bits and the adaptive index. Then it changes one
 * stage at a time in the best compositions so far, until no change of one stage improves them. Each composition gets its own
 * line search, which starts where the search of the composition it was made from ended.
 */
#define GCB_COMPOSE_BEST 3  /* compositions that are changed in each round */
#define GCB_COMPOSE_KEPT 12 /* most that are returned */

struct gcb_compose_result {
    struct gcb_match_search best
        [GCB_COMPOSE_KEPT]; /* the best three, which differ in more than the index coder; then the
                                 * best others, each with another transform or other values than all before it */
    size_t count;           /* 0: no composition meets the goal */
    struct gcb_match_search *all; /* the searches of all compositions: `tried` */
    size_t tried;
    size_t evaluations; /* settings measured */
};

/* `config` and `observer` as in gcb_match_run. Release out->all with gcb_free, also on failure. */
int gcb_compose_run(struct gcb_compose_result *out, const struct gcb_match_goal *goal,
                    const struct gcb_run_config *config, const struct gcb_run_observer *observer,
                    bool *interrupted, struct gcb_diag *diag);

/* The stages of a composition, and what the plain stage would be: no transform, top-k, fp32, u32. */
enum gcb_stage_name {
    GCB_STAGE_NAME_TRANSFORM,
    GCB_STAGE_NAME_SELECT,
    GCB_STAGE_NAME_VALUES,
    GCB_STAGE_NAME_INDEX,
    GCB_STAGE_NAMES
};
extern const char *const gcb_stage_names[GCB_STAGE_NAMES];

/* Makes the composition that has the plain stage instead. Returns false if the stage is plain already, or if the other stages
 * need it. */
bool gcb_compose_without(struct gcb_method *out, const struct gcb_method *from,
                         enum gcb_stage_name stage);
/* Writes what the stage is: "transform=dct,chunk=64". Returns out. */
char *gcb_compose_stage(char *out, size_t size, const struct gcb_method *m,
                        enum gcb_stage_name stage);

#endif
