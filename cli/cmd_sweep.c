#include <inttypes.h>
#include <string.h>

#include "cli/base/session.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/replay/mean.h"
#include "src/tool/search/choose.h"
#include "src/tool/search/pareto.h"
#include "src/tool/search/policy_search.h"
#include "src/tool/search/sweep.h"

#define WORTH 1.02  /* a policy with less gain than this does not pay */
#define SECONDS 0.1 /* most seconds of timing for a setting, unless a single pass takes longer */
/* The most elements of a worker, and of all workers and steps together, on which errors of means are measured. */
#define MEAN_MOST (UINT64_C(1) << 20)
#define MEAN_TOGETHER (UINT64_C(4) << 20)
#define MEAN_STEPS 3
/* shares of the progress bar where the search of a policy begins, and where all searches have ended */
#define BUDGET_FROM 0.6
#define SEARCH 0.8

/* ---- options, and what follows from them before a file is opened ---- */

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

static const char *const pers[] = {"none", "message", NULL};

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

static const struct opt_row show_rows[] = {
    {OPT_ROW("pareto", TEXT, sweep_own, pareto), .metavar = "FIELDS",
     .help = "mark the rows that no other row beats in these fields (default "
             "rel_l2,bits_per_element)"},
    {OPT_ROW("per", CHOICE, sweep_own, per), .metavar = "WHAT", .choices = pers,
     .help = "message: also write a result row for each message (default: none)"},
    {.name = NULL},
};
/* clang-format on */

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
    struct gcb_policy policy_rules; /* of --budget; without rules: none meets the goal */
    struct gcb_pareto_field pareto[GCB_PARETO_FIELDS];
    size_t pareto_count;
    enum gcb_field sort; /* field of --sort, or GCB_FIELD_NONE */
};

/* The state of the command. Starts zeroed. */
struct sweep {
    const struct sweep_options *o;
    struct session s;
    struct sweep_plan plan;
    bool *pareto; /* one for each of plan.methods, and then `missed` */
    struct gcb_run_result
        result;            /* at the end, tallies of searched settings are those of their mixes */
    struct gcb_tally *own; /* the settings' own tallies */
    struct gcb_gradients gradients; /* of --match error_of_mean= */
    double from, to;                /* of the progress bar: what is being done now */
};

/* With --match, `sweep` searches the compositions itself, so it leaves out those that are presets. */
static bool is_searched(const struct gcb_method *m)
{
    return gcb_sweep_default(m) && !(m->preset && m->preset->found);
}

static int find_methods(struct sweep_plan *plan, const struct sweep_options *o,
                        struct gcb_diag *diag)
{
    const bool matching = o->own.match.count > 0 || o->own.budget;
    int err;

    if (o->own.vary.count == 0 && !matching)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "nothing to sweep: give --vary theta=0.5..0.999/12log or --match "
                            "rel_l2=0.4, for example");
    err = opt_methods_resolve(&plan->methods, &plan->given, &o->methods,
                              matching ? is_searched : gcb_sweep_default, diag);
    plan->count = plan->given;
    plan->policy = SIZE_MAX;
    return err;
}

static int parse_goals(struct sweep_plan *plan, const struct sweep_own *own, struct gcb_diag *diag)
{
    int err = 0;

    if (own->budget)
        return gcb_match_goal_parse(&plan->goals[plan->goal_count++], "budget", own->budget, diag);
    if (own->match.count > SWEEP_GOALS)
        return gcb_diag_set(diag, GCB_E_INVALID, "--match: at most %d targets", SWEEP_GOALS);
    if (own->over && own->match.count == 0)
        return gcb_diag_set(diag, GCB_E_INVALID, "--over has a meaning only with --match");
    for (size_t i = 0; !err && i < own->match.count; i++)
        err = gcb_match_goal_parse(&plan->goals[plan->goal_count++], "match", own->match.items[i],
                                   diag);
    return err;
}

static int check_over(const struct sweep_plan *plan, const char *key, struct gcb_diag *diag)
{
    char shown[64];

    for (size_t i = 0; key && i < plan->given; i++)
        if (gcb_rate_named(&plan->methods[i], key))
            return 0;
    if (!key)
        return 0;
    return gcb_diag_set(
        diag, GCB_E_INVALID,
        "--over %s: no method given has a parameter of this name that changes its size",
        gcb_escape(shown, sizeof(shown), key));
}

/* Are compositions searched for? The methods must be the default ones, with their default values. */
static bool composes(const struct sweep_options *o)
{
    return o->methods.specs.count == 0 && o->methods.overrides.count == 0 &&
           o->own.vary.count == 0 && !o->own.over && !o->own.published_only;
}

/* Refuses options that contradict --budget. */
static int check_budget(const struct sweep_plan *plan, const struct sweep_options *o,
                        struct gcb_diag *diag)
{
    const struct sweep_own *own = &o->own;

    if (!own->budget)
        return 0;
    if (own->match.count || own->vary.count || own->over)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--budget searches all settings for one target: leave out --%s",
                            own->match.count  ? "match"
                            : own->vary.count ? "vary"
                                              : "over");
    if (o->common.message.scope != GCB_SCOPE_TENSOR)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--budget finds a method for each tensor, so a message cannot have "
                            "several: leave out --scope %s",
                            opt_scopes[o->common.message.scope]);
    if (!gcb_policy_search_can(&plan->goals[0]))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--budget takes rel_l2=, ratio=, bits= or wire_bytes=, not '%s'",
                            own->budget);
    return 0;
}

/* Makes a search for every setting with every goal. Each search counts as a method. */
static int plan_searches(struct sweep_plan *plan, const struct sweep_options *o,
                         struct gcb_diag *diag)
{
    const size_t n = plan->given * plan->goal_count;
    struct gcb_choice *c = &plan->choice;
    int err = check_over(plan, o->own.over, diag);

    if (err)
        return err;
    *c = (struct gcb_choice){
        .goals = plan->goals,
        .goal_count = plan->goal_count,
        .compose = composes(o),
        .over = o->own.over,
        .narrow = o->methods.specs.count == 0,
        .searches = gcb_alloc_zero(n + plan->goal_count, sizeof(*c->searches)),
    };
    if (!c->searches)
        return gcb_diag_nomem(diag, n * sizeof(*c->searches), "searches");
    for (size_t g = 0; !err && g < plan->goal_count; g++)
        for (size_t m = 0; !err && m < plan->given; m++)
            err = gcb_match_search_init(&c->searches[c->count++], &plan->methods[m],
                                        &plan->goals[g], o->own.over, diag);
    plan->matching = true;
    return err;
}

/* Makes room for a baseline and a policy at the end of the settings, and adds the baseline. */
static int add_baseline(struct sweep_plan *plan, bool baseline, struct gcb_diag *diag)
{
    struct gcb_method *grown = gcb_alloc_zero(plan->given + 2, sizeof(*grown));

    if (!grown)
        return gcb_diag_nomem(diag, 0, "the methods");
    for (size_t i = 0; i < plan->given; i++) {
        grown[i] = plan->matching ? plan->choice.searches[i].method : plan->methods[i];
        baseline &= strcmp(grown[i].name, "fp16") != 0;
    }
    gcb_free(plan->methods);
    plan->methods = grown;
    plan->count = plan->given + baseline;
    return baseline ? gcb_method_parse(&grown[plan->given], "fp16", diag) : 0;
}

static int take_choice(struct sweep_plan *plan, const struct sweep_options *o,
                       struct gcb_diag *diag)
{
    int err;

    plan->given = plan->choice.count;
    err = add_baseline(plan, !o->lines.no_baselines, diag);
    if (err || plan->policy_rules.count == 0)
        return err;
    plan->policy = plan->count++;
    return gcb_policy_method(&plan->methods[plan->policy], &plan->policy_rules, diag);
}

static int expand_plan(struct sweep_plan *plan, const struct sweep_options *o,
                       struct gcb_diag *diag)
{
    const struct sweep_own *own = &o->own;
    const char *fields = own->pareto ? own->pareto : "rel_l2,bits_per_element";
    struct gcb_method *settings = NULL;
    int err = gcb_sweep_expand(&settings, &plan->given, plan->methods, plan->given, own->vary.items,
                               own->vary.count, diag);

    if (err)
        return err;
    gcb_free(plan->methods);
    plan->methods = settings;
    err = parse_goals(plan, own, diag);
    if (!err)
        err = check_budget(plan, o, diag);
    if (!err && plan->goal_count)
        err = plan_searches(plan, o, diag);
    else if (!err)
        err = add_baseline(plan, !o->lines.no_baselines, diag);
    if (!err)
        err = gcb_pareto_parse(plan->pareto, &plan->pareto_count, fields, diag);
    return err ? err : opt_lines_sort(&plan->sort, &o->lines, diag);
}

/* ---- running ---- */

static int resolve(struct sweep *c, struct gcb_diag *diag)
{
    int err = find_methods(&c->plan, c->o, diag);

    if (err)
        return err;
    session_drop_memory(&c->s, "sweep", c->plan.methods, c->plan.given);
    err = expand_plan(&c->plan, c->o, diag);
    return err ? err : session_resolve(&c->s);
}

static int on_trial(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    struct sweep *c = ctx;
    struct gcb_row row;

    (void)diag; /* session_put uses ctx->diag */
    if (c->o->own.per != SWEEP_PER_MESSAGE || !out_wants_rows(&c->s.report))
        return 0;
    gcb_rows_result(&row, &c->s.setting, &c->plan.methods[trial->method], trial);
    return session_put(&c->s, &row);
}

static void on_progress(void *ctx, double done)
{
    struct sweep *c = ctx;

    progress_update(&c->s.progress, c->from + (c->to - c->from) * done);
}

struct means {
    const struct gcb_gradients *gradients;
    struct gcb_mean_config config;
};

static int measure_mean(void *ctx, double *out, const struct gcb_method *method, unsigned n,
                        struct gcb_diag *diag)
{
    const struct means *m = ctx;
    const struct gcb_gradients *g = m->gradients;
    struct gcb_mean mean;
    const int err = gcb_mean_measure(&mean, g, &m->config, method, diag);

    if (!err)
        *out = gcb_mean_among(method, mean.error, mean.second_error, mean.shared, g->signal,
                              g->noise, g->workers, n, 1);
    return err;
}

/* Reads the gradients of targets for the error of a mean, if there are any. */
static int read_gradients(struct sweep *c, const struct gcb_match_mean *mean,
                          const struct gcb_run_config *run, struct gcb_diag *diag)
{
    const struct gcb_layout_config scope = {.scope = GCB_SCOPE_TENSOR};
    struct gcb_gradients_config config = {
        .steps = MEAN_STEPS, .most = MEAN_MOST, .most_together = MEAN_TOGETHER};
    struct gcb_layout layout = {.count = 0};
    int err;

    for (size_t i = 0; i < c->plan.goal_count; i++) {
        struct gcb_match_goal *goal = &c->plan.goals[i];

        goal->mean = mean;
        if (goal->workers > config.workers)
            config.workers = goal->workers;
    }
    if (config.workers == 0)
        return 0;
    err = gcb_layout_init(&layout, c->s.source, &scope, diag);
    if (!err)
        err = gcb_gradients_read(&c->gradients, c->s.source, &layout, &config, run->trial.kernels,
                                 diag);
    gcb_layout_fini(&layout);
    return err;
}

/* Runs the searches of --match, where times do not matter. */
static int search(struct sweep *c, const struct gcb_run_observer *observer, struct gcb_diag *diag)
{
    const struct gcb_run_config config = session_run_config(&c->s, &c->o->timing, NULL, 0);
    struct means means = {&c->gradients,
                          {.kernels = config.trial.kernels,
                           .queue = config.trial.queue,
                           .seed = config.trial.seed,
                           .fft_rigor = config.trial.fft_rigor,
                           .draws = 1,
                           .stop = observer->stop,
                           .ctx = observer->ctx}};
    const struct gcb_match_mean mean = {measure_mean, &means};
    int err = read_gradients(c, &mean, &config, diag);

    c->to = c->o->own.budget ? BUDGET_FROM : SEARCH;
    if (!err)
        err = gcb_choose_run(&c->plan.choice, &config, observer, &c->result.interrupted, diag);
    c->from = c->to;
    c->to = SEARCH;
    if (!err && !c->result.interrupted && c->o->own.budget)
        err = gcb_policy_search(&c->plan.policy_rules, &c->plan.choice, &config, observer,
                                &c->result.interrupted, diag);
    return err ? err : take_choice(&c->plan, c->o, diag);
}

static int run_settings(struct sweep *c, struct gcb_diag *diag)
{
    const struct gcb_run_observer observer = {
        .trial = on_trial, .progress = on_progress, .stop = interrupt_stop, .ctx = c};
    const struct gcb_method *const **by_tensor = NULL;
    struct gcb_run_config config;
    int err = 0;

    session_start_progress(&c->s);
    if (c->plan.matching)
        err = search(c, &observer, diag);
    c->from = c->plan.matching ? SEARCH : 0.0;
    c->to = 1.0;
    config = session_run_config(&c->s, &c->o->timing, c->plan.methods, c->plan.count);
    config.carry_on = true;
    /* payoff needs the times of sums; a single run would not decide anything */
    config.trial.sums = c->plan.matching && !config.trial.device &&
                        (config.trial.timing.repeat > 1 || config.trial.timing.min_time > 0.0);
    session_repeat(&c->s, &config, &c->o->timing, SECONDS);
    if (!err && c->plan.policy != SIZE_MAX) {
        by_tensor = gcb_alloc_zero(c->plan.count, sizeof(*by_tensor));
        err = by_tensor ? 0 : gcb_diag_nomem(diag, 0, "a policy");
    }
    if (by_tensor) {
        by_tensor[c->plan.policy] = c->plan.policy_rules.by_tensor;
        config.by_tensor = by_tensor;
        c->s.setting.policy = &c->plan.policy_rules;
    }
    if (!err && !c->result.interrupted)
        err = gcb_run(&c->result, &config, &observer, diag);
    if (!err && c->plan.matching && c->result.interrupted)
        err = gcb_match_fill_totals(&c->result, c->plan.count, c->plan.choice.searches,
                                    c->plan.given, diag);
    gcb_free(by_tensor);
    progress_end(&c->s.progress);
    return err;
}

/* ---- what is shown ---- */

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

/* Returns the place of a setting in the order: by goal, settings that meet the goal first; baselines come last. */
static size_t rank(const struct sweep *c, size_t i)
{
    const struct sweep_plan *p = &c->plan;
    const struct gcb_match_goal *goal;

    if (i == p->policy)
        return 0;
    if (i >= p->given)
        return 2 * p->goal_count;
    if (!p->matching)
        return 0;
    goal = p->choice.searches[i].goal;
    return 2 * (size_t)(goal - p->goals) +
           !gcb_match_reached(&p->choice.searches[i], tally_of(c, i));
}

/* Sorts by --sort; else after a search for an error by the size, and after a search for a size by the error. */
static void sort_settings(size_t *order, const struct sweep *c)
{
    const size_t n = c->result.method_count;
    const struct sweep_plan *p = &c->plan;
    const enum gcb_field figure = p->sort || !p->matching                ? p->sort
                                  : gcb_match_limits_error(&p->goals[0]) ? GCB_FIELD_RATIO
                                                                         : GCB_FIELD_SNR_DB;

    for (size_t i = 0; i < n; i++)
        order[i] = i;
    if (figure)
        gcb_totals_order(order, &c->result, figure);
    if (c->plan.sort)
        return;
    for (size_t i = 1; i < n; i++) { /* insertion sort, because it is stable */
        const size_t moved = order[i];
        size_t at = i;

        for (; at > 0 && rank(c, order[at - 1]) > rank(c, moved); at--)
            order[at] = order[at - 1];
        order[at] = moved;
    }
}

/* Do two settings share the messages, so that the target is met exactly? */
static bool is_mixed(const struct sweep *c, size_t i)
{
    return c->plan.matching && i < c->plan.given && tally_of(c, i)->messages &&
           c->plan.choice.searches[i].mix.share < 1.0;
}

static const char *setting_name(char name[256], const struct sweep *c, size_t i)
{
    gcb_method_spec(name, 256, &c->plan.methods[i], GCB_SPEC_LABEL);
    return is_mixed(c, i) ? gcb_append(name, 256, " (mixed)") : name;
}

static void add_line(struct gcb_table *table, const struct sweep *c, size_t i)
{
    char name[256];

    setting_name(name, c, i);
    if (i >= c->plan.given && i != c->plan.policy)
        gcb_append(name, sizeof(name), " (baseline)");
    gcb_table_cell(table, name);
    out_figures(table, columns, sizeof(columns) / sizeof(columns[0]), &c->result.totals[i].tally,
                0);
    gcb_table_cell(table, c->pareto[i] ? "*" : "");
}

/* Prints what the mixed settings in the table are made of. */
static void print_mixes(const struct sweep *c, FILE *out)
{
    const struct gcb_match_search *s = c->plan.choice.searches;
    char name[256], other[256];
    bool any = false;

    for (size_t i = 0; i < c->plan.given; i++) {
        if (!is_mixed(c, i) || c->result.totals[i].failure.status)
            continue;
        if (!any)
            opt_wrapf(out, 0, 0,
                      "mixed settings, by their shares of the messages, meet the target exactly; "
                      "speeds are those of the first:");
        any = true;
        gcb_method_spec(name, sizeof(name), &c->plan.methods[i], GCB_SPEC_LABEL);
        gcb_method_spec(other, sizeof(other), &s[i].mix.other, GCB_SPEC_LABEL);
        opt_wrapf(out, 2, 4, "%.4f %s, %.4f %s", s[i].mix.share, name, 1.0 - s[i].mix.share, other);
    }
}

/* Prints the options that give the policy, ready for a shell: one on each line, or on two if it is long. */
static void print_policy(const struct sweep *c, FILE *out)
{
    const struct gcb_policy *p = &c->plan.policy_rules;
    char text[GCB_RULE_TEXT], shown[GCB_RULE_TEXT];

    if (c->plan.policy == SIZE_MAX)
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

static void print_stage(const struct sweep *c, const struct gcb_match_search *best, size_t k,
                        FILE *out)
{
    const struct gcb_choice *choice = &c->plan.choice;
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

/* Prints what each stage of the compositions earns: how much worse the plain stage is. */
static void print_stages(const struct sweep *c, FILE *out)
{
    const struct gcb_choice *choice = &c->plan.choice;
    char target[32];

    for (size_t i = choice->count - choice->composed; i < choice->count && !c->result.interrupted;
         i++) {
        const struct gcb_match_search *best = &choice->searches[i];

        fprintf(out, "what each stage of the best composition earns at %s %s:\n",
                gcb_field_name(best->goal->field), gcb_real_text(target, best->goal->target));
        for (size_t k = 0; k < choice->without_count; k++)
            if (choice->stages[k].goal == best->goal)
                print_stage(c, best, k, out);
    }
}

/* ---- the last line ---- */

/* Finds the best setting that meets the goal, except `other` (SIZE_MAX: none). SIZE_MAX: there is none. */
static size_t find_best(const struct sweep *c, const struct gcb_match_goal *goal, size_t other)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < c->plan.given; i++) {
        const struct gcb_match_search *s = &c->plan.choice.searches[i];

        if (i == other || s->goal != goal || c->result.totals[i].failure.status ||
            !gcb_match_reached(s, tally_of(c, i)))
            continue;
        if (best == SIZE_MAX || gcb_match_cost(s) < gcb_match_cost(&c->plan.choice.searches[best]))
            best = i;
    }
    return best;
}

/* Appends how many times fewer bytes the best setting sends than another. */
static void say_fewer(char *out, size_t size, const struct sweep *c, size_t best, size_t other)
{
    const double times = gcb_tally_figure(tally_of(c, best), GCB_FIELD_RATIO) /
                         gcb_tally_figure(tally_of(c, other), GCB_FIELD_RATIO);
    char name[256];

    setting_name(name, c, other);
    if (gcb_choice_composed(&c->plan.choice, best) && other < c->plan.given)
        gcb_append(name, sizeof(name), ", the best published method");
    if (times >= 1.005)
        gcb_append(out, size, ", %.3g times fewer than %s", times, name);
    else if (times > 0.995)
        gcb_append(out, size, ", as many as %s", name);
    else
        gcb_append(out, size, ", but %.3g times more than %s", 1.0 / times, name);
}

/* Says if the setting may be used only with a memory. */
static void say_caveat(char *out, size_t size, const struct sweep *c, size_t i)
{
    const struct gcb_answer answer = {.times = false};
    struct gcb_answer_item item = gcb_answer_item_of(&c->plan.methods[i]);

    item.error = gcb_tally_figure(tally_of(c, i), GCB_FIELD_REL_L2);
    if (!item.baseline && !gcb_answer_usable(&answer, &item))
        gcb_append(out, size, "; the error of %s lasts: it needs a memory and a training",
                   c->plan.methods[i].name);
}

static void answer_goal(char *out, size_t size, const struct sweep *c,
                        const struct gcb_match_goal *goal)
{
    const size_t best = find_best(c, goal, SIZE_MAX), next = find_best(c, goal, best);
    const char *field = gcb_field_name(goal->field);
    char name[256], target[32], error[32];

    gcb_real_text(target, goal->target);
    if (best == SIZE_MAX) {
        gcb_append(out, size, "no method reaches %s %s", field, target);
        return;
    }
    setting_name(name, c, best);
    if (!gcb_match_limits_error(goal)) {
        gcb_field_number(error, GCB_FIELD_REL_L2,
                         gcb_tally_figure(tally_of(c, best), GCB_FIELD_REL_L2), 0);
        gcb_append(out, size, "at %s %s, %s has the smallest error: %s", field, target, name,
                   error);
        if (next != SIZE_MAX) {
            gcb_field_number(error, GCB_FIELD_REL_L2,
                             gcb_tally_figure(tally_of(c, next), GCB_FIELD_REL_L2), 0);
            gcb_append(out, size, ", against %s of %s", error, setting_name(name, c, next));
        }
        say_caveat(out, size, c, best);
        return;
    }
    gcb_append(out, size, "at %s %s, %s sends the fewest bytes", field, target, name);
    if (next != SIZE_MAX)
        say_fewer(out, size, c, best, next);
    if (c->plan.given != c->plan.policy && c->plan.count > c->plan.given &&
        tally_of(c, c->plan.given)->messages)
        say_fewer(out, size, c, best, c->plan.given);
    say_caveat(out, size, c, best);
}

/* With --budget: does a method for each tensor pay, compared with the best single method? */
static void answer_budget(char *out, size_t size, const struct sweep *c)
{
    const struct gcb_match_goal *goal = &c->plan.goals[0];
    const bool bytes = gcb_match_limits_error(goal);
    const enum gcb_field field = bytes ? GCB_FIELD_WIRE_BYTES : GCB_FIELD_REL_L2;
    const size_t best = find_best(c, goal, SIZE_MAX), policy = c->plan.policy;
    char name[256], target[32], error[2][32];
    double was, is;

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
    gcb_field_number(error[0], GCB_FIELD_REL_L2, is, 0);
    gcb_field_number(error[1], GCB_FIELD_REL_L2, was, 0);
    if (!(was > WORTH * is))
        gcb_append(out, size,
                   "a method for each tensor does not pay: it has %.3g times the %s of the best "
                   "single method, %s",
                   is == was ? 1.0 : is / was, bytes ? "bytes" : "error", name);
    else if (bytes)
        gcb_append(
            out, size,
            "a method for each tensor (%zu rules) sends %.3g times fewer bytes than the best "
            "single method, %s",
            c->plan.policy_rules.count, was / is, name);
    else
        gcb_append(
            out, size,
            "a method for each tensor (%zu rules) has an error of %s, against %s of the best "
            "single method, %s",
            c->plan.policy_rules.count, error[0], error[1], name);
}

/* Without --match: how many settings are worth a look. */
static void answer_settings(char *out, size_t size, const struct sweep *c)
{
    const struct sweep_plan *p = &c->plan;
    size_t marked = 0, measured = 0;

    for (size_t i = 0; i < c->result.method_count; i++) {
        marked += c->pareto[i];
        measured += tally_of(c, i)->messages && !c->result.totals[i].failure.status;
    }
    gcb_append(out, size, "%zu of %zu settings (*) are beaten by no other in ", marked, measured);
    for (size_t i = 0; i < p->pareto_count; i++)
        gcb_append(out, size, "%s%s",
                   i == 0                    ? ""
                   : i + 1 < p->pareto_count ? ", "
                                             : " and ",
                   gcb_field_name(p->pareto[i].field));
}

static char *write_answer(char *out, size_t size, const struct sweep *c)
{
    const struct sweep_plan *p = &c->plan;

    out[0] = '\0';
    for (size_t g = 0; g < p->goal_count; g++) {
        if (c->o->own.budget)
            answer_budget(out, size, c);
        else
            answer_goal(out, size, c, &p->goals[g]);
        gcb_append(out, size, "; ");
    }
    if (p->goal_count)
        gcb_append(out, size, "training was not tested");
    else
        answer_settings(out, size, c);
    return out;
}

/* How the compositions were searched for, and which methods were left out. */
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
        print_search(&c->plan.choice, out);
    for (size_t i = 0; c->plan.matching && i < c->plan.given && !r->interrupted; i++) {
        const struct gcb_match_search *s = &c->plan.choice.searches[i];

        if (r->totals[i].failure.status || tally_of(c, i)->messages == 0)
            continue;
        if (!gcb_match_note(words, s, tally_of(c, i)))
            continue;
        gcb_method_spec(name, sizeof(name), &c->plan.methods[i], GCB_SPEC_GIVEN);
        opt_note(out, "%s: %s", name, words);
    }
    if (r->skipped_steps)
        opt_note(out, "%llu step%s with infinities or NaNs left out",
                 (unsigned long long)r->skipped_steps, r->skipped_steps == 1 ? "" : "s");
    if (r->zeroed)
        opt_note(out, "%llu infinities and NaNs were taken as 0", (unsigned long long)r->zeroed);
    heading_note_load(out, (unsigned)c->o->timing.repeat);
    if (r->interrupted)
        fprintf(out, "interrupted: %s\n",
                c->plan.matching ? "these are the best settings measured by then, without times; "
                                   "searches may not have ended"
                                 : "this is what was measured by then");
}

static int show_table(const struct sweep *c, struct gcb_diag *diag)
{
    const struct out_report *report = &c->s.report;
    const size_t n = c->result.method_count;
    size_t *order = gcb_alloc_array(n, sizeof(*order));
    struct gcb_table *table;
    int err;

    if (!order)
        return gcb_diag_nomem(diag, 0, "an order of settings");
    table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    sort_settings(order, c);
    for (size_t i = 0; i < n; i++)
        if (tally_of(c, order[i])->messages && !c->result.totals[order[i]].failure.status)
            add_line(table, c, order[i]);
    gcb_free(order);
    err = out_table(report, table, diag);
    if (err)
        return err;
    out_failures(report->out, c->plan.methods, &c->result);
    print_mixes(c, report->out);
    print_policy(c, report->out);
    print_stages(c, report->out);
    if (!report->quiet)
        print_notes(c, report->out);
    return 0;
}
/* ---- results ---- */

static int put_summaries(struct sweep *c)
{
    const bool whole = !c->result.interrupted;
    char files[SESSION_FILES];
    int err = 0;

    session_name_files(files, &c->s);
    for (size_t i = 0; !err && i < c->plan.count && out_wants_rows(&c->s.report); i++) {
        struct gcb_run_total total = c->result.totals[i];
        const bool searched = c->plan.matching && i < c->plan.given;
        const struct gcb_sweep_row sweep = {
            .compared = whole,
            .pareto = c->pareto[i],
            .matching = c->plan.matching,
            .match = searched ? &c->plan.choice.searches[i] : NULL,
            .total = &total,
        };
        struct gcb_row row;

        total.tally = c->own[i];
        if (!whole && total.tally.messages == 0 && !total.failure.status)
            continue;
        gcb_rows_summary(&row, &c->s.setting, &c->plan.methods[i], &total, files, !whole);
        gcb_sweep_put(&row, &sweep);
        if (c->plan.matching)
            gcb_choice_put(&row, &c->plan.choice, i);
        err = session_put(&c->s, &row);
    }
    return err;
}

static int show_results(struct sweep *c, struct gcb_diag *diag)
{
    char answer[4000];
    struct gcb_row row;
    int err = session_print_heading(&c->s, "");

    if (!err && c->s.report.table)
        err = show_table(c, diag);
    if (err || c->result.interrupted)
        return err;
    gcb_answer_row(&row, write_answer(answer, sizeof(answer), c), NULL);
    return out_answer(&c->s.report, &row, diag);
}

/* Marks the settings that no other beats. Settings that miss their target do not count. */
static int mark_pareto(struct sweep *c, struct gcb_diag *diag)
{
    bool *missed;

    c->pareto = gcb_alloc_zero(2 * c->plan.count, sizeof(*c->pareto));
    if (!c->pareto)
        return gcb_diag_nomem(diag, c->plan.count, "marks");
    if (c->result.interrupted)
        return 0;
    missed = c->pareto + c->plan.count;
    for (size_t i = 0; c->plan.matching && i < c->plan.given; i++)
        missed[i] = !gcb_match_reached(&c->plan.choice.searches[i], &c->result.totals[i].tally);
    return gcb_pareto_totals(c->pareto, &c->result, missed, c->plan.pareto, c->plan.pareto_count,
                             diag);
}

/* Keeps the settings' own tallies for the rows. The rest compares what meets the targets: settings, or mixes of two. */
static int mix_tallies(struct sweep *c, struct gcb_diag *diag)
{
    c->own = gcb_alloc_zero(c->plan.count + 1, sizeof(*c->own));
    if (!c->own)
        return gcb_diag_nomem(diag, c->plan.count, "results");
    for (size_t i = 0; i < c->result.method_count; i++) {
        if (c->plan.matching && i < c->plan.given && c->plan.choice.searches[i].goal->workers)
            c->result.totals[i].tally.error_of_mean = c->plan.choice.searches[i].found.value;
        c->own[i] = c->result.totals[i].tally;
        if (c->plan.matching && i < c->plan.given)
            gcb_match_mix_tally(&c->result.totals[i].tally, &c->plan.choice.searches[i]);
    }
    return 0;
}

static int finish(struct sweep *c, struct gcb_diag *diag)
{
    struct bench_outcome outcome = {.methods = 0};
    bool measured = false; /* not if a search was interrupted on its sample */
    int err = mix_tallies(c, diag);

    if (!err)
        err = mark_pareto(c, diag);
    if (!err)
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
    return session_interrupted(&c->s, !measured          ? "nothing was measured on all messages"
                                      : c->plan.matching ? "the best settings so far are kept"
                                                         : "the results so far are kept");
}

static void release(struct sweep *c)
{
    gcb_run_result_fini(&c->result);
    gcb_free(c->pareto);
    gcb_free(c->own);
    gcb_gradients_fini(&c->gradients);
    gcb_free(c->plan.methods);
    gcb_choice_fini(&c->plan.choice);
    gcb_policy_fini(&c->plan.policy_rules);
    session_close(&c->s);
}

static int sweep_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct sweep_options *o = options;
    struct sweep c = {
        .o = o,
        .s = {.o = o->common, .files = operands, .ctx = ctx},
    };
    int err = resolve(&c, ctx->diag);

    if (err)
        goto out;
    err = session_open_input(&c.s);
    if (err)
        goto out;
    interrupt_catch();
    err = session_start_report(&c.s, GCB_SWEEP_RECORDS, true);
    if (err)
        goto out;
    err = run_settings(&c, ctx->diag);
    if (!err)
        err = finish(&c, ctx->diag);
out:
    release(&c);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Methods", opt_methods_rows, struct sweep_options, methods),
    OPT_GROUP("Settings", own_rows, struct sweep_options, own),
    SESSION_GROUPS(struct sweep_options),
    OPT_GROUP("Running", opt_timing_rows, struct sweep_options, timing),
    OPT_GROUP("Output", show_rows, struct sweep_options, own),
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
        "million elements is searched on a sample first; of a very large one, methods that are "
        "far behind on the sample are left out. A KEY of --vary applies to the "
        "methods that have this parameter.\n"
        "--match searches the parameters that change a method's size or error: bits, bucket, "
        "chunk, "
        "coding, theta and so on. What --method gives stays. For a limit on the error it reports "
        "the smallest messages, for a limit on the size the smallest error. If no single setting "
        "is "
        "at the limit, it reports two that meet it together, each for a share of the messages. If "
        "no setting is within the limit, it reports the nearest one. Only the reported setting is "
        "timed; with --repeat, its sums are timed too, which `gcbench payoff` needs.\n"
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
