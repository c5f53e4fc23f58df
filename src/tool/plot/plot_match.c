/* What methods cost where all of them meet the same target: rows of `sweep --match`. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/columns.h"
#include "src/tool/plot/plots.h"

#define MAX_BARS 60

static bool is_wanted(const void *row)
{
    const struct gcb_plot_case *c = row;

    return strcmp(c->status, "ok") == 0 && c->match_field[0] && isfinite(c->match_target) &&
           c->bits > 0.0 && c->rel_l2 >= 0.0;
}

/* A page is a file, a scope and a target. */
static bool same_page(const void *a, const void *b)
{
    const struct gcb_plot_case *x = a, *y = b;

    return x->file == y->file && x->scope == y->scope && x->match_field == y->match_field &&
           x->match_target == y->match_target;
}

static const struct gcb_plot_split split = {offsetof(struct gcb_plot_data, summaries),
                                            sizeof(struct gcb_plot_case), is_wanted, same_page};

/* A limit on error is compared in bytes, one on bytes in error. */
static bool limits_error(const struct gcb_plot_case *c)
{
    return strcmp(c->match_field, "rel_l2") == 0 || strcmp(c->match_field, "cosine") == 0;
}

struct bar {
    const struct gcb_plot_case *item;
    const char *label;
    double cost;
};

/* Those that meet the target first, the cheapest in front. */
static int cheaper(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    const bool met_x = x->item->match_reached > 0.0, met_y = y->item->match_reached > 0.0;

    return met_x != met_y ? met_y - met_x : (x->cost > y->cost) - (x->cost < y->cost);
}

static void put_bars(struct gcb_plot_page *out, const struct bar *bars, size_t count)
{
    static const char *const columns[] = {"row",    "cost",  "reached", "rel_l2",
                                          "cosine", "ratio", "spec",    NULL};
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;
    char text[GCB_PLOT_LABEL];

    gcb_plot_array_begin(out, "label", count);
    for (size_t i = 0; i < count; i++)
        gcb_plot_array_text(out, gcb_text_shorten(text, sizeof(text), bars[i].label, 60));
    gcb_plot_array_end(out);
    gcb_plot_block(out, columns);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_case *c = bars[i].item;

        gcb_plot_range_add_positive(&range, bars[i].cost);
        gcb_plot_cell(out, (double)i + 1);
        gcb_plot_cell(out, bars[i].cost);
        gcb_plot_cell(out, c->match_reached > 0.0 ? 1.0 : 0.0);
        gcb_plot_cell(out, c->rel_l2);
        gcb_plot_cell(out, c->cosine);
        gcb_plot_cell(out, c->ratio);
        gcb_plot_cell_text(out, c->spec);
        gcb_plot_end_row(out);
    }
    gcb_plot_var_range(out, "cost", &range);
}

static void put_page(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                     const struct gcb_plot_cases *cases, const struct gcb_plot_set *set)
{
    const struct gcb_plot_case *like = cases->items[0];
    const size_t count = cases->count < MAX_BARS ? cases->count : MAX_BARS;
    struct bar bars[MAX_BARS];
    char title[96];

    for (size_t i = 0; i < count; i++)
        bars[i] =
            (struct bar){cases->items[i], set->items[i].label,
                         limits_error(like) ? cases->items[i]->bits : cases->items[i]->rel_l2};
    qsort(bars, count, sizeof(bars[0]), cheaper);
    snprintf(title, sizeof(title), "Cost at %.40s %g", like->match_field, like->match_target);
    gcb_plot_heading(out, title, data, like, GCB_PLOT_BY_ERROR);
    gcb_plot_var_text(out, "field", like->match_field);
    gcb_plot_var_real(out, "of_error", limits_error(like));
    gcb_plot_var_real(out, "rows", (double)count);
    gcb_plot_var_real(out, "rows_left_out", (double)(cases->count - count));
    gcb_plot_var_real(out, "plot_height", 190.0 + 27.0 * (double)count);
    put_bars(out, bars, count);
}

static int fill(const struct gcb_plot_data *data, const void *first, struct gcb_plot_page *out,
                struct gcb_diag *diag)
{
    struct gcb_plot_set set = {.items = NULL};
    struct gcb_plot_cases cases;
    int err = gcb_plot_cases_of(&cases, data, &split, first, diag);

    if (!err)
        err = gcb_plot_set_of(&set, &cases, true, diag);
    if (!err)
        put_page(out, data, &cases, &set);
    gcb_plot_set_fini(&set);
    gcb_plot_cases_fini(&cases);
    return err;
}

const struct gcb_plot gcb_plot_match = {
    .name = "match",
    .title = "what methods cost where all of them meet one target",
    .needs = "summary rows of a search: `sweep --match FIELD=TARGET --results FILE`",
    .from = "sweep --match",
    .split = &split,
    .fill = fill,
};
