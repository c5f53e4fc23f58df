#ifndef SRC_TOOL_SEARCH_CHOICE_H
#define SRC_TOOL_SEARCH_CHOICE_H

#include "src/tool/run/policy.h"
#include "src/tool/search/compose.h"

/* elements of the sample that a search over a larger input takes */
#define GCB_CHOOSE_SAMPLE (UINT64_C(1) << 20)

/* What gcb_choose_run (choose.h) is asked to find, and what it found. gcb_choice_fini releases it. */
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
    bool allot;   /* also search a policy for goals[0] (src/tool/search/policy_search.h) */

    /* the result: `searches` of methods, then at most one composition for each goal */
    size_t composed; /* number of compositions, the last of `searches` */
    /* the compositions with a plain stage, searched in the same way */
    struct gcb_match_search *without;
    struct gcb_choice_stage {
        const struct gcb_match_goal *goal; /* of the composition */
        enum gcb_stage_name stage;         /* the stage that is plain */
    } * stages;                            /* without_count */
    size_t without_count;
    /* settings searched of all methods and compositions, each with its own line search, and figures measured */
    size_t tried, evaluations;
    uint64_t sampled, elements; /* elements of the sample (0: none was taken), and of the input */
    struct gcb_policy policy;   /* without rules: none meets the goal */
    /* with `allot`: the searches of the compositions for goals[0], `tried_count` */
    struct gcb_match_search *tried_all;
    size_t tried_count;
    char left_out[1000]; /* methods that were left out: "powersgd, demo" */
};

#endif
