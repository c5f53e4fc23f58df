#ifndef SRC_TOOL_SEARCH_DESCENT_H
#define SRC_TOOL_SEARCH_DESCENT_H

#include "src/tool/search/match.h"

/*
 * Searches the settings of methods for a goal by coordinate descent. Each setting gets a line
 * search along a parameter (src/tool/search/match.h). Then one parameter at a time is changed in
 * the best settings so far, until no change improves them. The search of a changed setting starts
 * where that of the setting before it has ended. All methods advance together.
 */
struct gcb_descent;

/* What is searched for: the best setting of a method for a goal. */
struct gcb_descent_family {
    struct gcb_method user; /* the method as the user gave it: what the user set is not changed */
    const struct gcb_match_goal *goal;
    bool over;   /* only the parameter of the line search is searched */
    size_t wide; /* settings that are changed in each round */
    /* Adds changes of a setting; gcb_descent_vary, or others. */
    void (*change)(struct gcb_descent *d, size_t from);
    /* Settings that are too much alike for both to be changed; NULL: none are. */
    bool (*alike)(const struct gcb_method *a, const struct gcb_method *b);
};

struct gcb_descent_node {
    size_t family;
    size_t parent; /* the setting that was changed; SIZE_MAX: none */
    bool changed;  /* its own changes were added */
};

struct gcb_descent {
    /* to set before the run */
    struct gcb_descent_family *families; /* borrowed */
    size_t family_count;
    bool several; /* there are several messages */
    /* Adds the next settings of a family after each round. NULL: the changes of its best ones. */
    void (*grow)(struct gcb_descent *d, size_t family);
    void *ctx; /* for `grow` */
    struct gcb_diag *diag;

    int err; /* of the first setting that could not be added: nothing is added after it */

    /* the settings: a search and a node for each */
    struct gcb_match_search *searches;
    struct gcb_descent_node *nodes;
    size_t count, search_cap, node_cap;
};

/* Appends a search. */
void gcb_descent_append(struct gcb_descent *d, size_t family, const struct gcb_match_search *s,
                        size_t parent);
/* Adds a setting, unless the family has it or it is not valid. `method` may have a value of the
 * parameter that is searched; `key` names this parameter (NULL: the method's own). */
void gcb_descent_add(struct gcb_descent *d, size_t family, const struct gcb_method *method,
                     const char *key, size_t parent);

/*
 * Adds all changes of one parameter that the parameter tables allow: the other values of a choice,
 * and half and twice a number, and the next values of a whole number or 16 times a size and a 16th
 * of it; of 0, which means "automatic" or "all", some numbers. What a user has set stays, and real
 * numbers, the parameters of the memory and of the exchange, and a choice that makes the method
 * what it is. A whole number that is searched may change places with another that changes the size.
 */
void gcb_descent_vary(struct gcb_descent *d, size_t from);

/* `config` and `observer` as in gcb_match_run. Returns d->err. */
int gcb_descent_run(struct gcb_descent *d, const struct gcb_run_config *config,
                    const struct gcb_run_observer *observer, bool *interrupted);

/* Appends to the `n` settings in `best` the best others of a family, each unlike all before it, up
 * to `most`. Settings that miss the goal come last. Returns how many there are. */
size_t gcb_descent_rank(const struct gcb_descent *d, size_t family, size_t *best, size_t n,
                        size_t most,
                        bool (*alike)(const struct gcb_method *, const struct gcb_method *));

/* Makes one result of all settings of a family; after an interruption, of the best setting that was
 * measured. */
int gcb_descent_result(struct gcb_match_search *out, const struct gcb_descent *d, size_t family,
                       bool interrupted);
void gcb_descent_fini(struct gcb_descent *d); /* zeroed is fine */

#endif
