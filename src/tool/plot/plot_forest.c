/* Plots the comparison of two builds: how much faster or slower each case became, with confidence intervals. */
#include <math.h>
#include <string.h>

#include "src/tool/plot/plots.h"

#define MAX_ROWS 70

/* Is this an unchanged size or error? The chart only counts such verdicts, because there are many, and the error of a
 * lossless method has no ratio. */
static bool is_plain(const struct gcb_plot_record *v)
{
    return strcmp(v->verdict, "SAME") == 0 &&
           (strcmp(v->quantity, "size") == 0 || strcmp(v->quantity, "error") == 0);
}

static bool is_wanted(const struct gcb_plot_record *v)
{
    return (v->ratio > 0.0 && isfinite(v->ratio)) || is_plain(v);
}

static const struct gcb_plot_split split = {GCB_RECORD_VERDICT, is_wanted, gcb_plot_same_env, NULL};

/* Returns the number of the colour in plots/forest.gp: 1 unchanged, 2 better, 3 worse, 4 inconclusive. */
static double kind_of(const struct gcb_plot_record *v)
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

/* The rows that a page shows, in the order of the file, and how many it does not show. */
struct chart {
    const struct gcb_plot_record *rows[MAX_ROWS];
    size_t count, left_out, plain;
};

static void collect(struct chart *c, const struct gcb_plot_data *data,
                    const struct gcb_plot_record *first)
{
    const struct gcb_plot_record *v = NULL;

    while ((v = gcb_plot_split_next(&split, data, first, v)) != NULL) {
        if (is_plain(v))
            c->plain++;
        else if (c->count < MAX_ROWS)
            c->rows[c->count++] = v;
        else
            c->left_out++;
    }
}

static void put_labels(struct gcb_plot_page *out, const struct chart *c)
{
    char text[GCB_PLOT_LABEL];

    gcb_plot_array_begin(out, "label", c->count);
    for (size_t i = 0; i < c->count; i++) {
        snprintf(text, sizeof(text), "%s, %s", c->rows[i]->label, c->rows[i]->quantity);
        gcb_plot_array_text(out, text, 52);
    }
}

static void put_row(struct gcb_plot_page *out, const struct gcb_plot_record *v, size_t row,
                    struct gcb_plot_range *range)
{
    const double band = 1.0 + (v->delta >= 0.0 ? v->delta : 0.0);
    const double cells[] = {(double)row,
                            v->ratio,
                            isfinite(v->low) ? v->low : v->ratio,
                            isfinite(v->high) ? v->high : v->ratio,
                            1.0 / band,
                            band,
                            kind_of(v)};

    for (size_t i = 1; i < 6; i++)
        gcb_plot_range_add_positive(range, cells[i]);
    gcb_plot_cell_text(out, v->verdict);
    gcb_plot_row(out, cells, 7, v->label);
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_range range = {1.0, 1.0};
    struct chart chart = {.count = 0};

    (void)diag;
    collect(&chart, data, first);
    gcb_plot_heading_of(out, "New build compared with the old one", first->file, first->scope,
                        gcb_plot_env_of(data, first->env));
    put_labels(out, &chart);
    GCB_PLOT_BLOCK(out, GCB_PLOT_FIELD(VERDICT), "row", GCB_PLOT_FIELD(RATIO), GCB_PLOT_FIELD(LOW),
                   GCB_PLOT_FIELD(HIGH), "delta_low", "delta_high", "kind", GCB_PLOT_FIELD(LABEL));
    for (size_t i = 0; i < chart.count; i++)
        put_row(out, chart.rows[i], i + 1, &range);
    gcb_plot_var_real(out, "rows", (double)chart.count);
    gcb_plot_var_real(out, "rows_left_out", (double)chart.left_out);
    gcb_plot_var_real(out, "rows_same", (double)chart.plain);
    gcb_plot_var_real(out, "plot_height", 220.0 + 22.0 * (double)chart.count);
    gcb_plot_var_range(out, "ratio", &range);
    return 0;
}

const struct gcb_plot gcb_plot_forest = {
    .name = "forest",
    .title = "comparison of two builds: the ratio new / old of each case, with its interval",
    .needs = "verdict rows: `regress --results FILE`",
    .from = "regress",
    .split = &split,
    .fill = fill,
};
