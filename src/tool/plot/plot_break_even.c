/* Plots how long an exchange of gradients takes over links of any bandwidth, and up to which bandwidth compression
 * pays. */
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/base/columns.h"
#include "src/tool/plot/plots.h"

static bool is_exchange(const struct gcb_plot_record *x)
{
    return strcmp(x->model, "exchange") == 0 && x->seconds > 0.0 && x->bandwidth > 0.0;
}

static bool is_wanted(const struct gcb_plot_record *x)
{
    return is_exchange(x) && !*x->doubtful;
}

/* Rows on one page differ only in method and bandwidth. */
static bool same_page(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->env == b->env && a->results == b->results && a->scope == b->scope &&
           a->device == b->device && a->isa == b->isa && a->cache == b->cache &&
           gcb_plot_equal(a->threads, b->threads) && gcb_plot_equal(a->workers, b->workers) &&
           gcb_plot_equal(a->latency, b->latency) &&
           gcb_plot_equal(a->gradient_bytes, b->gradient_bytes);
}

static const struct gcb_plot_split split = {GCB_RECORD_PAYOFF, is_wanted, same_page};

static bool same_curve(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->label == b->label && a->spec == b->spec;
}

/* Adds the row unless a row of the same curve was added before. */
static int add_curve(struct gcb_plot_cases *c, const struct gcb_plot_record *x)
{
    for (size_t i = 0; i < c->count; i++)
        if (same_curve(c->items[i], x))
            return 0;
    if (gcb_grow(&c->items, &c->cap, c->count, sizeof(*c->items)))
        return GCB_E_NOMEM;
    c->items[c->count++] = x;
    return 0;
}

/* Collects the first rows of the page's curves. Curves with doubtful figures go to `doubtful` and are not drawn. */
static int collect(struct gcb_plot_cases *curves, struct gcb_plot_cases *doubtful,
                   const struct gcb_plot_data *data, const struct gcb_plot_record *first)
{
    const struct gcb_plot_records *rows = &data->kinds[GCB_RECORD_PAYOFF];
    int err = 0;

    for (size_t i = 0; !err && i < rows->count; i++)
        if (is_exchange(&rows->items[i]) && same_page(first, &rows->items[i]))
            err = add_curve(*rows->items[i].doubtful ? doubtful : curves, &rows->items[i]);
    return err;
}

/* Writes the points of a curve and returns their number. */
static size_t put_curve(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                        const struct gcb_plot_record *of)
{
    const struct gcb_plot_record *x = NULL;
    size_t count = 0;

    GCB_PLOT_BLOCK(out, "bandwidth", GCB_PLOT_FIELD(SECONDS), "encode", "wire", "decode",
                   "speedup");
    while ((x = gcb_plot_split_next(&split, data, of, x)) != NULL) {
        if (!same_curve(x, of))
            continue;
        GCB_PLOT_ROW(out, NULL, x->bandwidth, x->seconds, x->encode_seconds, x->wire_seconds,
                     x->decode_seconds, x->speedup);
        count++;
    }
    return count;
}

/* Writes the bandwidth at which each curve crosses the curve of fp32. */
static void put_breaks(struct gcb_plot_page *out, const struct gcb_plot_cases *c)
{
    GCB_PLOT_BLOCK(out, "bandwidth", "series");
    for (size_t i = 0; i < c->count; i++) {
        const double below = c->items[i]->pays_below;

        GCB_PLOT_ROW(out, NULL, below > 0.0 ? below : NAN, (double)i + 1);
    }
}

/* Makes a series with label and style for each curve. The points are counted later. */
static int name_curves(struct gcb_plot_set *set, const struct gcb_plot_cases *c)
{
    unsigned style = 0;

    set->items = gcb_alloc_zero(c->count, sizeof(*set->items));
    if (!set->items)
        return GCB_E_NOMEM;
    for (set->count = 0; set->count < c->count; set->count++) {
        const struct gcb_plot_record *x = c->items[set->count];
        struct gcb_plot_series *s = &set->items[set->count];
        const unsigned baseline =
            gcb_plot_baseline(strcmp(x->method, "fp32") == 0 ? "identity" : x->method);

        gcb_text_shorten(s->label, sizeof(s->label), x->label, sizeof(s->label) - 1);
        s->style = baseline ? 100 + baseline : ++style;
    }
    return 0;
}

static void put_heading(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                        const struct gcb_plot_record *x)
{
    char text[128], latency[32] = "", gradient[48] = "";

    if (isfinite(x->latency))
        snprintf(latency, sizeof(latency), ", latency %.3g us", 1e6 * x->latency);
    if (isfinite(x->gradient_bytes))
        snprintf(gradient, sizeof(gradient), ", gradient of %.4g MB", 1e-6 * x->gradient_bytes);
    snprintf(text, sizeof(text), "Does it pay? %.0f workers%s%s", x->workers, latency, gradient);
    gcb_plot_heading_of(out, text, x->results, x->scope, gcb_plot_env_of(data, x->env));
}

static void put_ranges(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                       const struct gcb_plot_record *first)
{
    struct gcb_plot_range bandwidth = GCB_PLOT_RANGE_EMPTY, seconds = bandwidth,
                          speedup = bandwidth;
    const struct gcb_plot_record *x = NULL;

    while ((x = gcb_plot_split_next(&split, data, first, x)) != NULL) {
        gcb_plot_range_add_positive(&bandwidth, x->bandwidth);
        gcb_plot_range_add_positive(&seconds, x->seconds);
        gcb_plot_range_add_positive(&speedup, x->speedup);
    }
    gcb_plot_var_range(out, "bandwidth", &bandwidth);
    gcb_plot_var_range(out, "seconds", &seconds);
    gcb_plot_var_range(out, "speedup", &speedup);
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_cases curves = {.items = NULL}, doubtful = curves;
    struct gcb_plot_set *set = &out->set;
    int err = collect(&curves, &doubtful, data, first);

    if (!err)
        err = name_curves(set, &curves);
    if (err) {
        gcb_diag_nomem(diag, 0, "a plot");
        goto out;
    }
    put_heading(out, data, first);
    gcb_plot_var_real(out, "left_out", (double)doubtful.count);
    for (size_t i = 0; i < curves.count; i++)
        set->items[i].count = put_curve(out, data, curves.items[i]);
    put_breaks(out, &curves);
    put_ranges(out, data, first);
    gcb_plot_two_panels(out, gcb_plot_legend(out, set));
out:
    gcb_free(curves.items);
    gcb_free(doubtful.items);
    return err;
}

const struct gcb_plot gcb_plot_break_even = {
    .name = "break-even",
    .title = "time of an exchange by bandwidth, and up to which bandwidth each method pays",
    .needs =
        "payoff rows: `payoff RESULTS --results FILE`; curves need several bandwidths, such as "
        "--bandwidth 1Gb..100Gb/20",
    .from = "payoff",
    .split = &split,
    .fill = fill,
};
