#ifndef CLI_SWEEP_SWEEP_OPTIONS_H
#define CLI_SWEEP_SWEEP_OPTIONS_H

#include "cli/base/session.h"
#include "src/tool/search/choose.h"
#include "src/tool/search/pareto.h"

/* The options of `sweep`, and the plan that follows from them before any file is opened. */
enum sweep_per { SWEEP_PER_NONE, SWEEP_PER_MESSAGE };

struct sweep_own {
    struct opt_list vary, match;
    const char *budget; /* goal of a policy; NULL: none is searched */
    const char *over;   /* parameter to search along; NULL: each method's own */
    const char *pareto; /* fields to compare; NULL: rel_l2,bits_per_element */
    int per;            /* enum sweep_per */
    bool published_only;
};

struct sweep_options {
    struct opt_methods methods;
    struct sweep_own own;
    struct opt_lines lines;
    struct session_options common;
    struct opt_timing timing;
};

extern const struct opt_row sweep_own_rows[];
extern const struct opt_row sweep_show_rows[];

#define SWEEP_GOALS 16

/* The methods, settings and searches of a run. Starts zeroed. */
struct sweep_plan {
    struct gcb_method *methods; /* `given` settings, then baselines: `count` in all */
    size_t given, count;
    size_t policy; /* place in `methods` of the policy found, which is the last; SIZE_MAX: none */
    struct gcb_match_goal goals[SWEEP_GOALS];
    size_t goal_count;
    bool
        matching; /* --match is given: choice.searches has a search for each of the `given` settings */
    struct gcb_choice choice;
    struct gcb_pareto_field pareto[GCB_PARETO_FIELDS];
    size_t pareto_count;
    enum gcb_field sort; /* field of --sort, or GCB_FIELD_NONE */
};

/* Reads the methods that are named, or all, before --vary is applied. */
int sweep_methods(struct sweep_plan *plan, const struct sweep_options *o, struct gcb_diag *diag);
/* Makes the rest of the plan from the methods that sweep_methods found. */
int sweep_expand(struct sweep_plan *plan, const struct sweep_options *o, struct gcb_diag *diag);
/* Makes the settings of the plan from those that the searches have found. */
int sweep_take_choice(struct sweep_plan *plan, const struct sweep_options *o,
                      struct gcb_diag *diag);
void sweep_plan_fini(struct sweep_plan *plan); /* the plan may be zeroed */

#endif
