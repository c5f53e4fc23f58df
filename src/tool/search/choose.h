#ifndef SRC_TOOL_SEARCH_CHOOSE_H
#define SRC_TOOL_SEARCH_CHOOSE_H

#include "src/tool/search/compose.h"

/*
 * What `sweep --match` does: finds a setting of each method for each goal, or two that share the
 * messages, and, if asked to, the best composition of the sparse codec, with what each of its
 * stages earns.
 *
 * All parameters of a method that change its size or its error are searched
 * (src/tool/search/descent.h), those of an input of more than GCB_CHOOSE_SAMPLE elements on a
 * sample of it. The best few settings are then searched on the whole input, near the settings
 * found.
 */
#define GCB_CHOOSE_SAMPLE (UINT64_C(1) << 20)
#define GCB_CHOOSE_LARGE (UINT64_C(1) << 24)
/* With `narrow`, methods of an input of more than GCB_CHOOSE_LARGE elements that take more than
 * this many times the bytes (or error) of the best method on the sample, or miss the goal there,
 * are left out. */
#define GCB_CHOOSE_FAR 3.0

/* What is to find, and what was found. gcb_choice_fini releases it. */
struct gcb_choice {
    /* to set before the run */
    const struct gcb_match_goal *goals;
    size_t goal_count;
    /* one for each method and goal: `count`; room for goal_count more */
    struct gcb_match_search *searches;
    size_t count;
    bool compose; /* also search compositions */
    bool over;    /* of each method, search only the parameter of its line search */
    bool narrow;  /* methods may be left out */

    /* the result: `searches` of methods, then at most one composition for each goal */
    size_t composed; /* number of compositions, the last of `searches` */
    /* the compositions with a plain stage, searched in the same way */
    struct gcb_match_search *without;
    struct gcb_choice_stage {
        const struct gcb_match_goal *goal; /* of the composition */
        enum gcb_stage_name stage;         /* the stage that is plain */
    } * stages;                            /* without_count */
    size_t without_count;
    /* All settings searched: a family for each method and goal, in the order of `searches` before
     * the run, and then a family of compositions for each goal. On the sample, if one was taken. */
    struct gcb_descent descent;
    uint64_t sampled, elements; /* elements of the sample (0: none was taken), and of the input */
    char left_out[1000];        /* methods that were left out: "powersgd, demo" */
};

/* `config` and `observer` as in gcb_match_run. After an interruption, compositions that were not
 * measured over the whole input are missing. */
int gcb_choose_run(struct gcb_choice *c, const struct gcb_run_config *config,
                   const struct gcb_run_observer *observer, bool *interrupted,
                   struct gcb_diag *diag);
void gcb_choice_fini(struct gcb_choice *c); /* zeroed is fine */

/* True if this family of c->descent has compositions. */
bool gcb_choice_composes(const struct gcb_choice *c, size_t family);
/* True if this search is one of a composition. */
bool gcb_choice_composed(const struct gcb_choice *c, size_t search);

/* What stage `k` of `without` earns: how many times the bytes of the composition (at a limit on the
 * size: its error) the best setting with the plain stage takes. NAN: it does not meet the goal. */
double gcb_choice_earns(const struct gcb_choice *c, size_t k);

/* Adds to a summary row of `sweep --match` what the choice knows of a search; all null after the
 * last search. */
void gcb_choice_put(struct gcb_row *row, const struct gcb_choice *c, size_t search);

#endif
