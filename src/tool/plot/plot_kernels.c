/* Plots the speed of each variant of each kernel. */
#include <string.h>

#include "src/tool/plot/plots.h"

#define MAX_ROWS 90
#define MAX_ISAS 8

static bool is_wanted(const struct gcb_plot_record *k)
{
    return strcmp(k->status, "ok") == 0 && k->gbps > 0.0;
}

/* There is a page for each result file and array size. */
static bool same_page(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->env == b->env && a->cache == b->cache;
}

static const struct gcb_plot_split split = {GCB_RECORD_KERNEL, is_wanted, same_page, NULL};

struct chart {
    const struct gcb_plot_record *rows[MAX_ROWS]; /* the first variant of each kernel */
    const char *isas[MAX_ISAS];
    size_t count, isa_count, left_out;
};

/* Returns the number of the kernel's row in the chart. A new kernel gets a new row. Returns MAX_ROWS if no row is
 * left. */
static size_t find_row(struct chart *c, const struct gcb_plot_record *k)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->rows[i]->family == k->family && c->rows[i]->kernel == k->kernel)
            return i;
    if (c->count == MAX_ROWS) {
        c->left_out++;
        return MAX_ROWS;
    }
    c->rows[c->count] = k;
    return c->count++;
}

/* Returns the number of an instruction set in the chart, and adds a new one. Returns MAX_ISAS if there are too many. */
static size_t find_isa(struct chart *c, const char *isa)
{
    for (size_t i = 0; i < c->isa_count; i++)
        if (c->isas[i] == isa)
            return i;
    if (c->isa_count == MAX_ISAS)
        return MAX_ISAS;
    c->isas[c->isa_count] = isa;
    return c->isa_count++;
}

static int name_isas(struct gcb_plot_set *set, const struct chart *c)
{
    for (unsigned i = 0; i < c->isa_count; i++) {
        struct gcb_plot_series *s = gcb_plot_set_name(set, c->isas[i], c->isas[i]);

        if (!s)
            return GCB_E_NOMEM;
        s->style = gcb_plot_style_at(i);
    }
    return 0;
}

static void put_labels(struct gcb_plot_page *out, const struct chart *c)
{
    char text[GCB_PLOT_LABEL];

    gcb_plot_array_begin(out, "kernel", c->count);
    for (size_t i = 0; i < c->count; i++) {
        snprintf(text, sizeof(text), "%s/%s", c->rows[i]->family, c->rows[i]->kernel);
        gcb_plot_array_text(out, text, 40);
    }
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    const struct gcb_plot_record *k = NULL;
    struct chart chart = {.count = 0};
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;
    char text[96];
    int err;

    GCB_PLOT_BLOCK(out, "row", GCB_PLOT_FIELD(ISA), GCB_PLOT_FIELD(GBPS), "low", "high", "share",
                   GCB_PLOT_FIELD(KERNEL));
    while ((k = gcb_plot_split_next(&split, data, first, k)) != NULL) {
        const size_t row = find_row(&chart, k), isa = find_isa(&chart, k->isa);
        const double gigabytes = 4.0 * k->elements / 1e9;

        if (row == MAX_ROWS || isa == MAX_ISAS)
            continue;
        gcb_plot_range_add_positive(&range, k->gbps);
        GCB_PLOT_ROW(out, k->kernel, (double)row + 1, (double)isa + 1, k->gbps,
                     gigabytes / k->seconds_high, gigabytes / k->seconds_low, k->bandwidth_share);
    }
    snprintf(text, sizeof(text), "Kernels, arrays in %.40s", first->cache);
    gcb_plot_heading_of(out, text, "generated data", "", gcb_plot_env_of(data, first->env));
    err = name_isas(&out->set, &chart);
    if (err)
        return gcb_diag_nomem(diag, 0, "a plot");
    gcb_plot_legend(out, &out->set);
    put_labels(out, &chart);
    gcb_plot_var_real(out, "rows", (double)chart.count);
    gcb_plot_var_real(out, "rows_left_out", (double)chart.left_out);
    gcb_plot_var_real(out, "plot_height", 210.0 + 20.0 * (double)chart.count);
    gcb_plot_var_range(out, "speed", &range);
    return 0;
}

const struct gcb_plot gcb_plot_kernels = {
    .name = "kernels",
    .title = "speed of each kernel in each instruction set",
    .needs = "kernel rows: `bench --kernels --results FILE`",
    .from = "bench --kernels",
    .split = &split,
    .fill = fill,
};
