/* How long an exchange of gradients takes over links of any bandwidth, and up to which bandwidth compression pays. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/base/columns.h"
#include "src/tool/plot/plots.h"

static bool is_exchange(const struct gcb_plot_exchange *x)
{
    return strcmp(x->model, "exchange") == 0 && x->seconds > 0.0 && x->bandwidth > 0.0;
}

static bool is_wanted(const void *row)
{
    const struct gcb_plot_exchange *x = row;

    return is_exchange(x) && !*x->doubtful;
}

/* On a page, only method and bandwidth differ. */
static bool same_page(const void *a, const void *b)
{
    const struct gcb_plot_exchange *x = a, *y = b;

    return x->env == y->env && x->results == y->results && x->scope == y->scope &&
           x->device == y->device && x->isa == y->isa && x->cache == y->cache &&
           x->collective == y->collective && gcb_plot_equal(x->threads, y->threads) &&
           gcb_plot_equal(x->workers, y->workers) && gcb_plot_equal(x->latency, y->latency) &&
           gcb_plot_equal(x->gradient_bytes, y->gradient_bytes);
}

static const struct gcb_plot_split split = {offsetof(struct gcb_plot_data, exchanges),
                                            sizeof(struct gcb_plot_exchange), is_wanted, same_page};

/* A curve: the first row of each label. */
struct curves {
    const struct gcb_plot_exchange **items;
    size_t count, cap;
};

static int add_curve(struct curves *c, const struct gcb_plot_exchange *x)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i]->label == x->label && c->items[i]->spec == x->spec)
            return 0;
    if (gcb_grow(&c->items, &c->cap, c->count, sizeof(*c->items)))
        return GCB_E_NOMEM;
    c->items[c->count++] = x;
    return 0;
}

static int collect(struct curves *c, const struct gcb_plot_data *data, const void *first,
                   struct gcb_diag *diag)
{
    const struct gcb_plot_exchange *x = NULL;

    while ((x = gcb_plot_split_next(&split, data, first, x)) != NULL)
        if (add_curve(c, x))
            return gcb_diag_nomem(diag, 0, "a plot");
    return 0;
}

/* The curves of the page whose figures are doubtful. */
static int collect_doubtful(struct curves *c, const struct gcb_plot_data *data, const void *first,
                            struct gcb_diag *diag)
{
    const struct gcb_plot_exchange *all = data->exchanges.items;

    for (size_t i = 0; i < data->exchanges.count; i++)
        if (is_exchange(&all[i]) && *all[i].doubtful && same_page(first, &all[i]) &&
            add_curve(c, &all[i]))
            return gcb_diag_nomem(diag, 0, "a plot");
    return 0;
}

/* Puts a curve and returns how many points it has. */
static size_t put_curve(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                        const struct gcb_plot_exchange *of)
{
    static const struct gcb_plot_column columns[] = {
        {.name = "bandwidth"}, {.field = GCB_FIELD_SECONDS}, {.name = "encode"}, {.name = "wire"},
        {.name = "decode"},    {.name = "speedup"},          {.name = NULL}};
    const struct gcb_plot_exchange *x = NULL;
    size_t count = 0;

    gcb_plot_block(out, columns);
    while ((x = gcb_plot_split_next(&split, data, of, x)) != NULL) {
        const double cells[] = {x->bandwidth,    x->seconds,        x->encode_seconds,
                                x->wire_seconds, x->decode_seconds, x->speedup};

        if (x->label != of->label || x->spec != of->spec)
            continue;
        gcb_plot_row(out, cells, 6, NULL);
        count++;
    }
    return count;
}

/* Where each curve crosses that of fp32. */
static void put_breaks(struct gcb_plot_page *out, const struct curves *c)
{
    static const struct gcb_plot_column columns[] = {
        {.name = "bandwidth"}, {.name = "series"}, {.name = NULL}};

    gcb_plot_block(out, columns);
    for (size_t i = 0; i < c->count; i++) {
        const double below = c->items[i]->pays_below,
                     cells[] = {below > 0.0 ? below : NAN, (double)i + 1};

        gcb_plot_row(out, cells, 2, NULL);
    }
}

/* Makes a series for each curve, without its points. */
static int name_curves(struct gcb_plot_set *set, const struct curves *c, struct gcb_diag *diag)
{
    unsigned style = 0;

    set->items = gcb_alloc_zero(c->count, sizeof(*set->items));
    if (!set->items)
        return gcb_diag_nomem(diag, 0, "a plot");
    for (set->count = 0; set->count < c->count; set->count++) {
        const struct gcb_plot_exchange *x = c->items[set->count];
        struct gcb_plot_series *s = &set->items[set->count];
        const unsigned baseline =
            gcb_plot_baseline(strcmp(x->method, "fp32") == 0 ? "identity" : x->method);

        gcb_text_shorten(s->label, sizeof(s->label), x->label, sizeof(s->label) - 1);
        s->style = baseline ? 100 + baseline : ++style;
    }
    return 0;
}

static void put_heading(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                        const struct gcb_plot_exchange *x)
{
    char text[128], latency[32] = "", gradient[48] = "";

    if (isfinite(x->latency))
        snprintf(latency, sizeof(latency), ", latency %.3g us", 1e6 * x->latency);
    if (isfinite(x->gradient_bytes))
        snprintf(gradient, sizeof(gradient), ", gradient of %.4g MB", 1e-6 * x->gradient_bytes);
    snprintf(text, sizeof(text), "Does it pay? %.20s, %.0f workers%s%s", x->collective, x->workers,
             latency, gradient);
    gcb_plot_heading_of(out, text, x->results, x->scope, gcb_plot_env_of(data, x->env));
}

static void put_ranges(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                       const void *first)
{
    struct gcb_plot_range bandwidth = GCB_PLOT_RANGE_EMPTY, seconds = bandwidth,
                          speedup = bandwidth;
    const struct gcb_plot_exchange *x = NULL;

    while ((x = gcb_plot_split_next(&split, data, first, x)) != NULL) {
        gcb_plot_range_add_positive(&bandwidth, x->bandwidth);
        gcb_plot_range_add_positive(&seconds, x->seconds);
        gcb_plot_range_add_positive(&speedup, x->speedup);
    }
    gcb_plot_var_range(out, "bandwidth", &bandwidth);
    gcb_plot_var_range(out, "seconds", &seconds);
    gcb_plot_var_range(out, "speedup", &speedup);
}

static int fill(const struct gcb_plot_data *data, const void *first, struct gcb_plot_page *out,
                struct gcb_diag *diag)
{
    struct curves curves = {.items = NULL}, doubtful = curves;
    struct gcb_plot_set set = {.items = NULL};
    int err = collect(&curves, data, first, diag);

    if (!err)
        err = collect_doubtful(&doubtful, data, first, diag);
    if (!err)
        err = name_curves(&set, &curves, diag);
    if (err)
        goto out;
    put_heading(out, data, first);
    gcb_plot_var_real(out, "left_out", (double)doubtful.count);
    for (size_t i = 0; i < curves.count; i++)
        set.items[i].count = put_curve(out, data, curves.items[i]);
    put_breaks(out, &curves);
    put_ranges(out, data, first);
    gcb_plot_two_panels(out, gcb_plot_legend(out, &set));
out:
    gcb_plot_set_fini(&set);
    gcb_free(curves.items);
    gcb_free(doubtful.items);
    return err;
}

const struct gcb_plot gcb_plot_break_even = {
    .name = "break-even",
    .title = "the time of an exchange by bandwidth, and up to which bandwidth each method pays",
    .needs =
        "payoff rows: `payoff RESULTS --results FILE`; curves need several bandwidths, such as "
        "--bandwidth 1Gb..100Gb/20",
    .from = "payoff",
    .split = &split,
    .fill = fill,
};
