/* Two builds compared: how much faster or slower each case became, and how sure that is. */
#include <math.h>
#include <string.h>

#include "src/report/plot_series.h"
#include "src/report/plots.h"

#define MAX_ROWS 70

static bool is_wanted(const struct gcb_plot_verdict *v)
{
    return v->ratio > 0.0 && isfinite(v->ratio);
}

/* A page for each result file. */
static size_t first_verdicts(const struct gcb_plot_verdict *out[GCB_PLOT_PAGES],
                             const struct gcb_plot_data *data)
{
    const struct gcb_plot_verdict *items = data->verdicts.items;
    size_t n = 0;

    for (size_t i = 0; i < data->verdicts.count && n < GCB_PLOT_PAGES; i++)
        if (is_wanted(&items[i]) && (n == 0 || out[n - 1]->env != items[i].env))
            out[n++] = &items[i];
    return n;
}

static size_t pages(const struct gcb_plot_data *data)
{
    const struct gcb_plot_verdict *first[GCB_PLOT_PAGES];

    return first_verdicts(first, data);
}

/* Sizes and errors that did not change are many, and say nothing. */
static bool is_equal(const struct gcb_plot_verdict *v)
{
    return v->ratio == 1.0 && !isfinite(v->low);
}

/* Colours of the script: 1 as it was, 2 better, 3 worse, 4 not clear. */
static double kind_of(const struct gcb_plot_verdict *v)
{
    static const struct {
        const char *verdict;
        int kind;
    } kinds[] = {{"SAME", 1}, {"FAST", 2},   {"SMALLER", 2}, {"BETTER", 2},
                 {"SLOW", 3}, {"LARGER", 3}, {"WORSE", 3},   {"AMBIGUOUS", 4}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(v->verdict, kinds[i].verdict) == 0)
            return kinds[i].kind;
    return 4;
}

static int fill(const struct gcb_plot_data *data, size_t page, struct gcb_plot_page *out,
                struct gcb_diag *diag)
{
    static const char *const columns[] = {"row",        "ratio", "low",     "high",  "delta_low",
                                          "delta_high", "kind",  "verdict", "label", NULL};
    const struct gcb_plot_verdict *items = data->verdicts.items, *first[GCB_PLOT_PAGES];
    const struct gcb_plot_verdict *rows[MAX_ROWS];
    struct gcb_plot_range range = {1.0, 1.0};
    char text[GCB_PLOT_LABEL], cut[GCB_PLOT_LABEL];
    size_t count = 0, left_out = 0, same = 0;

    if (page >= first_verdicts(first, data))
        return gcb_diag_set(diag, GCB_E_INVALID, "there is no such page");
    for (size_t i = 0; i < data->verdicts.count; i++) {
        if (!is_wanted(&items[i]) || items[i].env != first[page]->env)
            continue;
        if (is_equal(&items[i]))
            same++;
        else if (count < MAX_ROWS)
            rows[count++] = &items[i];
        else
            left_out++;
    }
    gcb_plot_heading_of(out, "New build against the old one", first[page]->file, first[page]->scope,
                        gcb_plot_env_of(data, first[page]->env));
    gcb_plot_array_begin(out, "label", count);
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "%s, %s", rows[i]->label, rows[i]->quantity);
        gcb_plot_array_text(out, gcb_plot_shorten(cut, sizeof(cut), text, 52));
    }
    gcb_plot_array_end(out);
    gcb_plot_block(out, columns);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_verdict *v = rows[i];
        const double delta = v->delta >= 0.0 ? v->delta : 0.0;

        gcb_plot_range_add_positive(&range, v->ratio);
        gcb_plot_range_add_positive(&range, v->low);
        gcb_plot_range_add_positive(&range, v->high);
        gcb_plot_range_add_positive(&range, 1.0 + delta);
        gcb_plot_range_add_positive(&range, 1.0 / (1.0 + delta));
        gcb_plot_cell(out, (double)i + 1);
        gcb_plot_cell(out, v->ratio);
        gcb_plot_cell(out, isfinite(v->low) ? v->low : v->ratio);
        gcb_plot_cell(out, isfinite(v->high) ? v->high : v->ratio);
        gcb_plot_cell(out, 1.0 / (1.0 + delta));
        gcb_plot_cell(out, 1.0 + delta);
        gcb_plot_cell(out, kind_of(v));
        gcb_plot_cell_text(out, v->verdict);
        gcb_plot_cell_text(out, v->label);
        gcb_plot_end_row(out);
    }
    gcb_plot_var_real(out, "rows", (double)count);
    gcb_plot_var_real(out, "rows_left_out", (double)left_out);
    gcb_plot_var_real(out, "rows_same", (double)same);
    gcb_plot_var_real(out, "plot_height", 210.0 + 22.0 * (double)count);
    gcb_plot_var_range(out, "ratio", &range);
    return 0;
}

const struct gcb_plot gcb_plot_forest = {
    .name = "forest",
    .title = "two builds: the ratio of each case with its interval",
    .needs = "verdict rows: `regress --results FILE`",
    .pages = pages,
    .fill = fill,
};
