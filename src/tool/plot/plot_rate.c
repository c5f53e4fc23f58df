/* Plots the error of methods against the size of their messages. */

#include "src/tool/plot/plots.h"

static void put_series(struct gcb_plot_page *out, const struct gcb_plot_series *s,
                       const struct gcb_plot_cases *cases)
{
    GCB_PLOT_BLOCK(out, "bits", GCB_PLOT_FIELD(RATIO), GCB_PLOT_FIELD(REL_L2),
                   GCB_PLOT_FIELD(COSINE), GCB_PLOT_FIELD(WIRE_BYTES), GCB_PLOT_FIELD(SPEC));
    for (size_t i = 0; i < s->count; i++) {
        const struct gcb_plot_record *c = cases->items[s->first + i];

        GCB_PLOT_ROW(out, c->spec, c->bits, c->ratio, c->rel_l2, c->cosine, c->wire_bytes);
    }
}

/* Sets the ranges of the axes. The errors of baselines do not count: they are orders of magnitude smaller, so the other
 * methods would look alike. Baselines are drawn on the edge, and their labels give their errors. */
static void put_ranges(struct gcb_plot_page *out, const struct gcb_plot_cases *cases)
{
    struct gcb_plot_range bits = GCB_PLOT_RANGE_EMPTY, ratio = bits, error = bits, cosine = bits;

    for (size_t i = 0; i < cases->count; i++) {
        gcb_plot_range_add_positive(&bits, cases->items[i]->bits);
        gcb_plot_range_add_positive(&ratio, cases->items[i]->ratio);
        if (!gcb_plot_baseline(cases->items[i]->method))
            gcb_plot_range_add_positive(&error, cases->items[i]->rel_l2);
        gcb_plot_range_add(&cosine, cases->items[i]->cosine);
    }
    for (size_t i = 0; error.low > error.high && i < cases->count; i++)
        gcb_plot_range_add_positive(&error, cases->items[i]->rel_l2);
    gcb_plot_var_range(out, "bits", &bits);
    gcb_plot_var_range(out, "ratio", &ratio);
    gcb_plot_var_range(out, "error", &error);
    gcb_plot_var_range(out, "cosine", &cosine);
}

/* Labels each baseline that has an error, for example "fp16 (baseline, error 2.1e-04)". */
static void name_baselines(struct gcb_plot_set *set)
{
    for (size_t s = 0; s < set->count; s++) {
        const struct gcb_plot_record *c = set->cases.items[set->items[s].first];

        if (gcb_plot_baseline(c->method) && set->items[s].count == 1 && c->rel_l2 > 0.0)
            snprintf(set->items[s].label, GCB_PLOT_LABEL, "%s (baseline, error %.1e)", c->method,
                     c->rel_l2);
    }
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    (void)diag;
    gcb_plot_heading(out, out->heading, data, first, GCB_PLOT_BY_ERROR);
    name_baselines(&out->set);
    gcb_plot_one_panel(out, gcb_plot_legend(out, &out->set));
    put_ranges(out, &out->set.cases);
    for (size_t s = 0; s < out->set.count; s++)
        put_series(out, &out->set.items[s], &out->set.cases);
    return 0;
}

const struct gcb_plot gcb_plot_rate_distortion = {
    .name = "rate-distortion",
    .title = "relative L2 error against bits per element",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .heading = "Rate-distortion",
    .split = &gcb_plot_cases_by_error,
    .series = GCB_PLOT_CURVES,
    .fill = fill,
};

const struct gcb_plot gcb_plot_rate_cosine = {
    .name = "rate-cosine",
    .title = "cosine against bits per element",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .heading = "Cosine against rate",
    .split = &gcb_plot_cases_by_error,
    .series = GCB_PLOT_CURVES,
    .fill = fill,
};

const struct gcb_plot gcb_plot_ratio_error = {
    .name = "ratio-error",
    .title = "compression ratio against relative L2 error",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .heading = "Compression ratio against error",
    .split = &gcb_plot_cases_by_error,
    .series = GCB_PLOT_CURVES,
    .fill = fill,
};
