#include "cli/sweep/sweep_table.h"

#include "cli/base/heading.h"
#include "cli/base/output.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"

#define WORTH 1.02 /* a policy with less gain than this does not pay */

static const struct gcb_table_column columns[] = {
    {.title = "setting", .elastic = true},
    {.title = "ratio"},
    {.title = "bits/el"},
    {.title = "rel L2"},
    {.title = "cosine"},
    {.title = "enc GB/s"},
    {.title = "Pareto", .text = true},
};

static const struct gcb_tally *tally_of(const struct sweep_view *v, size_t i)
{
    return &v->result->totals[i].tally;
}

/* Returns the place of a setting in the order: by goal, settings that meet the goal first; baselines come last. */
static size_t rank(const struct sweep_view *v, size_t i)
{
    const struct sweep_plan *p = v->plan;
    const struct gcb_match_goal *goal;

    if (i == p->policy)
        return 0;
    if (i >= p->given)
        return 2 * p->goal_count;
    if (!p->matching)
        return 0;
    goal = p->choice.searches[i].goal;
    return 2 * (size_t)(goal - p->goals) +
           !gcb_match_reached(&p->choice.searches[i], tally_of(v, i));
}

/* Returns the figure to sort by: the size after a search for an error, the error after a search for a size. */
static enum gcb_field choose_figure(const struct sweep_plan *p)
{
    if (p->sort || !p->matching)
        return p->sort;
    return gcb_match_limits_error(&p->goals[0]) ? GCB_FIELD_RATIO : GCB_FIELD_SNR_DB;
}

static void sort_settings(size_t *order, const struct sweep_view *v)
{
    const size_t n = v->result->method_count;
    const enum gcb_field figure = choose_figure(v->plan);

    for (size_t i = 0; i < n; i++)
        order[i] = i;
    if (figure)
        gcb_totals_order(order, v->result, figure);
    if (v->plan->sort)
        return;
    for (size_t i = 1; i < n; i++) { /* insertion sort, because it is stable */
        const size_t moved = order[i];
        size_t at = i;

        for (; at > 0 && rank(v, order[at - 1]) > rank(v, moved); at--)
            order[at] = order[at - 1];
        order[at] = moved;
    }
}

/* Do two settings share the messages, so that the target is met exactly? */
static bool is_mixed(const struct sweep_view *v, size_t i)
{
    return v->plan->matching && i < v->plan->given && tally_of(v, i)->messages &&
           v->plan->choice.searches[i].mix.share < 1.0;
}

static const char *setting_name(char name[256], const struct sweep_view *v, size_t i)
{
    gcb_method_spec(name, 256, &v->plan->methods[i], GCB_SPEC_LABEL);
    return is_mixed(v, i) ? gcb_append(name, 256, " (mixed)") : name;
}

static void add_line(struct gcb_table *table, const struct sweep_view *v, size_t i)
{
    const struct gcb_tally *t = tally_of(v, i);
    static const enum gcb_field fields[] = {GCB_FIELD_RATIO, GCB_FIELD_BITS_PER_ELEMENT,
                                            GCB_FIELD_REL_L2, GCB_FIELD_COSINE,
                                            GCB_FIELD_ENCODE_GBPS};
    char name[256];

    setting_name(name, v, i);
    if (i >= v->plan->given && i != v->plan->policy)
        gcb_append(name, sizeof(name), " (baseline)");
    gcb_table_cell(table, name);
    for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++)
        out_cell(table, fields[k], gcb_tally_figure(t, fields[k]), 0);
    gcb_table_cell(table, v->pareto[i] ? "*" : "");
}

/* Prints what the mixed settings in the table are made of. */
static void print_mixes(const struct sweep_view *v, FILE *out)
{
    const struct gcb_match_search *s = v->plan->choice.searches;
    char name[256], other[256];
    bool any = false;

    for (size_t i = 0; i < v->plan->given; i++) {
        if (!is_mixed(v, i) || v->result->totals[i].failure.status)
            continue;
        if (!any)
            opt_wrapf(out, 0, 0,
                      "mixed settings, by their shares of the messages, meet the target exactly; "
                      "speeds are those of the first:");
        any = true;
        gcb_method_spec(name, sizeof(name), &v->plan->methods[i], GCB_SPEC_LABEL);
        gcb_method_spec(other, sizeof(other), &s[i].mix.other, GCB_SPEC_LABEL);
        opt_wrapf(out, 2, 4, "%.4f %s, %.4f %s", s[i].mix.share, name, 1.0 - s[i].mix.share, other);
    }
}

/* Prints the options that give the policy, ready for a shell: one on each line, or on two if it is long. */
static void print_policy(const struct sweep_view *v, FILE *out)
{
    const struct gcb_policy *p = &v->plan->choice.policy;
    char text[GCB_RULE_TEXT], shown[GCB_RULE_TEXT];

    if (v->plan->policy == SIZE_MAX)
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

/* Lists the settings that failed, which have no line in the table. */
static void print_failures(const struct sweep_view *v, FILE *out)
{
    const struct gcb_run_result *r = v->result;
    char name[256];

    for (size_t i = 0; i < r->method_count; i++) {
        const struct gcb_diag *failure = &r->totals[i].failure;

        if (!failure->status)
            continue;
        gcb_method_spec(name, sizeof(name), &v->plan->methods[i], GCB_SPEC_LABEL);
        opt_wrapf(out, 0, 0, "%s: %s: %s",
                  gcb_run_unsupported(&r->totals[i]) ? "unsupported" : "failed", name,
                  failure->text);
    }
}

/* ---- the stages of the best compositions ---- */

static void print_stage(const struct sweep_view *v, const struct gcb_match_search *best, size_t k,
                        FILE *out)
{
    const struct gcb_choice *c = &v->plan->choice;
    const double earns = gcb_choice_earns(c, k);
    char with[64], plain[64];

    gcb_compose_stage(with, sizeof(with), &best->method, c->stages[k].stage);
    gcb_compose_stage(plain, sizeof(plain), &c->without[k].method, c->stages[k].stage);
    if (earns > 0.0)
        fprintf(out, "  %-26s  %.3g times the %s with %s\n", with, earns,
                gcb_match_limits_error(best->goal) ? "bytes" : "error", plain);
    else
        fprintf(out, "  %-26s  the target is missed with %s\n", with, plain);
}

/* Prints what each stage of the compositions earns: how much worse the plain stage is. */
static void print_stages(const struct sweep_view *v, FILE *out)
{
    const struct gcb_choice *c = &v->plan->choice;
    char target[32];

    for (size_t i = c->count - c->composed; i < c->count && !v->result->interrupted; i++) {
        const struct gcb_match_search *best = &c->searches[i];

        fprintf(out, "what each stage of the best composition earns at %s %s:\n",
                gcb_field_name(best->goal->field), gcb_real_text(target, best->goal->target));
        for (size_t k = 0; k < c->without_count; k++)
            if (c->stages[k].goal == best->goal)
                print_stage(v, best, k, out);
    }
}

/* ---- the last line ---- */

/* Finds the best setting that meets the goal, except `other` (SIZE_MAX: none). SIZE_MAX: there is none. */
static size_t find_best(const struct sweep_view *v, const struct gcb_match_goal *goal, size_t other)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < v->plan->given; i++) {
        const struct gcb_match_search *s = &v->plan->choice.searches[i];

        if (i == other || s->goal != goal || v->result->totals[i].failure.status ||
            !gcb_match_reached(s, tally_of(v, i)))
            continue;
        if (best == SIZE_MAX || gcb_match_cost(s) < gcb_match_cost(&v->plan->choice.searches[best]))
            best = i;
    }
    return best;
}

/* Appends how many times fewer bytes the best setting sends than another. */
static void say_fewer(char *out, size_t size, const struct sweep_view *v, size_t best, size_t other)
{
    const double times = gcb_tally_figure(tally_of(v, best), GCB_FIELD_RATIO) /
                         gcb_tally_figure(tally_of(v, other), GCB_FIELD_RATIO);
    char name[256];

    setting_name(name, v, other);
    if (gcb_choice_composed(&v->plan->choice, best) && other < v->plan->given)
        gcb_append(name, sizeof(name), ", the best published method");
    if (times >= 1.005)
        gcb_append(out, size, ", %.3g times fewer than %s", times, name);
    else if (times > 0.995)
        gcb_append(out, size, ", as many as %s", name);
    else
        gcb_append(out, size, ", but %.3g times more than %s", 1.0 / times, name);
}

/* Says if the setting may be used only with a memory. */
static void say_caveat(char *out, size_t size, const struct sweep_view *v, size_t i)
{
    const struct gcb_answer answer = {.times = false};
    struct gcb_answer_item item = gcb_answer_item_of(&v->plan->methods[i]);

    item.error = gcb_tally_figure(tally_of(v, i), GCB_FIELD_REL_L2);
    if (!item.baseline && !gcb_answer_usable(&answer, &item))
        gcb_append(out, size, "; the error of %s lasts: it needs a memory and a training",
                   v->plan->methods[i].name);
}

static void answer_goal(char *out, size_t size, const struct sweep_view *v,
                        const struct gcb_match_goal *goal)
{
    const size_t best = find_best(v, goal, SIZE_MAX), next = find_best(v, goal, best);
    const char *field = gcb_field_name(goal->field);
    char name[256], target[32], error[32];

    gcb_real_text(target, goal->target);
    if (best == SIZE_MAX) {
        gcb_append(out, size, "no method reaches %s %s", field, target);
        return;
    }
    setting_name(name, v, best);
    if (!gcb_match_limits_error(goal)) {
        gcb_field_number(error, GCB_FIELD_REL_L2,
                         gcb_tally_figure(tally_of(v, best), GCB_FIELD_REL_L2), 0);
        gcb_append(out, size, "at %s %s, %s has the smallest error: %s", field, target, name,
                   error);
        if (next != SIZE_MAX) {
            gcb_field_number(error, GCB_FIELD_REL_L2,
                             gcb_tally_figure(tally_of(v, next), GCB_FIELD_REL_L2), 0);
            gcb_append(out, size, ", against %s of %s", error, setting_name(name, v, next));
        }
        say_caveat(out, size, v, best);
        return;
    }
    gcb_append(out, size, "at %s %s, %s sends the fewest bytes", field, target, name);
    if (next != SIZE_MAX)
        say_fewer(out, size, v, best, next);
    if (v->plan->given != v->plan->policy && v->plan->count > v->plan->given &&
        tally_of(v, v->plan->given)->messages)
        say_fewer(out, size, v, best, v->plan->given);
    say_caveat(out, size, v, best);
}

/* With --budget: does a method for each tensor pay, compared with the best single method? */
static void answer_budget(char *out, size_t size, const struct sweep_view *v)
{
    const struct gcb_match_goal *goal = &v->plan->goals[0];
    const bool bytes = gcb_match_limits_error(goal);
    const enum gcb_field field = bytes ? GCB_FIELD_WIRE_BYTES : GCB_FIELD_REL_L2;
    const size_t best = find_best(v, goal, SIZE_MAX), policy = v->plan->policy;
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
    setting_name(name, v, best);
    was = gcb_tally_figure(tally_of(v, best), field);
    is = gcb_tally_figure(tally_of(v, policy), field);
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
            v->plan->choice.policy.count, was / is, name);
    else
        gcb_append(
            out, size,
            "a method for each tensor (%zu rules) has an error of %s, against %s of the best "
            "single method, %s",
            v->plan->choice.policy.count, error[0], error[1], name);
}

/* Without --match: how many settings are worth a look. */
static void answer_settings(char *out, size_t size, const struct sweep_view *v)
{
    const struct sweep_plan *p = v->plan;
    size_t marked = 0, measured = 0;

    for (size_t i = 0; i < v->result->method_count; i++) {
        marked += v->pareto[i];
        measured += tally_of(v, i)->messages && !v->result->totals[i].failure.status;
    }
    gcb_append(out, size, "%zu of %zu settings (*) are beaten by no other in ", marked, measured);
    for (size_t i = 0; i < p->pareto_count; i++)
        gcb_append(out, size, "%s%s",
                   i == 0                    ? ""
                   : i + 1 < p->pareto_count ? ", "
                                             : " and ",
                   gcb_field_name(p->pareto[i].field));
}

char *sweep_answer(char *out, size_t size, const struct sweep_view *v)
{
    const struct sweep_plan *p = v->plan;

    out[0] = '\0';
    for (size_t g = 0; g < p->goal_count; g++) {
        if (p->choice.allot)
            answer_budget(out, size, v);
        else
            answer_goal(out, size, v, &p->goals[g]);
        gcb_append(out, size, "; ");
    }
    if (p->goal_count)
        gcb_append(out, size, "training was not tested");
    else
        answer_settings(out, size, v);
    return out;
}

/* How the compositions were searched for, and which methods were left out. */
static void print_search(const struct gcb_choice *c, FILE *out)
{
    char sample[100] = "";

    if (c->sampled)
        snprintf(sample, sizeof(sample),
                 " on a sample of %.3g of %.3g million elements, and the best of them on all",
                 (double)c->sampled * 1e-6, (double)c->elements * 1e-6);
    if (c->tried)
        opt_note(out, "%zu settings and compositions were tuned with %zu measurements%s", c->tried,
                 c->evaluations, sample);
    if (c->left_out[0])
        opt_note(out,
                 "left out, because they missed the target on the sample or were more than "
                 "%g times worse than the best: %s (--method runs them)",
                 GCB_CHOOSE_FAR, c->left_out);
}

static void print_notes(const struct sweep_view *v, FILE *out)
{
    const struct gcb_run_result *r = v->result;
    char words[200], name[256];

    if (!r->interrupted)
        print_search(&v->plan->choice, out);
    for (size_t i = 0; v->plan->matching && i < v->plan->given && !r->interrupted; i++) {
        const struct gcb_match_search *s = &v->plan->choice.searches[i];

        if (r->totals[i].failure.status || tally_of(v, i)->messages == 0)
            continue;
        if (!gcb_match_note(words, s, tally_of(v, i)))
            continue;
        gcb_method_spec(name, sizeof(name), &v->plan->methods[i], GCB_SPEC_GIVEN);
        opt_note(out, "%s: %s", name, words);
    }
    if (r->skipped_steps)
        opt_note(out, "%llu step%s with infinities or NaNs left out",
                 (unsigned long long)r->skipped_steps, r->skipped_steps == 1 ? "" : "s");
    if (r->zeroed)
        opt_note(out, "%llu infinities and NaNs were taken as 0", (unsigned long long)r->zeroed);
    heading_note_load(out, v->repeat);
    if (r->interrupted)
        fprintf(out, "interrupted: %s\n",
                v->plan->matching ? "these are the best settings measured by then, without times; "
                                    "searches may not have ended"
                                  : "this is what was measured by then");
}

int sweep_show(const struct sweep_view *v, const struct out_report *report, struct gcb_diag *diag)
{
    const size_t n = v->result->method_count;
    size_t *order = gcb_alloc_array(n, sizeof(*order));
    struct gcb_table *table;
    int err;

    if (!order)
        return gcb_diag_nomem(diag, 0, "an order of settings");
    table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    sort_settings(order, v);
    for (size_t i = 0; i < n; i++)
        if (tally_of(v, order[i])->messages && !v->result->totals[order[i]].failure.status)
            add_line(table, v, order[i]);
    gcb_free(order);
    err = out_table(report, table, diag);
    if (err)
        return err;
    print_failures(v, report->out);
    print_mixes(v, report->out);
    print_policy(v, report->out);
    print_stages(v, report->out);
    if (!report->quiet)
        print_notes(v, report->out);
    return 0;
}
