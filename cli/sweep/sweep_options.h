#ifndef CLI_SWEEP_SWEEP_OPTIONS_H
#define CLI_SWEEP_SWEEP_OPTIONS_H

#include "cli/base/options.h"
#include "src/tool/search/match_run.h"
#include "src/tool/search/pareto.h"

/* What `sweep` is told, and what follows from it before any file is touched. */
enum sweep_per { SWEEP_PER_NONE, SWEEP_PER_MESSAGE };

struct sweep_own {
    struct opt_list vary, match;
    const char *over;   /* NULL: each method's own parameter */
    const char *pareto; /* NULL: rel_l2,bits_per_element */
    int per;            /* enum sweep_per */
};

struct sweep_options {
    struct opt_methods methods;
    struct sweep_own own;
    struct opt_lines lines;
    struct opt_input input;
    struct opt_message message;
    struct opt_exec exec;
    struct opt_timing timing;
    struct opt_save save;
    struct opt_show show;
};

extern const struct opt_row sweep_own_rows[];
extern const struct opt_row sweep_show_rows[];

#define SWEEP_GOALS 16

/* What is to be run. Starts zeroed. */
struct sweep_plan {
    struct gcb_method *methods; /* settings, `given` of them; then baselines: `count` in all */
    size_t given, count;
    struct gcb_match_goal goals[SWEEP_GOALS];
    size_t goal_count;
    struct gcb_match_search *searches; /* one for each of `given`; NULL without --match */
    struct gcb_pareto_field pareto[GCB_PARETO_FIELDS];
    size_t pareto_count;
    gcb_tally_figure_fn *sort; /* of --sort, or NULL */
};

/* The methods named, or all, before anything is varied. */
int sweep_methods(struct sweep_plan *plan, const struct sweep_options *o, struct gcb_diag *diag);
/* The rest of the plan, from those methods. */
int sweep_expand(struct sweep_plan *plan, const struct sweep_options *o, struct gcb_diag *diag);
void sweep_plan_fini(struct sweep_plan *plan); /* zeroed is fine */

#endif
