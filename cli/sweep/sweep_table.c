#include "cli/sweep/sweep_table.h"

#include "cli/base/heading.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

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

    if (i >= p->given)
        return 2 * p->goal_count;
    if (!p->searches)
        return 0;
    goal = p->searches[i].goal;
    return 2 * (size_t)(goal - p->goals) +
           !gcb_match_meets(goal, gcb_tally_figure(tally_of(v, i), goal->field));
}

/* Returns the figure to sort by: the size after a search for an error, the error after a search for a size. */
static enum gcb_field choose_figure(const struct sweep_plan *p)
{
    if (p->sort || !p->searches)
        return p->sort;
    return p->goals[0].at_most != p->goals[0].rises ? GCB_FIELD_RATIO : GCB_FIELD_SNR_DB;
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

static void add_line(struct gcb_table *table, const struct sweep_view *v, size_t i)
{
    const struct gcb_tally *t = tally_of(v, i);
    static const enum gcb_field fields[] = {GCB_FIELD_RATIO, GCB_FIELD_BITS_PER_ELEMENT,
                                            GCB_FIELD_REL_L2, GCB_FIELD_COSINE,
                                            GCB_FIELD_ENCODE_GBPS};
    char name[256];

    gcb_method_spec(name, sizeof(name), &v->plan->methods[i], GCB_SPEC_LABEL);
    if (i >= v->plan->given)
        gcb_append(name, sizeof(name), " (baseline)");
    gcb_table_cell(table, name);
    for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++)
        out_cell(table, fields[k], gcb_tally_figure(t, fields[k]), 0);
    gcb_table_cell(table, v->pareto[i] ? "*" : "");
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

static void print_notes(const struct sweep_view *v, FILE *out)
{
    const struct gcb_run_result *r = v->result;
    char words[200], name[256];

    for (size_t i = 0; v->plan->searches && i < v->plan->given && !r->interrupted; i++) {
        const struct gcb_match_search *s = &v->plan->searches[i];

        if (r->totals[i].failure.status || tally_of(v, i)->messages == 0)
            continue;
        if (!gcb_match_note(words, s, tally_of(v, i)))
            continue;
        gcb_method_spec(name, sizeof(name), &v->plan->methods[i], GCB_SPEC_GIVEN);
        opt_wrapf(out, 0, 0, "note: %s: %s", name, words);
    }
    if (r->skipped_steps)
        fprintf(out, "note: %llu step%s with infinities or NaNs left out\n",
                (unsigned long long)r->skipped_steps, r->skipped_steps == 1 ? "" : "s");
    if (r->zeroed)
        fprintf(out, "note: %llu infinities and NaNs were taken as 0\n",
                (unsigned long long)r->zeroed);
    heading_note_load(out, v->repeat);
    if (r->interrupted)
        fprintf(out, "interrupted: %s\n",
                v->plan->searches ? "these are the best settings measured by then, without times; "
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
    if (!report->quiet)
        print_notes(v, report->out);
    return 0;
}
