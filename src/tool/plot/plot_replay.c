/* What error feedback does from step to step. */
#include <math.h>
#include <stddef.h>

#include "src/tool/plot/plots.h"

static bool is_wanted(const void *row)
{
    const struct gcb_plot_step *s = row;

    return isfinite(s->index) && isfinite(s->alpha); /* else there is nothing to see */
}

/* A page is a result file and a scope. */
static bool same_page(const void *a, const void *b)
{
    const struct gcb_plot_step *x = a, *y = b;

    return x->env == y->env && x->scope == y->scope;
}

static const struct gcb_plot_split split = {offsetof(struct gcb_plot_data, steps),
                                            sizeof(struct gcb_plot_step), is_wanted, same_page};

static int cases_of(struct gcb_plot_cases *cases, const struct gcb_plot_data *data,
                    const void *first, struct gcb_diag *diag)
{
    const struct gcb_plot_step *s = NULL;
    int err = 0;

    while (!err && (s = gcb_plot_split_next(&split, data, first, s)) != NULL)
        err = gcb_plot_cases_add_spec(cases, s->method, s->spec, diag);
    return err;
}

/* Puts a series and returns of how many steps it is. */
static size_t put_series(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                         const void *first, const char *spec)
{
    static const char *const columns[] = {"index",         "step",          "alpha",
                                          "cosine",        "residual",      "staleness_p50",
                                          "staleness_p99", "staleness_max", NULL};
    const struct gcb_plot_step *s = NULL;
    size_t count = 0;

    gcb_plot_block(out, columns);
    while ((s = gcb_plot_split_next(&split, data, first, s)) != NULL) {
        if (s->spec != spec)
            continue;
        gcb_plot_cell(out, s->index);
        gcb_plot_cell(out, s->step);
        gcb_plot_cell(out, s->alpha);
        gcb_plot_cell(out, s->cosine);
        gcb_plot_cell(out, s->residual_norm / s->gradient_norm);
        gcb_plot_cell(out, s->staleness_p50);
        gcb_plot_cell(out, s->staleness_p99);
        gcb_plot_cell(out, s->staleness_max);
        gcb_plot_end_row(out);
        count++;
    }
    return count;
}

static void put_ranges(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                       const void *first)
{
    struct gcb_plot_range index = {0.0, 0.0}, staleness = GCB_PLOT_RANGE_EMPTY,
                          residual = GCB_PLOT_RANGE_EMPTY;
    const struct gcb_plot_step *s = NULL;

    while ((s = gcb_plot_split_next(&split, data, first, s)) != NULL) {
        gcb_plot_range_add_positive(&index, s->index);
        gcb_plot_range_add(&staleness, s->staleness_p50);
        gcb_plot_range_add(&staleness, s->staleness_p99);
        gcb_plot_range_add(&residual, s->residual_norm / s->gradient_norm);
    }
    gcb_plot_var_range(out, "index", &index);
    gcb_plot_var_range(out, "staleness", &staleness);
    /* gnuplot draws no picture of nothing */
    gcb_plot_var_real(out, "has_staleness", staleness.low <= staleness.high);
    gcb_plot_var_real(out, "has_residual", residual.low <= residual.high);
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_step *first,
                struct gcb_plot_page *out, const char *title, struct gcb_diag *diag)
{
    const struct gcb_plot_env *env = gcb_plot_env_of(data, first->env);
    struct gcb_plot_cases cases = {.items = NULL};
    struct gcb_plot_set set = {.items = NULL};
    int err = cases_of(&cases, data, first, diag);

    if (!err)
        err = gcb_plot_set_of(&set, &cases, true, diag);
    if (err)
        goto out;
    gcb_plot_heading_of(out, title, env->file, first->scope, env);
    for (size_t i = 0; i < cases.count; i++)
        set.items[i].count = put_series(out, data, first, cases.items[i]->spec);
    gcb_plot_two_panels(out, gcb_plot_legend(out, &set));
    put_ranges(out, data, first);
out:
    gcb_plot_set_fini(&set);
    gcb_plot_cases_fini(&cases);
    return err;
}

static int fill_alpha(const struct gcb_plot_data *data, const void *first,
                      struct gcb_plot_page *out, struct gcb_diag *diag)
{
    return fill(data, first, out, "Error of the update, step by step", diag);
}

static int fill_staleness(const struct gcb_plot_data *data, const void *first,
                          struct gcb_plot_page *out, struct gcb_diag *diag)
{
    return fill(data, first, out, "Staleness, step by step", diag);
}

#define NEEDS "replay_step rows: `replay --results FILE` without --per none"

const struct gcb_plot gcb_plot_alpha = {
    .name = "alpha",
    .title = "alpha, the error of the averaged update, over steps; and the residual",
    .needs = NEEDS,
    .from = "replay",
    .split = &split,
    .fill = fill_alpha,
};

const struct gcb_plot gcb_plot_staleness = {
    .name = "staleness",
    .title = "steps since an element was last sent, over steps",
    .needs = NEEDS,
    .from = "replay",
    .split = &split,
    .fill = fill_staleness,
};
