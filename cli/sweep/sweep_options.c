#include "cli/sweep/sweep_options.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/search/policy_search.h"
#include "src/tool/search/sweep.h"

static const char *const pers[] = {"none", "message", NULL};

/* clang-format off */
const struct opt_row sweep_own_rows[] = {
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

const struct opt_row sweep_show_rows[] = {
    {OPT_ROW("pareto", TEXT, sweep_own, pareto), .metavar = "FIELDS",
     .help = "mark the rows that no other row beats in these fields (default "
             "rel_l2,bits_per_element)"},
    {OPT_ROW("per", CHOICE, sweep_own, per), .metavar = "WHAT", .choices = pers,
     .help = "message: also write a result row for each message (default: none)"},
    {.name = NULL},
};
/* clang-format on */

/* With --match, `sweep` searches the compositions itself, so it leaves out those that are presets. */
static bool is_searched(const struct gcb_method *m)
{
    return gcb_sweep_default(m) && !(m->preset && m->preset->found);
}

int sweep_methods(struct sweep_plan *plan, const struct sweep_options *o, struct gcb_diag *diag)
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
        .allot = o->own.budget,
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

int sweep_take_choice(struct sweep_plan *plan, const struct sweep_options *o, struct gcb_diag *diag)
{
    int err;

    plan->given = plan->choice.count;
    err = add_baseline(plan, !o->lines.no_baselines, diag);
    if (err || plan->choice.policy.count == 0)
        return err;
    plan->policy = plan->count++;
    return gcb_policy_method(&plan->methods[plan->policy], &plan->choice.policy, diag);
}

int sweep_expand(struct sweep_plan *plan, const struct sweep_options *o, struct gcb_diag *diag)
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

void sweep_plan_fini(struct sweep_plan *plan)
{
    gcb_free(plan->methods);
    gcb_choice_fini(&plan->choice);
    memset(plan, 0, sizeof(*plan));
}
