#ifndef SRC_TOOL_SEARCH_CHOOSE_H
#define SRC_TOOL_SEARCH_CHOOSE_H

#include "src/tool/search/compose.h"

/*
 * The search of `sweep --match`. For each method and goal it finds the best setting, or two
 * settings that share the messages (struct gcb_mix). With `compose` it also finds the best
 * composition of the sparse codec for each goal, and what each of its stages earns.
 *
 * The search varies all parameters of a method that change its size or its error
 * (src/tool/search/descent.h). If the input has more than GCB_CHOOSE_SAMPLE elements, the search
 * runs on a sample first. The few best settings are then searched on the whole input; each of these
 * searches starts near what the sample gave.
 */
#define GCB_CHOOSE_SAMPLE (UINT64_C(1) << 20)

/* With `narrow`, methods may be left out if the input has more than GCB_CHOOSE_LARGE elements and
 * some method meets the goal on the sample. A method is left out if, on the sample, it misses the
 * goal or takes more than GCB_CHOOSE_FAR times the bytes (or the error) of the best method. */
#define GCB_CHOOSE_LARGE (UINT64_C(1) << 24)
#define GCB_CHOOSE_FAR 3.0

/* The task and the result of a search. Release with gcb_choice_fini. */
struct gcb_choice {
    /* to set before the run */
    const struct gcb_match_goal *goals; /* borrowed */
    size_t goal_count;
    /* One search for each method and goal, `count` in all. The array is allocated by the caller,
     * owned by this struct, and has room for goal_count more searches. */
    struct gcb_match_search *searches;
    size_t count;
    bool compose; /* also search compositions */
    bool over;    /* vary only the parameter of each method's line search */
    bool narrow;  /* methods that are far worse on the sample may be left out (GCB_CHOOSE_FAR) */

    /* The result. `searches` has `count` results: those of methods, then at most one composition
     * for each goal. */
    size_t composed; /* number of compositions at the end of `searches` */
    /* without_count results: the compositions again, each with one stage replaced by the plain
     * one */
    struct gcb_match_search *without;
    struct gcb_choice_stage {
        const struct gcb_match_goal *goal; /* goal of the composition */
        enum gcb_stage_name stage;         /* the stage that is plain */
    } * stages;                            /* one for each item of `without` */
    size_t without_count;
    /* All settings searched, on the sample if there is one. The descent has a family for each
     * method and goal, in the order of `searches` before the run, then a family of compositions for
     * each goal. */
    struct gcb_descent descent;
    uint64_t sampled, elements; /* elements of the sample (0: no sample), and of the input */
    char left_out[1000];        /* methods that were left out: "powersgd, demo" */
};

/* Runs the search. `config` and `watch` as in gcb_match_run. After an interruption, compositions
 * that were not measured over the whole input are missing. */
int gcb_choose_run(struct gcb_choice *c, const struct gcb_run_config *config,
                   const struct gcb_watch *watch, bool *interrupted, struct gcb_diag *diag);
void gcb_choice_fini(struct gcb_choice *c); /* zeroed is fine */

/* True if this family of c->descent has compositions. */
bool gcb_choice_composes(const struct gcb_choice *c, size_t family);
/* True if c->searches[search] is a composition. */
bool gcb_choice_composed(const struct gcb_choice *c, size_t search);

/* Returns what the plain stage of c->without[k] costs: its bytes (for a limit on the size: its
 * error) divided by those of the composition. NAN: with the plain stage the goal is not met. */
double gcb_choice_earns(const struct gcb_choice *c, size_t k);

/* Adds to a summary row of `sweep --match` whether c->searches[search] is a composition, and what
 * its stages earn. If `search` is not below c->count, as for a baseline, the fields are null. */
void gcb_choice_put(struct gcb_row *row, const struct gcb_choice *c, size_t search);

#endif
