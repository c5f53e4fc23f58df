/* What error feedback does from step to step. */
#include <math.h>

#include "src/report/plot_series.h"
#include "src/report/plots.h"

/* A page is a result file and a scope. */
static bool same_page(const struct gcb_plot_step *a, const struct gcb_plot_step *b)
{
    return a->env == b->env && a->scope == b->scope;
}

static size_t first_steps(const struct gcb_plot_step *out[GCB_PLOT_PAGES],
                          const struct gcb_plot_data *data)
{
    const struct gcb_plot_step *items = data->steps.items;
    size_t n = 0;

    for (size_t i = 0; i < data->steps.count && n < GCB_PLOT_PAGES; i++) {
        size_t at = 0;

        if (!isfinite(items[i].index) || !isfinite(items[i].alpha)) /* nothing to see */
            continue;
        while (at < n && !same_page(out[at], &items[i]))
            at++;
        if (at == n)
            out[n++] = &items[i];
    }
    return n;
}

static size_t pages(const struct gcb_plot_data *data)
{
    const struct gcb_plot_step *first[GCB_PLOT_PAGES];

    return first_steps(first, data);
}

static int cases_of(struct gcb_plot_cases *cases, const struct gcb_plot_data *data,
                    const struct gcb_plot_step *page, struct gcb_diag *diag)
{
    const struct gcb_plot_step *items = data->steps.items;
    int err = 0;

    for (size_t i = 0; !err && i < data->steps.count; i++)
        if (same_page(page, &items[i]))
            err = gcb_plot_cases_add_spec(cases, items[i].method, items[i].spec, diag);
    return err;
}

static void put_series(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                       const struct gcb_plot_step *page, const char *spec)
{
    static const char *const columns[] = {"index",         "step",          "alpha",
                                          "cosine",        "residual",      "staleness_p50",
                                          "staleness_p99", "staleness_max", NULL};
    const struct gcb_plot_step *items = data->steps.items;

    gcb_plot_block(out, columns);
    for (size_t i = 0; i < data->steps.count; i++) {
        const struct gcb_plot_step *s = &items[i];

        if (!same_page(page, s) || s->spec != spec)
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
    }
}

static int fill(const struct gcb_plot_data *data, size_t page, struct gcb_plot_page *out,
                const char *title, struct gcb_diag *diag)
{
    const struct gcb_plot_step *first[GCB_PLOT_PAGES];
    struct gcb_plot_cases cases = {.items = NULL};
    struct gcb_plot_set set = {.items = NULL};
    const struct gcb_plot_env *env;
    int err = page < first_steps(first, data)
                  ? 0
                  : gcb_diag_set(diag, GCB_E_INVALID, "there is no such page");

    if (!err)
        err = cases_of(&cases, data, first[page], diag);
    if (!err)
        err = gcb_plot_set_of(&set, &cases, true, diag);
    if (err)
        goto out;
    env = gcb_plot_env_of(data, first[page]->env);
    gcb_plot_heading_of(out, title, env->file, first[page]->scope, env);
    gcb_plot_legend(out, &set);
    for (size_t i = 0; i < cases.count; i++)
        put_series(out, data, first[page], cases.items[i]->spec);
out:
    gcb_plot_set_fini(&set);
    gcb_plot_cases_fini(&cases);
    return err;
}

static int fill_alpha(const struct gcb_plot_data *data, size_t page, struct gcb_plot_page *out,
                      struct gcb_diag *diag)
{
    return fill(data, page, out, "Error of the update, step by step", diag);
}

static int fill_staleness(const struct gcb_plot_data *data, size_t page, struct gcb_plot_page *out,
                          struct gcb_diag *diag)
{
    return fill(data, page, out, "Staleness, step by step", diag);
}

#define NEEDS "replay_step rows: `replay --results FILE` without --per none"

const struct gcb_plot gcb_plot_alpha = {
    .name = "alpha",
    .title = "alpha, the error of the averaged update, over steps; and the residual",
    .needs = NEEDS,
    .pages = pages,
    .fill = fill_alpha,
};

const struct gcb_plot gcb_plot_staleness = {
    .name = "staleness",
    .title = "steps since an element was last sent, over steps",
    .needs = NEEDS,
    .pages = pages,
    .fill = fill_staleness,
};
