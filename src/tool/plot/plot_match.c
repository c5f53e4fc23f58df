/* Plots what methods cost if all of them meet the same target, from the rows of `sweep --match`. */
#include <math.h>
#include <string.h>

#include "src/tool/plot/plots.h"

static bool is_wanted(const struct gcb_plot_record *c)
{
    return strcmp(c->status, "ok") == 0 && c->match_field[0] && isfinite(c->match_target) &&
           c->bits > 0.0 && c->rel_l2 >= 0.0;
}

/* There is a page for each file, scope and target. */
static bool same_page(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->file == b->file && a->scope == b->scope && a->match_field == b->match_field &&
           a->match_target == b->match_target;
}

static const struct gcb_plot_split split = {GCB_RECORD_SUMMARY, is_wanted, same_page, NULL};

/* Is the target a limit on the error? Then methods are compared by their bits per element, otherwise by their error. */
static bool limits_error(const struct gcb_plot_record *c)
{
    return gcb_field_info(gcb_field_find(c->match_field))->gate == GCB_GATE_ERROR;
}

/* A figure at the target, or of the setting itself: in older results, or if the target was missed. */
static double at_target(double matched, double own)
{
    return isnan(matched) ? own : matched;
}

static double error_of(const struct gcb_plot_record *c)
{
    return at_target(c->match_error, c->rel_l2);
}

static double cost_of(const struct gcb_plot_record *c)
{
    return limits_error(c) ? at_target(c->match_bits, c->bits) : error_of(c);
}

/* Methods that meet the target come first, in the order of their cost. */
static int cheaper(const void *a, const void *b)
{
    const struct gcb_plot_record *x = ((const struct gcb_plot_bar *)a)->item,
                                 *y = ((const struct gcb_plot_bar *)b)->item;
    const bool met_x = x->match_reached > 0.0, met_y = y->match_reached > 0.0;

    if (met_x != met_y)
        return met_y - met_x;
    return (cost_of(x) > cost_of(y)) - (cost_of(x) < cost_of(y));
}

static void put_bars(struct gcb_plot_page *out, const struct gcb_plot_bar *bars, size_t count)
{
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;

    gcb_plot_bar_labels(out, bars, count);
    GCB_PLOT_BLOCK(out, "row", "cost", "reached", GCB_PLOT_FIELD(REL_L2), GCB_PLOT_FIELD(COSINE),
                   GCB_PLOT_FIELD(RATIO), GCB_PLOT_FIELD(SPEC));
    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_record *c = bars[i].item;

        gcb_plot_range_add_positive(&range, cost_of(c));
        GCB_PLOT_ROW(out, c->spec, (double)i + 1, cost_of(c), c->match_reached > 0.0, error_of(c),
                     c->cosine, at_target(c->match_ratio, c->ratio));
    }
    gcb_plot_var_range(out, "cost", &range);
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    char title[96];

    snprintf(title, sizeof(title), "Cost at %.40s %g", first->match_field, first->match_target);
    gcb_plot_heading(out, title, data, first, GCB_PLOT_BY_ERROR);
    gcb_plot_var_text(out, "field", first->match_field);
    gcb_plot_var_real(out, "of_error", limits_error(first));
    return gcb_plot_bar_rows(out, 190.0, 27.0, cheaper, put_bars, diag);
}

const struct gcb_plot gcb_plot_match = {
    .name = "match",
    .title = "what methods cost if all of them meet one target",
    .needs = "summary rows of a search: `sweep --match FIELD=TARGET --results FILE`",
    .from = "sweep --match",
    .split = &split,
    .series = GCB_PLOT_APART,
    .fill = fill,
};
