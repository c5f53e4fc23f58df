/* What methods cost where all of them meet the same target: rows of `sweep --match`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/report/plot_series.h"
#include "src/report/plots.h"

#define MAX_BARS 60

static bool is_wanted(const struct gcb_plot_case *c)
{
    return strcmp(c->status, "ok") == 0 && c->match_field[0] && isfinite(c->match_target) &&
           c->bits > 0.0 && c->rel_l2 >= 0.0;
}

static bool same_page(const struct gcb_plot_case *a, const struct gcb_plot_case *b)
{
    return a->file == b->file && a->scope == b->scope && a->match_field == b->match_field &&
           a->match_target == b->match_target;
}

/* The first case of each page: a file, a scope and a target. */
static size_t first_cases(const struct gcb_plot_case *out[GCB_PLOT_PAGES],
                          const struct gcb_plot_data *data)
{
    const struct gcb_plot_case *items = data->summaries.items;
    size_t n = 0;

    for (size_t i = 0; i < data->summaries.count && n < GCB_PLOT_PAGES; i++) {
        size_t at = 0;

        if (!is_wanted(&items[i]))
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
    const struct gcb_plot_case *first[GCB_PLOT_PAGES];

    return first_cases(first, data);
}

static int take_cases(struct gcb_plot_cases *out, const struct gcb_plot_data *data,
                      const struct gcb_plot_case *like, struct gcb_diag *diag)
{
    const struct gcb_plot_case *items = data->summaries.items;
    int err = 0;

    for (size_t i = 0; !err && i < data->summaries.count; i++)
        if (is_wanted(&items[i]) && same_page(like, &items[i]))
            err = gcb_plot_cases_add(out, &items[i], diag);
    return err;
}

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
        gcb_plot_array_text(out, gcb_plot_shorten(text, sizeof(text), bars[i].label, 60));
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

static int fill(const struct gcb_plot_data *data, size_t page, struct gcb_plot_page *out,
                struct gcb_diag *diag)
{
    const struct gcb_plot_case *first[GCB_PLOT_PAGES];
    struct gcb_plot_cases cases = {.items = NULL};
    struct gcb_plot_set set = {.items = NULL};
    int err;

    if (page >= first_cases(first, data))
        return gcb_diag_set(diag, GCB_E_INVALID, "there is no such page");
    err = take_cases(&cases, data, first[page], diag);
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
    .pages = pages,
    .fill = fill,
};
