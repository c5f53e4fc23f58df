/* What methods cost if all of them meet the same target: rows of `sweep --match`. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
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

/* Methods that meet a limit on the error are compared by their bytes, and the other way round. */
static bool limits_error(const struct gcb_plot_case *c)
{
    return gcb_field_info(gcb_field_find(c->match_field))->gate == GCB_GATE_ERROR;
}

struct bar {
    const struct gcb_plot_case *item;
    const char *label;
    double cost;
};

/* Methods that meet the target come first, in the order of their cost. */
static int cheaper(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    const bool met_x = x->item->match_reached > 0.0, met_y = y->item->match_reached > 0.0;

    return met_x != met_y ? met_y - met_x : (x->cost > y->cost) - (x->cost < y->cost);
}

static void put_bars(struct gcb_plot_page *out, const struct bar *bars, size_t count)
{
    static const struct gcb_plot_column columns[] = {{.name = "row"},
                                                     {.name = "cost"},
                                                     {.name = "reached"},
                                                     {.field = GCB_FIELD_REL_L2},
                                                     {.field = GCB_FIELD_COSINE},
                                                     {.field = GCB_FIELD_RATIO},
                                                     {.field = GCB_FIELD_SPEC},
                                                     {.name = NULL}};
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;

    gcb_plot_array_begin(out, "label", count);
    for (size_t i = 0; i < count; i++)
        gcb_plot_array_text(out, bars[i].label, 60);
    gcb_plot_array_end(out);
    gcb_plot_block(out, columns);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_case *c = bars[i].item;
        const double cells[] = {(double)i + 1, bars[i].cost, c->match_reached > 0.0,
                                c->rel_l2,     c->cosine,    c->ratio};

        gcb_plot_range_add_positive(&range, bars[i].cost);
        gcb_plot_row(out, cells, 6, c->spec);
    }
    gcb_plot_var_range(out, "cost", &range);
}

static int fill(const struct gcb_plot_data *data, const void *first, struct gcb_plot_page *out,
                struct gcb_diag *diag)
{
    const struct gcb_plot_case *like = first;
    struct gcb_plot_set set = {.items = NULL};
    struct bar *bars = NULL;
    size_t shown;
    char title[96];
    int err = gcb_plot_set_collect(&set, data, &split, first, diag);

    if (!err)
        err = gcb_plot_set_divide(&set, true, diag);
    if (!err && !(bars = gcb_alloc_zero(set.count, sizeof(*bars))))
        err = gcb_diag_nomem(diag, 0, "a plot");
    if (err)
        goto out;
    for (size_t i = 0; i < set.count; i++) {
        const struct gcb_plot_case *c = set.cases.items[i];

        bars[i] = (struct bar){c, set.items[i].label, limits_error(like) ? c->bits : c->rel_l2};
    }
    qsort(bars, set.count, sizeof(*bars), cheaper);
    shown = set.count < MAX_BARS ? set.count : MAX_BARS;
    snprintf(title, sizeof(title), "Cost at %.40s %g", like->match_field, like->match_target);
    gcb_plot_heading(out, title, data, like, GCB_PLOT_BY_ERROR);
    gcb_plot_var_text(out, "field", like->match_field);
    gcb_plot_var_real(out, "of_error", limits_error(like));
    gcb_plot_var_real(out, "rows", (double)shown);
    gcb_plot_var_real(out, "rows_left_out", (double)(set.count - shown));
    gcb_plot_var_real(out, "plot_height", 190.0 + 27.0 * (double)shown);
    put_bars(out, bars, shown);
out:
    gcb_free(bars);
    gcb_plot_set_fini(&set);
    return err;
}

const struct gcb_plot gcb_plot_match = {
    .name = "match",
    .title = "what methods cost if all of them meet one target",
    .needs = "summary rows of a search: `sweep --match FIELD=TARGET --results FILE`",
    .from = "sweep --match",
    .split = &split,
    .fill = fill,
};
