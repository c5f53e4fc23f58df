#include "src/tool/search/policy_search.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/read/layout.h"

/* ---- dividing a budget ---- */

/* A limit on the error is met with this margin, because the sum over the tensors differs from the
 * sum of a run by rounding. */
#define ROUNDING 1e-9

static int by_bytes_and_error(const void *a, const void *b)
{
    const struct gcb_allot_option *x = a, *y = b;
    const int bytes = (x->bytes > y->bytes) - (x->bytes < y->bytes);

    return bytes ? bytes : (x->error > y->error) - (x->error < y->error);
}

/* Returns the error that a step from a to b takes away for each byte that it adds. */
static double gain(const struct gcb_allot_option *a, const struct gcb_allot_option *b)
{
    return (a->error - b->error) / (b->bytes - a->bytes);
}

/* Sorts the items and keeps the lower convex hull: each item has more bytes and less error than the
 * item before it, and the gains of the steps between items fall. */
static void keep_hull(struct gcb_allotment *t)
{
    size_t n = 0;

    qsort(t->items, t->count, sizeof(*t->items), by_bytes_and_error);
    for (size_t i = 0; i < t->count; i++) {
        const struct gcb_allot_option item = t->items[i];

        if (n && !(item.error < t->items[n - 1].error))
            continue;
        while (n > 1 && gain(&t->items[n - 2], &t->items[n - 1]) <= gain(&t->items[n - 1], &item))
            n--;
        t->items[n++] = item;
    }
    t->count = n;
    t->chosen = 0;
}

struct gcb_allot_option gcb_allocated(const struct gcb_allotment *tensors, size_t count)
{
    struct gcb_allot_option sum = {0};

    for (size_t i = 0; i < count; i++) {
        sum.bytes += tensors[i].items[tensors[i].chosen].bytes;
        sum.error += tensors[i].items[tensors[i].chosen].error;
    }
    return sum;
}

/* True if these sums over all tensors meet the limit. */
static bool meets(const struct gcb_budget_limit *limit, const struct gcb_allot_option *sum)
{
    return limit->on_error ? sum->error <= limit->most * (1.0 - ROUNDING)
                           : sum->bytes <= limit->most;
}

/* Finds the tensor whose next step has the highest gain, among the steps that add at most `room`
 * bytes. Returns `count` if there is none. */
static size_t find_step(const struct gcb_allotment *tensors, size_t count, double room)
{
    size_t best = count;
    double most = 0.0;

    for (size_t i = 0; i < count; i++) {
        const struct gcb_allotment *t = &tensors[i];
        const struct gcb_allot_option *at = &t->items[t->chosen];

        if (t->chosen + 1 == t->count || at[1].bytes - at[0].bytes > room)
            continue;
        if (best == count || gain(&at[0], &at[1]) > most) {
            best = i;
            most = gain(&at[0], &at[1]);
        }
    }
    return best;
}

/* For a limit on the error, the last step may reduce the error more than needed. Takes back other
 * steps that the limit does not need, those with the most bytes first. */
static void take_back(struct gcb_allotment *tensors, size_t count,
                      const struct gcb_budget_limit *limit)
{
    for (;;) {
        const struct gcb_allot_option sum = gcb_allocated(tensors, count);
        size_t best = count;
        double most = 0.0;

        for (size_t i = 0; i < count; i++) {
            const struct gcb_allotment *t = &tensors[i];
            const struct gcb_allot_option *at = &t->items[t->chosen];
            struct gcb_allot_option without = sum;

            if (t->chosen == 0)
                continue;
            without.error += at[-1].error - at[0].error;
            if (meets(limit, &without) && at[0].bytes - at[-1].bytes > most) {
                best = i;
                most = at[0].bytes - at[-1].bytes;
            }
        }
        if (best == count)
            return;
        tensors[best].chosen--;
    }
}

bool gcb_allocate(struct gcb_allotment *tensors, size_t count, const struct gcb_budget_limit *limit,
                  double *slope)
{
    struct gcb_allot_option sum;

    *slope = 0.0;
    for (size_t i = 0; i < count; i++)
        keep_hull(&tensors[i]);
    sum = gcb_allocated(tensors, count);
    if (!limit->on_error && !meets(limit, &sum))
        return false;
    while (!limit->on_error || !meets(limit, &sum)) {
        const double room = limit->on_error ? (double)INFINITY : limit->most - sum.bytes;
        const size_t best = find_step(tensors, count, room);
        const struct gcb_allot_option *at;

        if (best == count)
            break;
        at = &tensors[best].items[tensors[best].chosen];
        if (find_step(tensors, count, (double)INFINITY) == best)
            *slope = 1.0 / gain(&at[0], &at[1]);
        tensors[best].chosen++;
        sum = gcb_allocated(tensors, count);
    }
    if (limit->on_error && !meets(limit, &sum))
        return false;
    if (limit->on_error)
        take_back(tensors, count, limit);
    return true;
}

/* ---- the rules of a policy ---- */

#define GLOB GCB_RULE_GLOB /* room for a glob; longer globs are not tried */

struct writer {
    const char *const *paths; /* paths of `count` tensors */
    const size_t *chosen;     /* for each tensor: the number of its method */
    size_t count;
    size_t rest;     /* number of the method of most tensors */
    bool *ruled;     /* for each tensor: a rule matches it */
    char best[GLOB]; /* the best glob so far */
    size_t covers;   /* number of tensors that `best` matches and no earlier rule does */
};

/* Appends n bytes of a path to a glob, where each byte matches only itself. But '?' replaces '=',
 * which would end the glob on the command line, and characters that rows and tables escape. A '-'
 * at the beginning becomes [-], so that the glob does not look like an option. Returns false if the
 * glob is too long. */
static bool append_literal(char glob[GLOB], const char *path, size_t n)
{
    size_t used = strlen(glob);

    for (size_t i = 0; i < n && used < GLOB - 4; i++) { /* room for "[x]" and the final 0 */
        const bool special = strchr("*?[", path[i]) || (used == 0 && path[i] == '-');

        if (special)
            glob[used++] = '[';
        glob[used++] = strchr("=\\", path[i]) || path[i] < ' ' || path[i] > '~' ? '?' : path[i];
        if (special)
            glob[used++] = ']';
    }
    glob[used] = '\0';
    return used < GLOB - 4;
}

/* Counts the tensors that the glob matches and that have no rule yet. Returns 0 if the method of
 * one of them is not `method`. */
static size_t count_covered(const struct writer *w, const char *glob, size_t method)
{
    size_t n = 0;

    for (size_t i = 0; i < w->count; i++) {
        if (w->ruled[i] || !gcb_glob(glob, w->paths[i]))
            continue;
        if (w->chosen[i] != method)
            return 0;
        n++;
    }
    return n;
}

/* Tries the glob in which '*' replaces the bytes [begin, end) of path number `path`. If end equals
 * begin, the glob is the path itself. The glob becomes w->best if it covers more tensors than
 * w->best, or as many and is shorter. */
static void try_glob(struct writer *w, size_t path, size_t begin, size_t end)
{
    const char *name = w->paths[path];
    const size_t length = strlen(name);
    char glob[GLOB] = "";
    bool fits = append_literal(glob, name, begin);
    size_t covers;

    if (fits && end > begin)
        gcb_append(glob, sizeof(glob), "*");
    fits = fits && append_literal(glob, name + end, length - end);
    covers = fits ? count_covered(w, glob, w->chosen[path]) : 0;
    if (covers > w->covers || (covers && covers == w->covers && strlen(glob) < strlen(w->best))) {
        memcpy(w->best, glob, sizeof(glob));
        w->covers = covers;
    }
}

/* True if a '*' may begin or end before byte `at`: at an end of the path, next to a separator, or
 * where a number begins or ends. */
static bool is_joint(const char *path, size_t at)
{
    return at == 0 || !path[at] || strchr("./", path[at]) || strchr("./", path[at - 1]) ||
           !isdigit((unsigned char)path[at]) != !isdigit((unsigned char)path[at - 1]);
}

/* Finds the glob that matches the most tensors of one method, which is not w->rest, and no tensor
 * of another method. Tensors that have a rule do not count. If there is no such glob, w->covers is
 * 0. */
static void find_glob(struct writer *w)
{
    w->covers = 0;
    for (size_t i = 0; i < w->count; i++) {
        const size_t length = strlen(w->paths[i]);

        if (w->ruled[i] || w->chosen[i] == w->rest)
            continue;
        try_glob(w, i, length, length);
        /* '*' replaces each part of the path between two joints */
        for (size_t begin = 0; begin < length; begin++)
            for (size_t end = begin + 1; end <= length && is_joint(w->paths[i], begin); end++)
                if (is_joint(w->paths[i], end))
                    try_glob(w, i, begin, end);
    }
}

/* Adds a rule for w->best, and marks the tensors that the rule decides. */
static int add_rule(struct writer *w, struct gcb_policy *out, const struct gcb_method *methods,
                    struct gcb_diag *diag)
{
    size_t method = 0;

    for (size_t i = 0; i < w->count; i++)
        if (!w->ruled[i] && gcb_glob(w->best, w->paths[i])) {
            w->ruled[i] = true;
            method = w->chosen[i];
        }
    return gcb_policy_add(out, w->best, &methods[method], diag);
}

/* Returns the number of the method of most tensors. If several methods have as many tensors, takes
 * the one whose first tensor comes first. */
static size_t find_rest(const struct writer *w)
{
    size_t rest = 0, most = 0;

    for (size_t i = 0; i < w->count; i++) {
        size_t n = 0;

        for (size_t k = 0; k < w->count; k++)
            n += w->chosen[k] == w->chosen[i];
        if (n > most) {
            most = n;
            rest = w->chosen[i];
        }
    }
    return rest;
}

int gcb_policy_write(struct gcb_policy *out, const char *const *paths, const size_t *chosen,
                     size_t count, const struct gcb_method *methods, struct gcb_diag *diag)
{
    struct writer w = {.paths = paths, .chosen = chosen, .count = count};
    bool all = true; /* each tensor that needs a rule has one */
    int err = 0;

    w.ruled = gcb_must_zero(count, sizeof(*w.ruled));
    w.rest = find_rest(&w);
    for (find_glob(&w); !err && w.covers; find_glob(&w))
        err = add_rule(&w, out, methods, diag);
    for (size_t i = 0; i < count; i++)
        all &= w.ruled[i] || chosen[i] == w.rest;
    if (!err && all)
        err = gcb_policy_add(out, NULL, &methods[w.rest], diag);
    else
        gcb_policy_fini(out);
    gcb_free(w.ruled);
    return err;
}

/* ---- the search for a policy ---- */

/* The tensors of a path are small if together they have less than 1 / SMALL_SHARE of the
 * elements. */
#define SMALL_SHARE 1000
#define MOST_METHODS 8 /* most settings that keep_few keeps */
/* A policy with fewer settings is preferred if it takes at most this many times the bytes (or the
 * error). */
#define NEAR 1.02
#define EARNS 0.002 /* share of the bytes that each further setting has to save to be kept */

/* The settings measured around each setting found: factors of gcb_rate_axis_scale. */
static const double coarse[] = {1.0, 0.0625, 0.25, 0.5, 0.75, 1.4, 2.0, 4.0, 16.0};
static const double fine[] = {1.0, 0.8, 0.9, 1.12, 1.25};
/* At the end, one of these factors or its reciprocal scales all settings, so that the messages use
 * up the budget. */
#define LAST_STEPS 8
static const double last[LAST_STEPS] = {1.0, 0.98, 0.96, 0.94, 0.91, 0.88, 0.84, 0.8};

/* Sums over the messages of a unit (struct searcher) with one method. If only a part of the input
 * was measured, the sums are scaled up to the whole. INFINITY: the method failed on a message, even
 * of another unit, or the part has no message of this unit. */
struct sums {
    double bytes;
    double error;      /* squared errors */
    double squares;    /* squared elements */
    uint64_t elements; /* of the messages that were measured, not scaled up */
};

/* A setting that is measured. */
struct candidate {
    struct gcb_method method;
    struct gcb_rate_axis axis;
    uint64_t position;
    struct sums *sums; /* sums of each unit in the last run; a part of searcher.sums */
};

/* The state of gcb_policy_search. A unit is a set of tensors that get the same method. */
struct searcher {
    const struct gcb_choice *choice;
    const struct gcb_match_goal *goal;
    const struct gcb_run_config *config;
    const struct gcb_watch *watch;
    const char **paths; /* paths of the tensors, sorted, each only once */
    size_t path_count;
    size_t count;         /* number of units */
    size_t *unit_of_path; /* for each path: its unit */
    size_t *unit_of;      /* for each tensor of the source: its unit */
    uint64_t *whole;      /* for each unit: elements of all its messages */
    uint64_t input_bytes; /* input bytes of all messages */
    struct candidate *candidates;
    size_t candidate_count, cap;
    struct sums *sums;              /* of the last run: [method * count + unit] */
    struct gcb_allotment *units;    /* for each unit: its settings */
    struct gcb_allot_option *items; /* settings of all units, one unit after the other */
    struct gcb_diag *diag;
};

bool gcb_policy_search_can(const struct gcb_match_goal *goal)
{
    /* a cosine and an error of the mean do not follow from the sums in struct sums */
    return goal->field != GCB_FIELD_COSINE && goal->field != GCB_FIELD_ERROR_OF_MEAN;
}

/* ---- tensors and units ---- */

static int by_path(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the paths of the tensors, sorted, each only once. Also allocates unit_of_path, unit_of and
 * whole. */
static void list_paths(struct searcher *s)
{
    const struct gcb_layout *layout = s->config->layout;
    size_t kept = 0;

    s->paths = gcb_must_array(layout->count, sizeof(*s->paths));
    s->unit_of_path = gcb_must_zero(layout->count, sizeof(*s->unit_of_path));
    s->unit_of = gcb_must_zero(gcb_source_count(s->config->source), sizeof(*s->unit_of));
    s->whole = gcb_must_zero(layout->count + 1, sizeof(*s->whole));
    for (size_t i = 0; i < layout->count; i++)
        s->paths[s->path_count++] =
            gcb_source_tensor(s->config->source, layout->messages[i].pieces[0].tensor)->path;
    qsort(s->paths, s->path_count, sizeof(*s->paths), by_path);
    for (size_t i = 0; i < s->path_count; i++)
        if (kept == 0 || strcmp(s->paths[i], s->paths[kept - 1]) != 0)
            s->paths[kept++] = s->paths[i];
    s->path_count = kept;
}

/* Divides the tensors into units. Unit 0 has all small tensors, because their paths are too small
 * to be worth a rule each. Each other unit has the tensors of one path. */
static void list_units(struct searcher *s)
{
    const struct gcb_layout *layout = s->config->layout;
    const uint64_t small = gcb_layout_elements(layout) / SMALL_SHARE;
    uint64_t *elements = gcb_must_zero(s->path_count, sizeof(*elements));

    /* until the units are known, unit_of has the index of each tensor's path */
    for (size_t i = 0; i < layout->count; i++) {
        const size_t tensor = layout->messages[i].pieces[0].tensor;
        const char *path = gcb_source_tensor(s->config->source, tensor)->path;
        const char **found = bsearch(&path, s->paths, s->path_count, sizeof(*s->paths), by_path);

        s->unit_of[tensor] = (size_t)(found - s->paths);
        elements[s->unit_of[tensor]] += layout->messages[i].count;
    }
    s->count = 1;
    for (size_t p = 0; p < s->path_count; p++)
        s->unit_of_path[p] = elements[p] < small ? 0 : s->count++;
    for (size_t i = 0; i < layout->count; i++) {
        size_t *unit = &s->unit_of[layout->messages[i].pieces[0].tensor];

        *unit = s->unit_of_path[*unit];
        s->whole[*unit] += layout->messages[i].count;
        s->input_bytes += layout->messages[i].input_bytes;
    }
    gcb_free(elements);
}

/* ---- candidates ---- */

static bool has_method(const struct searcher *s, const struct gcb_method *m)
{
    for (size_t i = 0; i < s->candidate_count; i++)
        if (s->candidates[i].method.name == m->name &&
            memcmp(s->candidates[i].method.value, m->value, sizeof(m->value)) == 0)
            return true;
    return false;
}

/* Adds a candidate for each factor: the setting of `at`, scaled by gcb_rate_axis_scale. Leaves out
 * settings that are candidates already. If `at` cannot be scaled, adds its setting once. */
static int add_settings(struct searcher *s, const struct candidate *at, const double *factors,
                        size_t count)
{
    const struct candidate from = *at; /* the array may move */

    for (size_t i = 0; i < (from.axis.param ? count : 1); i++) {
        struct candidate c = from;
        int err;

        c.position = gcb_rate_axis_scale(&c.axis, c.position, factors[i]);
        err = gcb_rate_axis_set(&c.method, &c.axis, c.position, s->diag);
        if (err)
            return err;
        if (has_method(s, &c.method))
            continue;
        gcb_must_grow(&s->candidates, &s->cap, s->candidate_count, sizeof(*s->candidates));
        s->candidates[s->candidate_count++] = c;
    }
    return 0;
}

/* Adds the settings around the setting that a search found. Adds none if the search has another
 * goal, or measured nothing. */
static int add_search(struct searcher *s, const struct gcb_match_search *search,
                      const double *factors, size_t count)
{
    const struct candidate at = {
        .method = search->method, .axis = search->axis, .position = search->found.position};

    if (search->goal != s->goal || search->line.seen_count == 0)
        return 0;
    return add_settings(s, &at, factors, count);
}

/* Adds the coarse settings around what each search found, and around all compositions tried. */
static int add_candidates(struct searcher *s)
{
    const struct gcb_choice *c = s->choice;
    const size_t n = sizeof(coarse) / sizeof(coarse[0]);
    int err = 0;

    for (size_t i = 0; !err && i < c->count; i++)
        err = add_search(s, &c->searches[i], coarse, n);
    for (size_t i = 0; !err && i < c->descent.count; i++)
        if (gcb_choice_composes(c, c->descent.nodes[i].family))
            err = add_search(s, &c->descent.searches[i], coarse, n);
    return err;
}

/* ---- measuring ---- */

/* Adds a message to the sums of its method and unit. */
static int on_trial(void *ctx, const struct gcb_run_trial *t, struct gcb_diag *diag)
{
    struct searcher *s = ctx;
    struct sums *sums = &s->sums[t->method * s->count + s->unit_of[t->plan->pieces[0].tensor]];

    sums->bytes += (double)t->tally.wire_bytes;
    sums->error += t->tally.fidelity.dd;
    sums->squares += t->tally.fidelity.xx;
    sums->elements += t->tally.elements;
    return 0;
}

/* Scales the sums of a unit up to its `whole` elements. `failed`: the method failed on some message
 * of any unit. */
static void scale_up(struct sums *sums, uint64_t whole, bool failed)
{
    const double scale = whole ? (double)whole / (double)sums->elements : 1.0;

    sums->bytes *= scale;
    sums->error *= scale;
    sums->squares *= scale;
    if (failed || (whole && !sums->elements) || !isfinite(sums->error))
        sums->bytes = sums->error = sums->squares = (double)INFINITY;
}

/* Measures methods on the messages of a layout, into s->sums. Frees the sums of the run before, so
 * the candidates' pointers to them are no longer valid. `by_tensor` as in struct gcb_run_config. */
static int measure_methods(struct searcher *s, const struct gcb_layout *layout,
                           const struct gcb_method *methods, size_t count,
                           const struct gcb_method *const *const *by_tensor, bool *interrupted)
{
    const struct gcb_run_observer observer = {on_trial, s, *s->watch};
    struct gcb_run_config config = *s->config;
    struct gcb_run_result result;
    int err;

    gcb_free(s->sums);
    s->sums = gcb_must_zero((uint64_t)count * s->count, sizeof(*s->sums));
    config.layout = layout;
    config.in_place = layout == s->config->layout ? config.in_place : 0;
    config.methods = methods;
    config.method_count = count;
    config.by_tensor = by_tensor;
    config.carry_on = true;
    config.trial.timing = (struct gcb_timing){.repeat = 1};
    err = gcb_run(&result, &config, &observer, s->diag);
    *interrupted = result.interrupted;
    for (size_t m = 0; m < result.method_count; m++)
        for (size_t u = 0; u < s->count; u++)
            scale_up(&s->sums[m * s->count + u], s->whole[u], result.totals[m].failure.status);
    gcb_run_result_fini(&result);
    return err;
}

/* ---- dividing the budget among the units ---- */

/* Returns the squared norm of a unit's tensors; 0: no candidate has finite sums of them. */
static double squares_of(const struct searcher *s, size_t unit)
{
    for (size_t i = 0; i < s->candidate_count; i++)
        if (isfinite(s->candidates[i].sums[unit].squares))
            return s->candidates[i].sums[unit].squares;
    return 0.0;
}

/* Converts the goal to a limit on the sum of squared errors, or of bytes. */
static struct gcb_budget_limit limit_of(const struct searcher *s)
{
    struct gcb_budget_limit limit = {.on_error = s->goal->field == GCB_FIELD_REL_L2};
    double elements = 0.0;

    for (size_t u = 0; u < s->count; u++)
        elements += (double)s->whole[u];
    for (size_t u = 0; limit.on_error && u < s->count; u++)
        limit.most += squares_of(s, u) * s->goal->target * s->goal->target;
    if (s->goal->field == GCB_FIELD_RATIO)
        limit.most = (double)s->input_bytes / s->goal->target;
    else if (s->goal->field == GCB_FIELD_BITS_PER_ELEMENT)
        limit.most = elements * s->goal->target / 8.0;
    else if (s->goal->field == GCB_FIELD_WIRE_BYTES)
        limit.most = s->goal->target;
    return limit;
}

/* Lists the settings of unit u in unit->items. Returns true if a setting made messages of the
 * unit's tensors. */
static bool list_items(const struct searcher *s, size_t u, struct gcb_allotment *unit)
{
    bool measured = false;

    unit->count = 0;
    for (size_t m = 0; m < s->candidate_count; m++) {
        const struct sums *sums = &s->candidates[m].sums[u];

        if (!isfinite(sums->bytes))
            continue;
        unit->items[unit->count++] = (struct gcb_allot_option){sums->bytes, sums->error, m};
        measured |= sums->bytes > 0.0;
    }
    if (unit->count == 0) /* all methods failed, or the unit is not in the sample */
        unit->items[unit->count++] = (struct gcb_allot_option){0.0, squares_of(s, u), 0};
    return measured;
}

/* Chooses a setting for each unit within the budget, by the sizes and errors of the candidates'
 * last measurement. *met becomes true if the budget suffices and some method makes messages.
 * *slope is that of gcb_allocate. */
static void divide_budget(struct searcher *s, bool *met, double *slope)
{
    const struct gcb_budget_limit limit = limit_of(s);
    bool measured = false;

    *met = false;
    if (s->candidate_count == 0)
        return;
    gcb_free(s->items);
    gcb_free(s->units);
    s->items = gcb_must_array((uint64_t)s->candidate_count * s->count, sizeof(*s->items));
    s->units = gcb_must_zero(s->count, sizeof(*s->units));
    for (size_t u = 0; u < s->count; u++) {
        s->units[u].items = &s->items[u * s->candidate_count];
        measured |= list_items(s, u, &s->units[u]);
    }
    *met = gcb_allocate(s->units, s->count, &limit, slope) && measured;
}

/* Measures the candidates on the messages of a layout, and divides the budget. *met and *slope are
 * those of divide_budget; *met is false after an interruption. */
static int measure_and_divide(struct searcher *s, const struct gcb_layout *layout, bool *met,
                              double *slope, bool *interrupted)
{
    struct gcb_method *methods = gcb_must_array(s->candidate_count, sizeof(*methods));
    int err;

    *met = false;
    for (size_t i = 0; i < s->candidate_count; i++)
        methods[i] = s->candidates[i].method;
    err = measure_methods(s, layout, methods, s->candidate_count, NULL, interrupted);

    for (size_t i = 0; !err && i < s->candidate_count; i++)
        s->candidates[i].sums = &s->sums[i * s->count];
    if (!err && !*interrupted)
        divide_budget(s, met, slope);
    gcb_free(methods);
    return err;
}

/* Calls measure_and_divide for a sample of the input, or for all of a small input. */
static int measure_sample(struct searcher *s, bool *met, double *slope, bool *interrupted)
{
    struct gcb_sample sample;
    int err;

    if (gcb_layout_elements(s->config->layout) <= GCB_CHOOSE_SAMPLE)
        return measure_and_divide(s, s->config->layout, met, slope, interrupted);
    err = gcb_sample_every_tensor(&sample, s->config->source, s->config->layout, GCB_CHOOSE_SAMPLE,
                                  s->diag);
    if (!err)
        err = measure_and_divide(s, &sample.layout, met, slope, interrupted);
    gcb_sample_fini(&sample);
    return err;
}

/* Returns the cost of a method for a unit in bytes, if a squared error of 1 costs `slope` bytes.
 * INFINITY: the method has no finite sums of the unit. */
static double cost_of(const struct candidate *c, size_t unit, double slope)
{
    return isfinite(c->sums[unit].bytes) ? c->sums[unit].bytes + slope * c->sums[unit].error
                                         : (double)INFINITY;
}

/* Keeps at most MOST_METHODS candidates, and moves them to the front. Chooses one candidate at a
 * time: the one that lowers the cost of all units together most, if each unit takes the cheapest
 * candidate chosen so far. */
static void keep_few(struct searcher *s, double slope)
{
    double *cost = gcb_must_array(s->count, sizeof(*cost));
    const double bytes = gcb_allocated(s->units, s->count).bytes;
    /* the cost of a unit without a method: large, but so that differences of costs are not rounded
     * away */
    const double unset = 1e6 * (1.0 + (double)s->input_bytes);
    size_t kept = 0;

    for (size_t u = 0; u < s->count; u++)
        cost[u] = unset;
    while (kept < MOST_METHODS) {
        struct candidate best;
        size_t at = kept;
        double most = 0.0;

        for (size_t m = kept; m < s->candidate_count; m++) {
            double saved = 0.0;

            for (size_t u = 0; u < s->count; u++)
                saved += fmax(0.0, cost[u] - cost_of(&s->candidates[m], u, slope));
            if (saved > most) {
                most = saved;
                at = m;
            }
        }
        if (at >= s->candidate_count || most <= (kept ? EARNS * bytes : 0.0))
            break;
        best = s->candidates[at];
        for (size_t u = 0; u < s->count; u++)
            cost[u] = fmin(cost[u], cost_of(&best, u, slope));
        s->candidates[at] = s->candidates[kept];
        s->candidates[kept++] = best;
    }
    gcb_free(cost);
    s->candidate_count = kept;
}

/* Adds fine settings around the best single method and around the candidates that were kept. */
static int add_fine(struct searcher *s)
{
    const struct gcb_choice *c = s->choice;
    const struct gcb_match_search *best = NULL;
    const size_t kept = s->candidate_count;
    int err = 0;

    for (size_t i = 0; i < c->count; i++)
        if (c->searches[i].goal == s->goal && c->searches[i].mix.reached &&
            (!best || gcb_match_cost(&c->searches[i]) < gcb_match_cost(best)))
            best = &c->searches[i];
    if (best)
        err = add_search(s, best, fine, sizeof(fine) / sizeof(fine[0]));
    for (size_t i = 0; !err && i < kept; i++)
        err = add_settings(s, &s->candidates[i], fine, sizeof(fine) / sizeof(fine[0]));
    return err;
}

/* ---- scaling the settings to use up the budget ---- */

/* LAST_STEPS versions of the policy. Version k scales all settings by last[k], or by 1 / last[k]
 * for a limit on the size. */
struct tuning {
    struct gcb_method *methods;          /* [version * candidate_count + candidate] */
    const struct gcb_method **of_tensor; /* [version * tensors + tensor] */
    const struct gcb_method *const
        *by_tensor[LAST_STEPS]; /* for each version: its part of of_tensor */
    size_t best;                /* index of the version to write */
};

/* Makes the versions of the policy. For a limit on the error, the messages get smaller from version
 * to version; for a limit on the size, larger. A setting at an end of its line stays. */
static int scale_methods(struct searcher *s, struct tuning *t, bool on_error)
{
    const size_t tensors = gcb_source_count(s->config->source);
    int err = 0;

    t->methods = gcb_must_array((uint64_t)LAST_STEPS * s->candidate_count, sizeof(*t->methods));
    t->of_tensor = gcb_must_array((uint64_t)LAST_STEPS * tensors, sizeof(*t->of_tensor));
    for (size_t k = 0; k < LAST_STEPS; k++) {
        const struct gcb_method **of = &t->of_tensor[k * tensors];

        for (size_t m = 0; !err && m < s->candidate_count; m++) {
            const struct candidate *at = &s->candidates[m];
            struct gcb_method *method = &t->methods[k * s->candidate_count + m];

            *method = at->method;
            err = gcb_rate_axis_set(
                method, &at->axis,
                gcb_rate_axis_scale(&at->axis, at->position, on_error ? last[k] : 1.0 / last[k]),
                s->diag);
        }
        for (size_t i = 0; i < tensors; i++) {
            const struct gcb_allotment *unit = &s->units[s->unit_of[i]];

            of[i] = &t->methods[k * s->candidate_count + unit->items[unit->chosen].setting];
        }
        t->by_tensor[k] = of;
    }
    return err;
}

/* Sets t->best to the best version that meets the limit. Version 0 is not scaled, and stays chosen
 * if rounding makes it miss the limit and no other version meets it. */
static void choose_version(const struct searcher *s, struct tuning *t,
                           const struct gcb_budget_limit *limit)
{
    double least = (double)INFINITY;

    for (size_t k = 0; k < LAST_STEPS; k++) {
        struct gcb_allot_option sum = {0};

        for (size_t u = 0; u < s->count; u++) {
            const struct sums *sums = &s->sums[k * s->count + u];

            sum.bytes += sums->bytes;
            sum.error += sums->error;
        }
        if (isfinite(sum.bytes) && meets(limit, &sum) &&
            (limit->on_error ? sum.bytes : sum.error) < least) {
            least = limit->on_error ? sum.bytes : sum.error;
            t->best = k;
        }
    }
}

/* Writes the policy, with its settings scaled so that the budget is used up. */
static int write_policy(struct searcher *s, struct gcb_policy *out, bool *interrupted)
{
    const struct gcb_budget_limit limit = limit_of(s);
    size_t *chosen = gcb_must_array(s->path_count, sizeof(*chosen));
    struct tuning t = {0};
    int err = scale_methods(s, &t, limit.on_error);

    if (!err)
        err =
            measure_methods(s, s->config->layout, t.methods, LAST_STEPS, t.by_tensor, interrupted);
    if (!err)
        choose_version(s, &t, &limit);
    for (size_t p = 0; !err && p < s->path_count; p++) {
        const struct gcb_allotment *unit = &s->units[s->unit_of_path[p]];

        chosen[p] = unit->items[unit->chosen].setting;
    }
    if (!err && !*interrupted)
        err = gcb_policy_write(out, s->paths, chosen, s->path_count,
                               &t.methods[t.best * s->candidate_count], s->diag);
    gcb_free(chosen);
    gcb_free(t.methods);
    gcb_free(t.of_tensor);
    if (err || out->count == 0)
        return err;
    return gcb_policy_bind(out, s->config->source, s->diag);
}

/* ---- the whole search ---- */

/* True if the settings chosen now are almost as good as the settings whose sums are `before`. NEAR
 * is squared for a limit on bytes, because the errors are sums of squares. */
static bool is_near(const struct searcher *s, const struct gcb_allot_option *before)
{
    const struct gcb_allot_option now = gcb_allocated(s->units, s->count);

    return limit_of(s).on_error ? now.bytes <= NEAR * before->bytes
                                : now.error <= NEAR * NEAR * before->error;
}

/* Divides the budget again with fewer candidates, and keeps the result if it is almost as good. */
static void simplify(struct searcher *s, bool *met, double *slope)
{
    const struct gcb_allot_option before = gcb_allocated(s->units, s->count);
    const size_t all = s->candidate_count;

    keep_few(s, *slope);
    divide_budget(s, met, slope);
    if (!*met || !is_near(s, &before)) {
        s->candidate_count = all; /* keep_few has only changed their order */
        divide_budget(s, met, slope);
    }
}

static int search(struct searcher *s, struct gcb_policy *out, bool *interrupted)
{
    double slope;
    bool met = false;
    int err;

    list_paths(s);
    list_units(s);
    err = add_candidates(s);
    if (!err)
        err = measure_sample(s, &met, &slope, interrupted);
    if (err || !met)
        return err;
    keep_few(s, slope);
    err = add_fine(s);
    if (!err)
        err = measure_and_divide(s, s->config->layout, &met, &slope, interrupted);
    if (err || !met)
        return err;
    simplify(s, &met, &slope);
    return met ? write_policy(s, out, interrupted) : 0;
}

int gcb_policy_search(struct gcb_policy *out, const struct gcb_choice *choice,
                      const struct gcb_run_config *config, const struct gcb_watch *watch,
                      bool *interrupted, struct gcb_diag *diag)
{
    struct searcher s = {
        .choice = choice,
        .goal = &choice->goals[0],
        .config = config,
        .watch = watch,
        .diag = diag,
    };
    const int err = search(&s, out, interrupted);

    gcb_free(s.paths);
    gcb_free(s.unit_of_path);
    gcb_free(s.unit_of);
    gcb_free(s.whole);
    gcb_free(s.candidates);
    gcb_free(s.sums);
    gcb_free(s.items);
    gcb_free(s.units);
    return err;
}
