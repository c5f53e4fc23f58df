#ifndef SRC_TOOL_SEARCH_DESCENT_H
#define SRC_TOOL_SEARCH_DESCENT_H

#include "src/tool/search/match.h"

/*
 * Searches the settings of methods for a goal by coordinate descent. A setting fixes all parameters
 * of a method except one, and a line search finds the best value of that parameter
 * (src/tool/search/match.h). Each round changes one parameter at a time in the best settings so
 * far, until no change improves them. The line search of a changed setting starts where the search
 * of its parent, the setting before the change, has ended. All methods advance together.
 */
struct gcb_descent;

/* A set of settings, of which the best one for a goal is searched for: those of a method, or all
 * compositions. */
struct gcb_descent_family {
    struct gcb_method user; /* the method as the user gave it: what the user set is not changed */
    const struct gcb_match_goal *goal;
    bool over;   /* only the parameter of the line search is searched */
    size_t wide; /* settings that are changed in each round, at most GCB_DESCENT_WIDE */
    /* Adds the changes of setting number `from`: gcb_descent_vary, or another function. */
    void (*change)(struct gcb_descent *d, size_t from);
    /* True if settings are so similar that a round changes only the better one. NULL: never. */
    bool (*alike)(const struct gcb_method *a, const struct gcb_method *b);
};
#define GCB_DESCENT_WIDE 8

struct gcb_descent_node {
    size_t family;
    size_t parent; /* number of the setting that was changed; SIZE_MAX: none */
    bool changed;  /* the changes of this setting were added */
};

struct gcb_descent {
    /* to set before the run */
    struct gcb_descent_family *families; /* borrowed */
    size_t family_count;
    bool several; /* there are several messages */
    /* Adds the next settings of a family after each round. NULL: adds the changes of its best
     * settings. */
    void (*grow)(struct gcb_descent *d, size_t family);
    void *ctx; /* for `grow` */
    struct gcb_diag *diag;

    double shown; /* share of the progress bar that earlier rounds took */
    int err; /* status of the first setting that could not be added; then nothing more is added */

    /* for each setting: its line search, and its place in the descent */
    struct gcb_match_search *searches;
    struct gcb_descent_node *nodes;
    size_t count, search_cap, node_cap;
};

/* Appends a setting with this line search, which is copied. Sets d->err if memory runs out. */
void gcb_descent_append(struct gcb_descent *d, size_t family, const struct gcb_match_search *s,
                        size_t parent);
/* Adds a setting with a line search along the parameter `key` (NULL: the method's own). The value
 * of this parameter in `method` is ignored. Adds nothing if the family has the setting. A setting
 * that is not valid sets d->err if it has no parent; otherwise it is left out. */
void gcb_descent_add(struct gcb_descent *d, size_t family, const struct gcb_method *method,
                     const char *key, size_t parent);

/*
 * Adds all changes of one parameter of the codec in setting number `from`:
 *   - a choice takes each of its other values;
 *   - a number is halved and doubled. A whole number is also decreased and increased by 1; a size
 *     is also divided and multiplied by 16;
 *   - a number that is 0, which means "automatic" or "all", takes some usual values;
 *   - if the line search is along a whole number, it may move to another whole number that changes
 *     the size.
 * Some parameters stay: what the user has set, real numbers, and a choice that makes the method
 * what it is.
 */
void gcb_descent_vary(struct gcb_descent *d, size_t from);

/* Runs the descent. `config` and `watch` as in gcb_match_run. Returns d->err. */
int gcb_descent_run(struct gcb_descent *d, const struct gcb_run_config *config,
                    const struct gcb_watch *watch, bool *interrupted);

/* Ranks the settings of a family. `best` has the numbers of `n` settings. Appends the best other
 * settings until there are `most`. Leaves out a setting that is `alike` to a setting in `best`
 * (NULL: leaves out none). Settings that miss the goal come last. Returns the new number of
 * settings. */
size_t gcb_descent_rank(const struct gcb_descent *d, size_t family, size_t *best, size_t n,
                        size_t most,
                        bool (*alike)(const struct gcb_method *, const struct gcb_method *));

/* Makes one result of all settings of a family (gcb_match_combine). After an interruption, the
 * result is the best setting that was measured; if there is none, *out is unchanged. Returns 0,
 * GCB_E_NOMEM, or an error of gcb_match_combine. */
int gcb_descent_result(struct gcb_match_search *out, const struct gcb_descent *d, size_t family,
                       bool interrupted);
void gcb_descent_fini(struct gcb_descent *d); /* zeroed is fine */

#endif
