#include <math.h>
#include <string.h>

#include "cli/base/session.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/base/memory.h"
#include "src/tool/replay/mean.h"
#include "src/tool/search/choose.h"
#include "src/tool/search/policy_search.h"
#include "src/tool/search/sweep.h"

/* A policy pays if the bytes (or the error) of the best single method are more than WORTH times
 * those of the policy. */
#define WORTH 1.02
#define SECONDS 0.1 /* seconds of timing for each setting, on average (session_repeat) */
/* Limits of the sample on which errors of means are measured: elements of a worker, elements of all
 * workers and steps together, and steps. */
#define MEAN_MOST (UINT64_C(1) << 20)
#define MEAN_TOGETHER (UINT64_C(4) << 20)
#define MEAN_STEPS 3
/* Shares of the progress bar: where the search for a policy begins, and where all searches end. */
#define BUDGET_FROM 0.6
#define SEARCH_END 0.8

/* ---- options, goals, and the list of methods ---- */

struct sweep_own {
    struct opt_list vary, match;
    const char *budget; /* goal of a policy; NULL: no policy is wanted */
    const char *over;   /* the only parameter to search; NULL: not given */
    bool published_only;
};

struct sweep_options {
    struct opt_methods methods;
    struct sweep_own own;
    struct opt_lines lines;
    struct session_options common;
    struct opt_timing timing;
};

/* clang-format off */
static const struct opt_row own_rows[] = {
    {OPT_ROW("vary", LIST, sweep_own, vary), .metavar = "KEY=VALUES",
     .help = "values of a parameter: KEY=v1,v2,... or KEY=LO..HI/COUNT, with `log` after COUNT "
             "for equal steps of the logarithm (for theta: of the density); repeatable: all "
             "combinations are run"},
    {OPT_ROW("match", LIST, sweep_own, match), .metavar = "FIELD=TARGET",
     .help = "find the setting of each method that meets a target, such as rel_l2=0.4, "
             "cosine=0.9, ratio=20, bits=2 or wire_bytes=1M, or the error of the mean that "
             "workers end up with: error_of_mean=0.2,workers=16; repeatable"},
    {OPT_ROW("budget", TEXT, sweep_own, budget), .metavar = "FIELD=LIMIT",
     .help = "like --match, for one target, and also find a policy that meets it: a method for "
             "each tensor, as options --method-for of `gcbench compress`"},
    {OPT_ROW("over", TEXT, sweep_own, over), .metavar = "KEY",
     .help = "with --match: search only along this parameter (levels, bits, ...), and leave the "
             "others as they are; a method that lacks it is searched along its own"},
    {OPT_ROW("published-only", FLAG, sweep_own, published_only),
     .help = "with --match: run the methods as they are published, and search no composition of "
             "the sparse codec's stages"},
    {.name = NULL},
};

/* clang-format on */

#define SWEEP_GOALS 16

/* The state of the command. Starts zeroed. */
struct sweep {
    const struct sweep_options *o;
    struct session s;
    struct gcb_method *methods; /* `given` settings, then the baseline and the policy, if any */
    size_t given, count;
    size_t policy;           /* index of the policy in `methods`; SIZE_MAX: none */
    struct gcb_policy rules; /* of the policy */
    struct gcb_match_goal goals[SWEEP_GOALS];
    size_t goal_count;
    bool matching; /* --match or --budget is given; choice.searches find the `given` settings */
    struct gcb_choice choice;
    enum gcb_field sort; /* field of --sort, or GCB_FIELD_NONE */
    bool *pareto;        /* for each method: true if mark_pareto has marked it */
    /* mix_tallies replaces the tally of each mixed setting by that of its mix */
    struct gcb_run_result result;
    struct gcb_tally *own;          /* for each method: its tally without a mix */
    struct gcb_gradients gradients; /* read only for --match error_of_mean= */
};

/* Returns the search that found setting i. NULL: the baseline or the policy, or no search ran. */
static const struct gcb_match_search *search_of(const struct sweep *c, size_t i)
{
    return c->matching && i < c->given ? &c->choice.searches[i] : NULL;
}

/* True if --match and --budget try the method when the user names no method. Presets that were not
 * published but found by an earlier search are left out, because a search can find them again. */
static bool is_searched(const struct gcb_method *m)
{
    return gcb_sweep_default(m) && !(m->preset && m->preset->found);
}

static int find_methods(struct sweep *c, struct gcb_diag *diag)
{
    const struct sweep_own *own = &c->o->own;

    c->matching = own->match.count > 0 || own->budget;
    c->policy = SIZE_MAX;
    if (own->vary.count == 0 && !c->matching)
        return gcb_invalid(diag, "nothing to sweep: give --vary theta=0.5..0.999/12log or --match "
                                 "rel_l2=0.4, for example");
    return opt_methods_resolve(&c->methods, &c->given, &c->o->methods,
                               c->matching ? is_searched : gcb_sweep_default, diag);
}

static int parse_goals(struct sweep *c, struct gcb_diag *diag)
{
    const struct sweep_own *own = &c->o->own;
    int err = 0;

    if (own->over && own->match.count == 0 && !own->budget)
        return gcb_invalid(diag, "--over has a meaning only with --match");
    if (own->budget)
        return gcb_match_goal_parse(&c->goals[c->goal_count++], "budget", own->budget, diag);
    if (own->match.count > SWEEP_GOALS)
        return gcb_invalid(diag, "--match: at most %d targets", SWEEP_GOALS);
    for (size_t i = 0; !err && i < own->match.count; i++)
        err = gcb_match_goal_parse(&c->goals[c->goal_count++], "match", own->match.items[i], diag);
    return err;
}

/* Refuses a parameter of --over that changes the size of no method. `key` may be NULL. */
static int check_over(const struct sweep *c, const char *key, struct gcb_diag *diag)
{
    if (!key)
        return 0;
    for (size_t i = 0; i < c->given; i++)
        if (gcb_rate_named(&c->methods[i], key))
            return 0;
    return gcb_invalid(
        diag, "--over %s: no method given has a parameter of this name that changes its size",
        gcb_show(key).text);
}

/* Refuses options that contradict --budget, and targets that no policy can be searched for. */
static int check_budget(const struct sweep *c, struct gcb_diag *diag)
{
    const struct sweep_own *own = &c->o->own;

    if (!own->budget)
        return 0;
    if (own->match.count || own->vary.count || own->over)
        return gcb_invalid(
            diag,
            "--budget searches all settings for one target: leave out --match, --vary and --over");
    if (c->o->common.message.scope != GCB_SCOPE_TENSOR)
        return gcb_invalid(diag,
                           "--budget finds a method for each tensor, so a message cannot have "
                           "several: leave out --scope %s",
                           opt_scopes[c->o->common.message.scope]);
    if (!gcb_policy_search_can(&c->goals[0]))
        return gcb_invalid(diag, "--budget takes rel_l2=, ratio=, bits= or wire_bytes=, not '%s'",
                           own->budget);
    return 0;
}

/* Makes a search for each setting and goal, and decides if compositions are searched too. */
static int plan_searches(struct sweep *c, struct gcb_diag *diag)
{
    const struct sweep_options *o = c->o;
    const bool all = o->methods.specs.count == 0; /* all methods, because none is named */
    struct gcb_choice *choice = &c->choice;
    int err = check_over(c, o->own.over, diag);

    if (err)
        return err;
    *choice = (struct gcb_choice){
        .goals = c->goals,
        .goal_count = c->goal_count,
        .compose = all && o->methods.overrides.count == 0 && o->own.vary.count == 0 &&
                   !o->own.over && !o->own.published_only,
        .over = o->own.over,
        .narrow = all,
        .searches = gcb_must_zero((c->given + 1) * c->goal_count, sizeof(*choice->searches)),
    };
    for (size_t g = 0; !err && g < c->goal_count; g++)
        for (size_t m = 0; !err && m < c->given; m++)
            err = gcb_match_search_init(&choice->searches[choice->count++], &c->methods[m],
                                        &c->goals[g], o->own.over, diag);
    return err;
}

/* Makes room for a baseline and a policy after the settings, which with --match and --budget are
 * those that the searches found. Adds the baseline fp16, unless it is a setting or --no-baselines
 * is given. */
static int add_baseline(struct sweep *c, struct gcb_diag *diag)
{
    struct gcb_method *grown = gcb_must_zero(c->given + 2, sizeof(*grown));
    bool baseline = !c->o->lines.no_baselines;

    for (size_t i = 0; i < c->given; i++) {
        grown[i] = c->matching ? c->choice.searches[i].method : c->methods[i];
        baseline &= strcmp(grown[i].name, "fp16") != 0;
    }
    gcb_free(c->methods);
    c->methods = grown;
    c->count = c->given + baseline;
    return baseline ? gcb_method_parse(&grown[c->given], "fp16", diag) : 0;
}

/* Makes the list of methods from the settings that the searches found, the baseline, and the policy
 * if one was found. */
static int take_choice(struct sweep *c, struct gcb_diag *diag)
{
    int err;

    c->given = c->choice.count;
    err = add_baseline(c, diag);
    if (err || c->rules.count == 0)
        return err;
    c->policy = c->count++;
    gcb_policy_method(&c->methods[c->policy], &c->rules);
    return 0;
}

static int resolve(struct sweep *c, struct gcb_diag *diag)
{
    const struct opt_list *vary = &c->o->own.vary;
    struct gcb_method *methods;
    int err = find_methods(c, diag);

    if (err)
        return err;
    session_drop_memory(&c->s, "sweep", c->methods, c->given);
    methods = c->methods;
    err = gcb_sweep_expand(&c->methods, &c->given, methods, c->given,
                           c->o->methods.specs.count == 0, vary->items, vary->count, diag);
    gcb_free(methods);
    if (!err)
        err = parse_goals(c, diag);
    if (!err)
        err = check_budget(c, diag);
    if (!err)
        err = c->matching ? plan_searches(c, diag) : add_baseline(c, diag);
    if (!err)
        err = opt_lines_sort(&c->sort, &c->o->lines, diag);
    return err ? err : session_resolve(&c->s);
}

/* ---- the searches, and the runs of the settings ---- */

/* The `ctx` of measure_mean. */
struct means {
    const struct gcb_gradients *gradients;
    struct gcb_mean_config config;
};

/* Measures the error of the mean with the workers whose gradients were read, and writes the error
 * that follows for `n` workers. */
static int measure_mean(void *ctx, double *out, const struct gcb_method *method, unsigned n,
                        struct gcb_diag *diag)
{
    const struct means *m = ctx;
    const struct gcb_gradients *g = m->gradients;
    struct gcb_mean mean;
    const int err = gcb_mean_measure(&mean, g, &m->config, method, diag);

    if (!err)
        *out = gcb_mean_among(method, &mean, g->signal, g->noise, g->workers, n, 1);
    return err;
}

/* Gives `mean` to all goals. If a goal limits the error of a mean, reads the gradients for it. */
static int read_gradients(struct sweep *c, const struct gcb_match_mean *mean,
                          const struct gcb_run_config *run, struct gcb_diag *diag)
{
    const struct gcb_layout_config scope = {.scope = GCB_SCOPE_TENSOR};
    struct gcb_gradients_config config = {
        .steps = MEAN_STEPS, .most = MEAN_MOST, .most_together = MEAN_TOGETHER};
    struct gcb_layout layout = {.count = 0};
    int err;

    for (size_t i = 0; i < c->goal_count; i++) {
        struct gcb_match_goal *goal = &c->goals[i];

        goal->mean = mean;
        if (goal->workers > config.workers)
            config.workers = goal->workers;
    }
    if (config.workers == 0)
        return 0;
    gcb_layout_init(&layout, c->s.source, &scope);
    err = gcb_gradients_read(&c->gradients, c->s.source, &layout, &config,
                             run->trial.compute.kernels, diag);
    gcb_layout_fini(&layout);
    return err;
}

/* Runs the searches of --match and --budget, which measure no times, and makes the list of methods
 * from what they found. */
static int search(struct sweep *c, const struct gcb_watch *watch, struct gcb_diag *diag)
{
    /* share of the progress bar at which the searches of settings end */
    const double from = c->o->own.budget ? BUDGET_FROM : SEARCH_END;
    const struct gcb_watch settings = gcb_watch_part(watch, 0.0, from);
    const struct gcb_watch policy = gcb_watch_part(watch, from, SEARCH_END);
    const struct gcb_run_config config = session_run_config(&c->s, &c->o->timing, NULL, 0);
    struct means means = {&c->gradients,
                          {.compute = config.trial.compute,
                           .draws = 1,
                           .watch = {.stop = watch->stop, .ctx = watch->ctx}}};
    const struct gcb_match_mean mean = {measure_mean, &means};
    int err = read_gradients(c, &mean, &config, diag);

    if (!err)
        err = gcb_choose_run(&c->choice, &config, &settings, &c->result.interrupted, diag);
    if (!err && !c->result.interrupted && c->o->own.budget)
        err = gcb_policy_search(&c->rules, &c->choice, &config, &policy, &c->result.interrupted,
                                diag);
    return err ? err : take_choice(c, diag);
}

static int run_settings(struct sweep *c, struct gcb_diag *diag)
{
    const struct gcb_watch watch = session_watch(&c->s);
    const struct gcb_run_observer observer = {
        .watch = gcb_watch_part(&watch, c->matching ? SEARCH_END : 0.0, 1.0)};
    const struct gcb_method *const **by_tensor = NULL;
    struct gcb_run_config config;
    int err = 0;

    session_start_progress(&c->s);
    if (c->matching)
        err = search(c, &watch, diag);
    config = session_run_config(&c->s, &c->o->timing, c->methods, c->count);
    config.carry_on = true;
    /* `payoff` needs the times of sums; those of a single run would be too uncertain */
    config.trial.sums = c->matching && !config.trial.compute.device &&
                        (config.trial.timing.repeat > 1 || config.trial.timing.min_time > 0.0);
    session_repeat(&c->s, &config, &c->o->timing, SECONDS);
    if (!err && c->policy != SIZE_MAX) {
        by_tensor = gcb_must_zero(c->count, sizeof(*by_tensor));
        by_tensor[c->policy] = c->rules.by_tensor;
        config.by_tensor = by_tensor;
        c->s.setting.policy = &c->rules;
    }
    if (!err && !c->result.interrupted)
        err = gcb_run(&c->result, &config, &observer, diag);
    if (!err && c->matching && c->result.interrupted)
        gcb_match_fill_totals(&c->result, c->count, c->choice.searches, c->given);
    gcb_free(by_tensor);
    progress_end(&c->s.progress);
    return err;
}

/* ---- the table, the mixed settings and the policy ---- */

static const struct gcb_table_column columns[] = {
    {.title = "setting", .elastic = true},
    {.title = "ratio", .field = GCB_FIELD_RATIO},
    {.title = "bits/el", .field = GCB_FIELD_BITS_PER_ELEMENT},
    {.title = "rel L2", .field = GCB_FIELD_REL_L2},
    {.title = "cosine", .field = GCB_FIELD_COSINE},
    {.title = "enc GB/s", .field = GCB_FIELD_ENCODE_GBPS},
    {.title = "Pareto", .text = true},
};

static const struct gcb_tally *tally_of(const struct sweep *c, size_t i)
{
    return &c->result.totals[i].tally;
}

/* Returns a number by which settings are ordered: by goal, and for each goal first those that meet
 * the goal. A policy ranks like a setting that meets the first goal, and the baseline comes last.
 * Without goals, all have rank 0. */
static size_t rank_of(const struct sweep *c, size_t i)
{
    const struct gcb_match_search *s = search_of(c, i);

    if (s)
        return 2 * (size_t)(s->goal - c->goals) + !gcb_match_reached(s, tally_of(c, i));
    return i == c->policy || i < c->given ? 0 : 2 * c->goal_count;
}

/* Writes the order of the table's lines: by --sort, or else by rank_of; settings of equal rank by
 * size if the first goal is an error, and by error if it is a size. Without goals, and without
 * --sort, the order is that of the methods. */
static void sort_settings(size_t *order, const struct sweep *c)
{
    const size_t n = c->result.method_count;
    enum gcb_field figure = c->sort;

    if (!figure && c->matching)
        figure = gcb_match_limits_error(&c->goals[0]) ? GCB_FIELD_RATIO : GCB_FIELD_SNR_DB;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    if (figure)
        gcb_totals_order(order, &c->result, figure);
    if (c->sort)
        return;
    for (size_t i = 1; i < n; i++) { /* insertion sort, because it is stable */
        const size_t moved = order[i];
        size_t at = i;

        for (; at > 0 && rank_of(c, order[at - 1]) > rank_of(c, moved); at--)
            order[at] = order[at - 1];
        order[at] = moved;
    }
}

/* True if setting i meets its target together with another setting, each for a share of the
 * messages. */
static bool is_mixed(const struct sweep *c, size_t i)
{
    const struct gcb_match_search *s = search_of(c, i);

    return s && tally_of(c, i)->messages && s->mix.share < 1.0;
}

/* Writes the label of setting i, with " (mixed)" if it is mixed. Returns `name`. */
static const char *setting_name(char name[256], const struct sweep *c, size_t i)
{
    gcb_method_spec(name, 256, &c->methods[i], GCB_SPEC_LABEL);
    return is_mixed(c, i) ? gcb_append(name, 256, " (mixed)") : name;
}

static void add_line(struct gcb_table *table, const struct sweep *c, size_t i)
{
    char name[256];

    setting_name(name, c, i);
    if (i >= c->given && i != c->policy)
        gcb_append(name, sizeof(name), " (baseline)");
    gcb_table_cell(table, name);
    out_figures(table, columns, sizeof(columns) / sizeof(columns[0]), &c->result.totals[i].tally,
                0);
    gcb_table_cell(table, c->pareto[i] ? "*" : "");
}

/* Prints what the mixed settings in the table are made of. */
static void print_mixes(const struct sweep *c, FILE *out)
{
    const struct gcb_match_search *s = c->choice.searches;
    char name[256], other[256];
    bool any = false;

    for (size_t i = 0; i < c->given; i++) {
        if (!is_mixed(c, i) || c->result.totals[i].failure.status)
            continue;
        if (!any)
            opt_wrapf(out, 0, 0,
                      "mixed settings, by their shares of the messages, meet the target exactly:");
        any = true;
        gcb_method_spec(name, sizeof(name), &c->methods[i], GCB_SPEC_LABEL);
        gcb_method_spec(other, sizeof(other), &s[i].mix.other, GCB_SPEC_LABEL);
        opt_wrapf(out, 2, 4, "%.4f %s, %.4f %s", s[i].mix.share, name, 1.0 - s[i].mix.share, other);
    }
}

/* Prints the options that give the policy, ready for a shell: one on each line, or on two if it is
 * long. */
static void print_policy(const struct sweep *c, FILE *out)
{
    const struct gcb_policy *p = &c->rules;
    char text[GCB_RULE_TEXT], shown[GCB_RULE_TEXT];

    if (c->policy == SIZE_MAX)
        return;
    fprintf(out, "the policy (the first glob that matches counts), as options of compress:\n");
    for (size_t i = 0; i < p->count; i++) {
        const char *option = gcb_policy_option(text, sizeof(text), &p->rules[i]);
        const char *value = strchr(gcb_escape(shown, sizeof(shown), option), ' ');
        const bool fits = gcb_text_columns(shown) + 4 <= opt_columns(out);

        fprintf(out, "  %.*s%s%s%s\n", (int)(value - shown), shown, fits ? "" : " \\\n   ", value,
                i + 1 < p->count ? " \\" : "");
    }
}

/* ---- the stages of the best compositions ---- */

/* Prints what choice->stages[k] earns in the composition `best`: the factor by which bytes or error
 * grow if the plain stage (src/tool/search/choose.h) takes its place, or that the target is then
 * missed. */
static void print_stage(const struct sweep *c, const struct gcb_match_search *best, size_t k,
                        FILE *out)
{
    const struct gcb_choice *choice = &c->choice;
    const double earns = gcb_choice_earns(choice, k);
    char with[64], plain[64];

    gcb_compose_stage(with, sizeof(with), &best->method, choice->stages[k].stage);
    gcb_compose_stage(plain, sizeof(plain), &choice->without[k].method, choice->stages[k].stage);
    if (earns > 0.0)
        fprintf(out, "  %-26s  %.3g times the %s with %s\n", with, earns,
                gcb_match_limits_error(best->goal) ? "bytes" : "error", plain);
    else
        fprintf(out, "  %-26s  the target is missed with %s\n", with, plain);
}

/* Prints what each stage earns in the best composition for each goal. */
static void print_stages(const struct sweep *c, FILE *out)
{
    const struct gcb_choice *choice = &c->choice;
    const size_t first = choice->count - choice->composed;
    char target[32];

    for (size_t i = first; i < choice->count && !c->result.interrupted; i++) {
        const struct gcb_match_search *best = &choice->searches[i];

        fprintf(out, "what each stage of the best composition earns at %s %s:\n",
                gcb_field_name(best->goal->field), gcb_real_text(target, best->goal->target));
        for (size_t k = 0; k < choice->without_count; k++)
            if (choice->stages[k].goal == best->goal)
                print_stage(c, best, k, out);
    }
}

/* ---- the answer ---- */

/* Returns the index of the best setting that meets the goal, or SIZE_MAX if there is none. The
 * setting `except` does not count (SIZE_MAX: all count). */
static size_t find_best(const struct sweep *c, const struct gcb_match_goal *goal, size_t except)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < c->given; i++) {
        const struct gcb_match_search *s = &c->choice.searches[i];

        if (i == except || s->goal != goal || c->result.totals[i].failure.status ||
            !gcb_match_reached(s, tally_of(c, i)))
            continue;
        if (best == SIZE_MAX || gcb_match_cost(s) < gcb_match_cost(&c->choice.searches[best]))
            best = i;
    }
    return best;
}

/* Appends how many times fewer or more bytes the setting `best` sends than `other`. */
static void say_fewer(char *out, size_t size, const struct sweep *c, size_t best, size_t other)
{
    const double times = gcb_tally_figure(tally_of(c, best), GCB_FIELD_RATIO) /
                         gcb_tally_figure(tally_of(c, other), GCB_FIELD_RATIO);
    char name[256];

    setting_name(name, c, other);
    if (gcb_choice_composed(&c->choice, best) && other < c->given)
        gcb_append(name, sizeof(name), ", the best published method");
    if (times >= 1.005) /* %.3g shows smaller factors as 1 */
        gcb_append(out, size, ", %.3g times fewer than %s", times, name);
    else if (times > 0.995)
        gcb_append(out, size, ", as many as %s", name);
    else
        gcb_append(out, size, ", but %.3g times more than %s", 1.0 / times, name);
}

/* Appends a caveat if the setting may be used only with a memory. */
static void say_caveat(char *out, size_t size, const struct sweep *c, size_t i)
{
    const struct gcb_answer answer = {.times = false};
    struct gcb_answer_item item = gcb_answer_item_of(&c->methods[i]);

    item.error = gcb_tally_figure(tally_of(c, i), GCB_FIELD_REL_L2);
    if (!item.baseline && !gcb_answer_usable(&answer, &item))
        gcb_append(out, size, "; the error of %s lasts: it needs a memory and a training",
                   c->methods[i].name);
}

/* Writes the rel_l2 of a setting. Returns out. */
static const char *error_text(char out[32], const struct sweep *c, size_t i)
{
    gcb_field_number(out, GCB_FIELD_REL_L2, gcb_tally_figure(tally_of(c, i), GCB_FIELD_REL_L2), 0);
    return out;
}

/* Appends the answer for a goal of --match: the best setting, compared with the next one and, if
 * the goal is an error, with the baseline. */
static void answer_goal(char *out, size_t size, const struct sweep *c,
                        const struct gcb_match_goal *goal)
{
    const size_t best = find_best(c, goal, SIZE_MAX), next = find_best(c, goal, best);
    const size_t baseline = c->given; /* index of the baseline, if there is one */
    const char *field = gcb_field_name(goal->field);
    char name[256], target[32], error[32];

    gcb_real_text(target, goal->target);
    if (best == SIZE_MAX) {
        gcb_append(out, size, "no method reaches %s %s", field, target);
        return;
    }
    setting_name(name, c, best);
    if (!gcb_match_limits_error(goal)) {
        gcb_append(out, size, "at %s %s, %s has the smallest error: %s", field, target, name,
                   error_text(error, c, best));
        if (next != SIZE_MAX)
            gcb_append(out, size, ", against %s of %s", error_text(error, c, next),
                       setting_name(name, c, next));
        say_caveat(out, size, c, best);
        return;
    }
    gcb_append(out, size, "at %s %s, %s sends the fewest bytes", field, target, name);
    if (next != SIZE_MAX)
        say_fewer(out, size, c, best, next);
    if (baseline < c->count && baseline != c->policy && tally_of(c, baseline)->messages)
        say_fewer(out, size, c, best, baseline);
    say_caveat(out, size, c, best);
}

/* Appends the answer of --budget: whether a method for each tensor pays, compared with the best
 * single method. */
static void answer_budget(char *out, size_t size, const struct sweep *c)
{
    const struct gcb_match_goal *goal = &c->goals[0];
    const bool bytes = gcb_match_limits_error(goal);
    const enum gcb_field field = bytes ? GCB_FIELD_WIRE_BYTES : GCB_FIELD_REL_L2;
    const size_t best = find_best(c, goal, SIZE_MAX), policy = c->policy;
    char name[256], target[32], error[2][32];
    double was, is; /* bytes or error of the best single method, and of the policy */

    gcb_append(out, size, "at %s %s, ", gcb_field_name(goal->field),
               gcb_real_text(target, goal->target));
    if (policy == SIZE_MAX) {
        gcb_append(out, size, "no policy was found that meets the target");
        return;
    }
    if (best == SIZE_MAX) {
        gcb_append(out, size, "only a method for each tensor meets the target");
        return;
    }
    setting_name(name, c, best);
    was = gcb_tally_figure(tally_of(c, best), field);
    is = gcb_tally_figure(tally_of(c, policy), field);
    if (!(was > WORTH * is))
        gcb_append(out, size,
                   "a method for each tensor does not pay: it has %.3g times the %s of the best "
                   "single method, %s",
                   is == was ? 1.0 : is / was, bytes ? "bytes" : "error", name);
    else if (bytes)
        gcb_append(out, size,
                   "a method for each tensor (%zu rules) sends %.3g times fewer bytes than the "
                   "best single method, %s",
                   c->rules.count, was / is, name);
    else
        gcb_append(out, size,
                   "a method for each tensor (%zu rules) has an error of %s, against %s of the "
                   "best single method, %s",
                   c->rules.count, error_text(error[0], c, policy), error_text(error[1], c, best),
                   name);
}

/* Appends the answer without --match and --budget: how many settings no other beats. */
static void answer_settings(char *out, size_t size, const struct sweep *c)
{
    size_t marked = 0, measured = 0;

    for (size_t i = 0; i < c->result.method_count; i++) {
        marked += c->pareto[i];
        measured += tally_of(c, i)->messages && !c->result.totals[i].failure.status;
    }
    gcb_append(out, size,
               "%zu of %zu settings (*) are beaten by no other in rel_l2 and bits_per_element",
               marked, measured);
}

static char *write_answer(char *out, size_t size, const struct sweep *c)
{
    out[0] = '\0';
    for (size_t g = 0; g < c->goal_count; g++) {
        if (c->o->own.budget)
            answer_budget(out, size, c);
        else
            answer_goal(out, size, c, &c->goals[g]);
        gcb_append(out, size, "; ");
    }
    if (c->goal_count)
        gcb_append(out, size, "training was not tested");
    else
        answer_settings(out, size, c);
    return out;
}

/* ---- the notes, and the table with all that follows it ---- */

/* Prints notes: how many settings and compositions were tuned, and which methods were left out. */
static void print_search(const struct gcb_choice *c, FILE *out)
{
    char sample[100] = "";
    size_t evaluations = 0;

    for (size_t i = 0; i < c->descent.count; i++)
        evaluations += c->descent.searches[i].evaluations;
    if (c->sampled)
        snprintf(sample, sizeof(sample),
                 " on a sample of %.3g of %.3g million elements, and the best of them on all",
                 (double)c->sampled * 1e-6, (double)c->elements * 1e-6);
    if (c->descent.count)
        opt_note(out, "%zu settings and compositions were tuned with %zu measurements%s",
                 c->descent.count, evaluations, sample);
    if (c->left_out[0])
        opt_note(out,
                 "left out, because they missed the target on the sample or were more than "
                 "%g times worse than the best: %s (--method runs them)",
                 GCB_CHOOSE_FAR, c->left_out);
}

static void print_notes(const struct sweep *c, FILE *out)
{
    const struct gcb_run_result *r = &c->result;
    char words[200], name[256];

    if (!r->interrupted)
        print_search(&c->choice, out);
    for (size_t i = 0; search_of(c, i) && !r->interrupted; i++) {
        if (r->totals[i].failure.status || tally_of(c, i)->messages == 0 ||
            !gcb_match_note(words, search_of(c, i), tally_of(c, i)))
            continue;
        gcb_method_spec(name, sizeof(name), &c->methods[i], GCB_SPEC_GIVEN);
        opt_note(out, "%s: %s", name, words);
    }
    if (r->skipped_steps)
        opt_note(out, "%llu step%s with infinities or NaNs left out",
                 (unsigned long long)r->skipped_steps, r->skipped_steps == 1 ? "" : "s");
    if (r->zeroed)
        opt_note(out, "%llu infinities and NaNs were taken as 0", (unsigned long long)r->zeroed);
    if (tally_of(c, 0)->messages)
        out_note_values(out, tally_of(c, 0)->fidelity.xx);
    heading_note_load(out, (unsigned)c->o->timing.repeat);
    if (r->interrupted)
        fprintf(out, "interrupted: %s\n",
                c->matching ? "these are the best settings measured by then, without times; "
                              "searches may not have ended"
                            : "this is what was measured by then");
}

static void show_table(const struct sweep *c)
{
    const struct out_report *report = &c->s.report;
    const size_t n = c->result.method_count;
    size_t *order = gcb_must_array(n, sizeof(*order));
    struct gcb_table *table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));

    sort_settings(order, c);
    for (size_t i = 0; i < n; i++)
        if (tally_of(c, order[i])->messages && !c->result.totals[order[i]].failure.status)
            add_line(table, c, order[i]);
    gcb_free(order);
    out_table(report, table);

    out_failures(report->out, c->methods, &c->result);
    print_mixes(c, report->out);
    print_policy(c, report->out);
    print_stages(c, report->out);
    if (!report->quiet)
        print_notes(c, report->out);
}

/* ---- the results, and the command ---- */

static int put_summaries(struct sweep *c)
{
    const bool whole = !c->result.interrupted;
    char files[SESSION_FILES];
    int err = 0;

    session_name_files(files, &c->s);
    for (size_t i = 0; !err && i < c->count && out_wants_rows(&c->s.report); i++) {
        struct gcb_run_total total = c->result.totals[i];
        struct gcb_row row;

        total.tally = c->own[i];
        if (!whole && total.tally.messages == 0 && !total.failure.status)
            continue;
        gcb_rows_summary(&row, &c->s.setting, &c->methods[i], &total, files, !whole);
        gcb_row_known_bool(&row, GCB_FIELD_PARETO, whole, c->pareto[i]);
        if (c->matching) {
            gcb_match_put(&row, search_of(c, i), &total, whole);
            gcb_choice_put(&row, &c->choice, i);
        }
        err = session_put(&c->s, &row);
    }
    return err;
}

static int show_results(struct sweep *c, struct gcb_diag *diag)
{
    char answer[4000];
    struct gcb_row row;

    session_print_heading(&c->s, "");
    if (c->s.report.table)
        show_table(c);
    if (c->result.interrupted)
        return 0;
    gcb_answer_row(&row, write_answer(answer, sizeof(answer), c), NULL);
    return out_answer(&c->s.report, &row, diag);
}

/* Marks in c->pareto the settings that no other setting beats. Settings that failed or miss their
 * target do not count. After an interruption no setting is marked. */
static void mark_pareto(struct sweep *c)
{
    struct gcb_pareto_point *points = gcb_must_array(c->count, sizeof(*points));

    c->pareto = gcb_must_zero(c->count, sizeof(*c->pareto));
    for (size_t i = 0; i < c->result.method_count; i++) {
        const struct gcb_match_search *s = search_of(c, i);
        const struct gcb_tally *t = tally_of(c, i);
        const bool counts =
            t->messages && !c->result.totals[i].failure.status && (!s || gcb_match_reached(s, t));

        points[i].error = counts ? gcb_tally_figure(t, GCB_FIELD_REL_L2) : (double)NAN;
        points[i].bits = gcb_tally_figure(t, GCB_FIELD_BITS_PER_ELEMENT);
    }
    if (!c->result.interrupted)
        gcb_pareto_mark(c->pareto, points, c->result.method_count);
    gcb_free(points);
}

/* Sets the error of the mean of settings whose goal limits it. Keeps the settings' own tallies in
 * c->own, for the rows. Then replaces the tally of a mixed setting by that of its mix, which meets
 * the target; the table and the answer show the mix. */
static void mix_tallies(struct sweep *c)
{
    c->own = gcb_must_zero(c->count + 1, sizeof(*c->own));
    for (size_t i = 0; i < c->result.method_count; i++) {
        const struct gcb_match_search *s = search_of(c, i);
        struct gcb_tally *t = &c->result.totals[i].tally;

        if (s && s->goal->workers) {
            t->error_of_mean = s->found.value;
            t->mean_known = s->line.seen_count > 0;
        }
        c->own[i] = *t;
        if (s)
            gcb_match_mix_tally(t, s);
    }
}

static int finish(struct sweep *c, struct gcb_diag *diag)
{
    struct bench_outcome outcome = {.methods = 0};
    bool measured = false; /* after an interruption: some setting was measured */
    int err;

    mix_tallies(c);
    mark_pareto(c);
    err = put_summaries(c);
    if (!err)
        err = show_results(c, diag);
    if (!err)
        err = out_commit(&c->s.report, diag);
    if (err)
        return err;
    if (!c->result.interrupted) {
        bench_outcome_add(&outcome, &c->result);
        return bench_outcome_judge(&outcome, c->s.ctx->err, diag);
    }
    for (size_t i = 0; i < c->result.method_count; i++)
        measured |= c->own[i].messages > 0;
    if (!measured)
        return session_interrupted(&c->s, "nothing was measured on all messages");
    return session_interrupted(&c->s, c->matching ? "the best settings so far are kept"
                                                  : "the results so far are kept");
}

static void release(struct sweep *c)
{
    gcb_run_result_fini(&c->result);
    gcb_free(c->pareto);
    gcb_free(c->own);
    gcb_gradients_fini(&c->gradients);
    gcb_free(c->methods);
    gcb_choice_fini(&c->choice);
    gcb_policy_fini(&c->rules);
    session_close(&c->s);
}

static int sweep_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct sweep_options *o = options;
    struct sweep c = {.o = o, .s = {.o = o->common, .files = operands, .ctx = ctx}};
    int err = resolve(&c, ctx->diag);

    if (!err)
        err = session_open_input(&c.s);
    interrupt_catch();
    if (!err)
        err = session_start_report(&c.s, GCB_SWEEP_RECORDS, true);
    if (!err)
        err = run_settings(&c, ctx->diag);
    if (!err)
        err = finish(&c, ctx->diag);
    release(&c);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Methods", opt_methods_rows, struct sweep_options, methods),
    OPT_GROUP("Settings", own_rows, struct sweep_options, own),
    SESSION_GROUPS(struct sweep_options),
    OPT_GROUP("Running", opt_timing_rows, struct sweep_options, timing),
    OPT_GROUP("Output", opt_lines_rows, struct sweep_options, lines),
    SESSION_OUTPUT_GROUPS(struct sweep_options),
    {.rows = NULL},
};

const struct cmd cmd_sweep = {
    .name = "sweep",
    .summary = "compare methods at many settings, or at equal error or size",
    .usage = "sweep [options] --vary KEY=V | --match F=X | --budget F=X FILE...",
    .examples =
        "  gcbench sweep --match rel_l2=0.4 gradients.h5\n"
        "  gcbench sweep --match ratio=20 --method fft --method topk gradients.h5\n"
        "  gcbench sweep --budget rel_l2=0.4 gradients.h5\n"
        "  gcbench sweep --vary theta=0.5..0.999/12log --vary bits=4,6,8 gradients.h5\n"
        "  gcbench sweep --method fft --vary index=u32,golomb --match bits=2 gradients.h5\n",
    .details =
        "Without --method, all sparsifiers and quantisers are run, and --match also searches the "
        "sparse codec's stages (transform and chunk, selection, values and bits, index coder) for "
        "the composition that is best; it shows what each stage earns. An input of more than a "
        "million elements is searched on a sample first; of a very large one, methods that are far "
        "behind on the sample are left out. A KEY of --vary applies to the methods that have this "
        "parameter.\n"
        "--match searches the parameters that change a method's size or error: bits, bucket, "
        "chunk, coding, theta and so on. What --method gives stays. For a limit on the error it "
        "reports the smallest messages, for a limit on the size the smallest error. If no single "
        "setting is at the limit, it reports two that meet it together, each for a share of the "
        "messages. If no setting is within the limit, it reports the nearest one. Only the "
        "reported setting is timed; with --repeat, its sums are timed too, which `gcbench payoff` "
        "needs.\n"
        "--budget also finds a policy, a method for each tensor. Beginning with the cheapest "
        "settings, it takes the step that reduces the error most for each byte, until the budget "
        "is used up. It prints the options with which `gcbench compress` uses the policy, and "
        "compares it with the best single method.\n"
        "--device cuda runs every setting on a GPU and compares its messages with the CPU's; the "
        "exit status is as for `gcbench bench`.\n"
        "Pareto *: no other row is at least as good in both rel_l2 and bits/el, and better in one "
        "of them. Rows that miss their target do not count.\n",
    .spec = {.groups = groups,
             .extra = {opt_methods_key_at, offsetof(struct sweep_options, methods.overrides)}},
    .size = sizeof(struct sweep_options),
    .run = sweep_run,
};
