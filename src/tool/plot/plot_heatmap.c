/* Plots the error of each tensor with each method as a coloured table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/plot/plots.h"

#define MAX_ROWS 40
#define MAX_COLUMNS 30

static bool is_wanted(const struct gcb_plot_record *c)
{
    return strcmp(c->status, "ok") == 0 && isfinite(c->rel_l2) && *c->tensor &&
           !gcb_plot_baseline(c->method);
}

static bool same_page(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->file == b->file && a->scope == b->scope;
}

static const struct gcb_plot_split split = {GCB_RECORD_RESULT, is_wanted, same_page, NULL};

/* The rows of the picture: one record for each tensor (or bucket). */
struct rows {
    const struct gcb_plot_record **items;
    size_t count, cap;
    size_t last; /* where the last search ended; the next search starts here */
};

static int add_row(struct rows *rows, const struct gcb_plot_record *c, struct gcb_diag *diag)
{
    for (size_t i = 0; i < rows->count; i++) {
        const size_t at = (rows->last + i) % rows->count;

        if (rows->items[at]->tensor == c->tensor) {
            rows->last = at;
            return 0;
        }
    }
    if (gcb_grow(&rows->items, &rows->cap, rows->count, sizeof(*rows->items)))
        return gcb_diag_nomem(diag, 0, "a plot");
    rows->items[rows->count] = c;
    rows->last = rows->count++;
    return 0;
}

/* Compares two records by their order in the files, which is the order of their addresses. */
static int earlier(const void *a, const void *b)
{
    const struct gcb_plot_record *x = *(const struct gcb_plot_record *const *)a,
                                 *y = *(const struct gcb_plot_record *const *)b;

    return (x > y) - (x < y);
}

static int larger(const void *a, const void *b)
{
    const struct gcb_plot_record *x = *(const struct gcb_plot_record *const *)a,
                                 *y = *(const struct gcb_plot_record *const *)b;

    if (x->elements != y->elements)
        return (x->elements < y->elements) - (x->elements > y->elements);
    return earlier(a, b);
}

/* Keeps the MAX_ROWS largest tensors, in the order of the file. Returns how many tensors are left out. */
static size_t keep_largest(struct rows *rows)
{
    const size_t all = rows->count;

    if (all <= MAX_ROWS)
        return 0;
    qsort(rows->items, all, sizeof(*rows->items), larger);
    rows->count = MAX_ROWS;
    qsort(rows->items, MAX_ROWS, sizeof(*rows->items), earlier);
    return all - MAX_ROWS;
}

struct mean {
    double sum, count;
};

/* Sums the errors over steps and workers, for each kept tensor (row) and setting (column). */
static struct mean *collect_means(const struct rows *rows, const struct gcb_plot_cases *cases,
                                  const struct gcb_plot_data *data,
                                  const struct gcb_plot_record *first)
{
    const struct gcb_plot_record *c = NULL;
    struct mean *means = gcb_alloc_zero(rows->count * cases->count, sizeof(*means));

    while (means && (c = gcb_plot_split_next(&split, data, first, c)) != NULL) {
        size_t row = 0, column = 0;

        while (row < rows->count && rows->items[row]->tensor != c->tensor)
            row++;
        while (column < cases->count && cases->items[column]->spec != c->spec)
            column++;
        if (row == rows->count || column == cases->count)
            continue;
        means[row * cases->count + column].sum += c->rel_l2;
        means[row * cases->count + column].count += 1.0;
    }
    return means;
}

static void put_means(struct gcb_plot_page *out, const struct rows *rows, const struct mean *means,
                      size_t columns)
{
    gcb_plot_array_begin(out, "tensor", rows->count);
    for (size_t r = 0; r < rows->count; r++)
        gcb_plot_array_text(out, rows->items[r]->tensor, 36);
    GCB_PLOT_BLOCK(out, "column", "row", GCB_PLOT_FIELD(REL_L2), GCB_PLOT_FIELD(TENSOR));
    for (size_t r = 0; r < rows->count; r++)
        for (size_t c = 0; c < columns; c++) {
            const struct mean *m = &means[r * columns + c];

            GCB_PLOT_ROW(out, rows->items[r]->tensor, (double)c + 1, (double)r + 1,
                         m->sum / m->count);
        }
}

/* Collects the tensors, and at most MAX_COLUMNS settings. Sets *more if there are more settings. */
static int collect(struct gcb_plot_set *set, struct rows *rows, const struct gcb_plot_data *data,
                   const struct gcb_plot_record *first, bool *more, struct gcb_diag *diag)
{
    const struct gcb_plot_record *c = NULL;
    int err = 0;

    while (!err && (c = gcb_plot_split_next(&split, data, first, c)) != NULL) {
        err = add_row(rows, c, diag);
        if (!err)
            err = gcb_plot_set_add(set, c, diag);
        if (set->cases.count > MAX_COLUMNS) {
            set->cases.count = MAX_COLUMNS;
            *more = true;
        }
    }
    return err;
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_set *set = &out->set;
    struct rows rows = {.items = NULL};
    struct mean *means = NULL;
    size_t left_out;
    bool more = false;
    int err = collect(set, &rows, data, first, &more, diag);

    if (!err)
        err = gcb_plot_set_divide(set, true, diag);
    if (err)
        goto out;
    left_out = keep_largest(&rows);
    means = collect_means(&rows, &set->cases, data, first);
    if (!means) {
        err = gcb_diag_nomem(diag, 0, "a plot");
        goto out;
    }
    gcb_plot_heading(out, "Relative L2 error by tensor and method", data, first, GCB_PLOT_BY_ERROR);
    gcb_plot_legend(out, set);
    gcb_plot_var_real(out, "rows", (double)rows.count);
    gcb_plot_var_real(out, "rows_left_out", (double)left_out);
    gcb_plot_var_real(out, "columns_left_out", more);
    gcb_plot_var_real(out, "plot_height", 260.0 + 21.0 * (double)rows.count);
    gcb_plot_var_real(out, "plot_width", fmax(700.0, 400.0 + 44.0 * (double)set->count));
    put_means(out, &rows, means, set->count);
out:
    gcb_free(means);
    gcb_free(rows.items);
    return err;
}

const struct gcb_plot gcb_plot_heatmap = {
    .name = "heatmap",
    .title = "relative L2 error of each tensor with each method",
    .needs = "result rows: `bench` or `compress --results FILE` without --per none",
    .from = "bench",
    .split = &split,
    .fill = fill,
};
