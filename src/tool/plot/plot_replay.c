/* Plots the error of the update and the staleness of elements, step by step. */
#include <math.h>

#include "src/tool/plot/plots.h"

static bool is_wanted(const struct gcb_plot_record *s)
{
    return isfinite(s->index) && isfinite(s->alpha);
}

/* There is a page for each result file and scope. */
static bool same_page(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->env == b->env && a->scope == b->scope;
}

static const struct gcb_plot_split split = {GCB_RECORD_REPLAY_STEP, is_wanted, same_page, NULL};

/* Returns the norm of the residual, divided by the norm of the gradient. */
static double residual_of(const struct gcb_plot_record *s)
{
    return s->residual_norm / s->gradient_norm;
}

/* Writes the steps of a series and returns their number. */
static size_t put_series(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                         const struct gcb_plot_record *first, const char *spec)
{
    const struct gcb_plot_record *s = NULL;
    size_t count = 0;

    GCB_PLOT_BLOCK(out, GCB_PLOT_FIELD(INDEX), GCB_PLOT_FIELD(STEP), GCB_PLOT_FIELD(ALPHA),
                   GCB_PLOT_FIELD(COSINE), "residual", GCB_PLOT_FIELD(STALENESS_P50),
                   GCB_PLOT_FIELD(STALENESS_P99), GCB_PLOT_FIELD(STALENESS_MAX));
    while ((s = gcb_plot_split_next(&split, data, first, s)) != NULL) {
        if (s->spec != spec)
            continue;
        GCB_PLOT_ROW(out, NULL, s->index, s->step, s->alpha, s->cosine, residual_of(s),
                     s->staleness_p50, s->staleness_p99, s->staleness_max);
        count++;
    }
    return count;
}

static void put_ranges(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                       const struct gcb_plot_record *first)
{
    struct gcb_plot_range index = {0.0, 0.0}, staleness = GCB_PLOT_RANGE_EMPTY,
                          residual = GCB_PLOT_RANGE_EMPTY;
    const struct gcb_plot_record *s = NULL;

    while ((s = gcb_plot_split_next(&split, data, first, s)) != NULL) {
        gcb_plot_range_add_positive(&index, s->index);
        gcb_plot_range_add(&staleness, s->staleness_p50);
        gcb_plot_range_add(&staleness, s->staleness_p99);
        gcb_plot_range_add(&residual, residual_of(s));
    }
    gcb_plot_var_range(out, "index", &index);
    gcb_plot_var_range(out, "staleness", &staleness);
    /* gnuplot fails if a picture has no points */
    gcb_plot_var_real(out, "has_staleness", staleness.low <= staleness.high);
    gcb_plot_var_real(out, "has_residual", residual.low <= residual.high);
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    const struct gcb_plot_record *env = gcb_plot_env_of(data, first->env);
    struct gcb_plot_set *set = &out->set;

    (void)diag;
    gcb_plot_heading_of(out, out->heading, env->file, first->scope, env);
    for (size_t i = 0; i < set->count; i++)
        set->items[i].count = put_series(out, data, first, set->cases.items[i]->spec);
    gcb_plot_two_panels(out, gcb_plot_legend(out, set));
    put_ranges(out, data, first);
    return 0;
}

#define NEEDS "replay_step rows: `replay --results FILE` without --per none"

const struct gcb_plot gcb_plot_alpha = {
    .name = "alpha",
    .title = "alpha (the error of the averaged update) and the residual at each step",
    .needs = NEEDS,
    .from = "replay",
    .heading = "Error of the update, step by step",
    .split = &split,
    .series = GCB_PLOT_APART,
    .fill = fill,
};

const struct gcb_plot gcb_plot_staleness = {
    .name = "staleness",
    .title = "staleness (steps since an element was last sent) at each step",
    .needs = NEEDS,
    .from = "replay",
    .heading = "Staleness, step by step",
    .split = &split,
    .series = GCB_PLOT_APART,
    .fill = fill,
};
