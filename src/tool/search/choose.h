#ifndef SRC_TOOL_SEARCH_CHOOSE_H
#define SRC_TOOL_SEARCH_CHOOSE_H

#include "src/tool/search/match.h"

/*
 * Searches the settings of methods for a goal by coordinate descent. A setting fixes all parameters
 * of a method except one, and a line search finds the best value of that parameter
 * (src/tool/search/match.h). Each round changes one parameter at a time in the best settings so
 * far, until no change improves them. The line search of a changed setting starts near what its
 * parent, the setting before the change, has found for the same parameter. All methods advance
 * together.
 */
struct gcb_descent;

/* The settings of a method, or all compositions. The search finds the best setting of each family
 * for its goal. */
struct gcb_descent_family {
    /* the method as the user gave it: what the user set is not changed; unset for compositions */
    struct gcb_method user;
    const struct gcb_match_goal *goal;
    bool over;   /* only the parameter of the line search is searched */
    size_t wide; /* settings that are changed in each round, at most GCB_DESCENT_WIDE */
    /* Adds the settings that differ from setting `from` by one change, as gcb_descent_vary does. */
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
    /* The caller sets the members from here to `shown` before the run, and zeroes all others. */
    struct gcb_descent_family *families; /* borrowed */
    size_t family_count;
    bool several; /* there are several messages */
    /* Adds the next settings of a family after each round. NULL: adds the changes of its best
     * settings. */
    void (*grow)(struct gcb_descent *d, size_t family);
    void *ctx; /* for `grow` */
    struct gcb_diag *diag;
    double shown; /* share of the progress bar that is used up; each round increases it */

    int err; /* the first error, of adding a setting or of a round; then nothing is added */

    /* for each setting: its line search, and its place in the descent */
    struct gcb_match_search *searches;
    struct gcb_descent_node *nodes;
    size_t count, search_cap, node_cap;
};

/* Appends a setting with this line search, which is copied. Does nothing if d->err is set. */
void gcb_descent_append(struct gcb_descent *d, size_t family, const struct gcb_match_search *s,
                        size_t parent);
/* Adds a setting with a line search along the parameter `key` (NULL: the first that changes the
 * size). The value of this parameter in `method` is ignored. Adds nothing if the family has the
 * setting. A setting with a parent is left out if it is not valid, if `key` has no effect in it, or
 * if gcb_match_search_init fails. Without a parent, such a failure sets d->err. */
void gcb_descent_add(struct gcb_descent *d, size_t family, const struct gcb_method *method,
                     const char *key, size_t parent);

/*
 * Adds the settings that differ from setting `from` in one parameter of the codec:
 *   - a choice takes each of its other values;
 *   - a number is halved and doubled. A whole number is also decreased and increased by 1; a size
 *     is also divided and multiplied by 16;
 *   - a number that is 0, which means "automatic" or "all", takes some usual values;
 *   - but if the line search is along a whole number, another whole number that changes the size
 *     is not changed: a new line search goes along that number instead.
 * Some parameters stay: what the user has set, real numbers, tiles, and a choice that makes the
 * method what it is. If the family is `over`, adds nothing.
 */
void gcb_descent_vary(struct gcb_descent *d, size_t from);

/* Runs the descent. `config` and `watch` as in gcb_match_run. *interrupted must be false at the
 * call, and becomes true if the watch stopped the run. Returns d->err. */
int gcb_descent_run(struct gcb_descent *d, const struct gcb_run_config *config,
                    const struct gcb_watch *watch, bool *interrupted);

/* Ranks the settings of a family. `best` has the numbers of `n` settings, and room for `most`.
 * Appends the best other settings until there are `most`. Leaves out a setting that is `alike` to a
 * setting in `best` (NULL: leaves out none), and settings that were not measured. Settings that
 * miss the goal come last. Returns the new number of settings. */
size_t gcb_descent_rank(const struct gcb_descent *d, size_t family, size_t *best, size_t n,
                        size_t most,
                        bool (*alike)(const struct gcb_method *, const struct gcb_method *));

/* Combines all settings of a family into one result (gcb_match_combine). After an interruption, the
 * result is the best setting that was measured; if there is none, *out is unchanged. Returns 0 or
 * an error of gcb_match_combine. */
int gcb_descent_result(struct gcb_match_search *out, const struct gcb_descent *d, size_t family,
                       bool interrupted);
void gcb_descent_fini(struct gcb_descent *d); /* zeroed is fine */

/*
 * Searches the compositions of the sparse codec (transform and chunk, selection, values and bits,
 * index coder) for the best one at a goal. docs/method.md says which compositions are tried and
 * which are left out.
 *
 * The search is a coordinate descent. Each round changes one stage at a time in the best three
 * compositions. The descent begins without a transform: with top-k (and also with a threshold, if
 * there are several messages), range floats of 5, 8 or 12 bits, and the adaptive index.
 */
#define GCB_COMPOSE_BEST 3 /* compositions that are changed in each round */

/* Makes d->families[family] a family of compositions and adds its first settings. The caller has
 * set d->several. `goal` is borrowed. */
void gcb_compose_begin(struct gcb_descent *d, size_t family, const struct gcb_match_goal *goal);

/* True if two compositions have the same transform (in chunks or tiles of any size), values and
 * bits. They may select in different ways and have different index coders. */
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

/* Sets *out to the composition `from` with the plain stage in place of one of its stages. Returns
 * false if that stage is plain already, or if the result is not valid. */
bool gcb_compose_without(struct gcb_method *out, const struct gcb_method *from,
                         enum gcb_stage_name stage);
/* Writes the parameters of a stage, such as "transform=dct,chunk=64", cut to `size` bytes. The
 * chunk is written only with a transform. Returns out. */
char *gcb_compose_stage(char *out, size_t size, const struct gcb_method *m,
                        enum gcb_stage_name stage);

/*
 * The search of `sweep --match`. For each method and goal it finds the best setting, or two
 * settings that share the messages (struct gcb_mix). With `compose` it also finds the best
 * composition of the sparse codec for each goal, and what each of its stages earns.
 *
 * The search varies the parameters of a method by gcb_descent_vary. If the input has more than
 * GCB_CHOOSE_SAMPLE elements, the search runs on a sample first. The few best settings are then
 * searched on the whole input; each of these searches starts near the result on the sample.
 */
#define GCB_CHOOSE_SAMPLE (UINT64_C(1) << 20)

/* With `narrow`, methods may be left out if the input has more than GCB_CHOOSE_LARGE elements and
 * some method meets the goal on the sample. A method is left out if, on the sample, it misses the
 * goal or takes more than GCB_CHOOSE_FAR times the bytes (or the error) of the best method. */
#define GCB_CHOOSE_LARGE (UINT64_C(1) << 24)
#define GCB_CHOOSE_FAR 3.0

/* The task and the result of a search. Release with gcb_choice_fini. */
struct gcb_choice {
    /* The caller sets the members from here to `narrow` before the run, and zeroes all others. */
    const struct gcb_match_goal *goals; /* borrowed */
    size_t goal_count;
    /* One search for each method and goal, `count` in all. The array is allocated by the caller,
     * owned by this struct, and has room for goal_count more searches. */
    struct gcb_match_search *searches;
    size_t count;
    bool compose; /* also search compositions */
    bool over;    /* vary only the parameter of each method's line search */
    bool narrow;  /* methods that are far worse on the sample may be left out (GCB_CHOOSE_FAR) */

    /* The result. `searches` now has `count` results: one for each method and goal, unless the
     * method was left out for the goal; then at most one composition for each goal. */
    size_t composed; /* number of compositions at the end of `searches` */
    /* results of the compositions again, each with one stage replaced by the plain stage */
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
    char left_out[1000];        /* methods left out for some goal: "powersgd, demo"; "": none */
};

/* Runs the search. `config` and `watch` as in gcb_match_run. *interrupted must be false at the
 * call. If the search of the settings is interrupted, there are no compositions; if this happens on
 * the sample, c->searches is unchanged. */
int gcb_choose_run(struct gcb_choice *c, const struct gcb_run_config *config,
                   const struct gcb_watch *watch, bool *interrupted, struct gcb_diag *diag);
void gcb_choice_fini(struct gcb_choice *c); /* zeroed is fine */

/* True if this family of c->descent has compositions. */
bool gcb_choice_composes(const struct gcb_choice *c, size_t family);
/* True if c->searches[search] is a composition. */
bool gcb_choice_composed(const struct gcb_choice *c, size_t search);

/* Returns what a stage of a composition earns: the cost of c->without[k] (gcb_match_cost), divided
 * by the cost of the composition. NAN: with the plain stage the goal is not met. */
double gcb_choice_earns(const struct gcb_choice *c, size_t k);

/* Adds to a summary row of `sweep --match` whether c->searches[search] is a composition, and what
 * its stages earn. If `search` is not below c->count, as for a baseline, the fields are null. */
void gcb_choice_put(struct gcb_row *row, const struct gcb_choice *c, size_t search);

#endif
