/* What an exchange of gradients takes over links of any speed, and up to which speed compression pays. */
#include <math.h>
#include <string.h>

#include "src/base/alloc.h"
#include "src/report/plot_series.h"
#include "src/report/plots.h"

static bool is_wanted(const struct gcb_plot_exchange *x)
{
    return strcmp(x->model, "exchange") == 0 && x->seconds > 0.0 && x->bandwidth > 0.0;
}

/* All but method and bandwidth is one on a page. */
static bool same_page(const struct gcb_plot_exchange *a, const struct gcb_plot_exchange *b)
{
    return a->env == b->env && a->results == b->results && a->scope == b->scope &&
           a->device == b->device && a->isa == b->isa && a->cache == b->cache &&
           a->collective == b->collective && gcb_plot_equal(a->threads, b->threads) &&
           gcb_plot_equal(a->workers, b->workers) && gcb_plot_equal(a->latency, b->latency);
}

static size_t first_exchanges(const struct gcb_plot_exchange *out[GCB_PLOT_PAGES],
                              const struct gcb_plot_data *data)
{
    const struct gcb_plot_exchange *items = data->exchanges.items;
    size_t n = 0;

    for (size_t i = 0; i < data->exchanges.count && n < GCB_PLOT_PAGES; i++) {
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
    const struct gcb_plot_exchange *first[GCB_PLOT_PAGES];

    return first_exchanges(first, data);
}

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

static int collect(struct curves *c, const struct gcb_plot_data *data,
                   const struct gcb_plot_exchange *page, struct gcb_diag *diag)
{
    const struct gcb_plot_exchange *items = data->exchanges.items;

    for (size_t i = 0; i < data->exchanges.count; i++)
        if (is_wanted(&items[i]) && same_page(page, &items[i]) && add_curve(c, &items[i]))
            return gcb_diag_nomem(diag, 0, "a plot");
    return 0;
}

static void put_curve(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                      const struct gcb_plot_exchange *of)
{
    static const char *const columns[] = {"bandwidth", "seconds", "encode", "wire",
                                          "decode",    "speedup", NULL};
    const struct gcb_plot_exchange *items = data->exchanges.items;

    gcb_plot_block(out, columns);
    for (size_t i = 0; i < data->exchanges.count; i++) {
        const struct gcb_plot_exchange *x = &items[i];

        if (!is_wanted(x) || !same_page(of, x) || x->label != of->label || x->spec != of->spec)
            continue;
        gcb_plot_cell(out, x->bandwidth);
        gcb_plot_cell(out, x->seconds);
        gcb_plot_cell(out, x->encode_seconds);
        gcb_plot_cell(out, x->wire_seconds);
        gcb_plot_cell(out, x->decode_seconds);
        gcb_plot_cell(out, x->speedup);
        gcb_plot_end_row(out);
    }
}

static void put_breaks(struct gcb_plot_page *out, const struct curves *c)
{
    static const char *const columns[] = {"bandwidth", "series", NULL};

    gcb_plot_block(out, columns);
    for (size_t i = 0; i < c->count; i++) {
        gcb_plot_cell(out, c->items[i]->pays_below > 0.0 ? c->items[i]->pays_below : NAN);
        gcb_plot_cell(out, (double)i + 1);
        gcb_plot_end_row(out);
    }
}

static void put_labels(struct gcb_plot_page *out, const struct curves *c)
{
    unsigned style = 0;
    char text[GCB_PLOT_LABEL];

    gcb_plot_var_real(out, "series", (double)c->count);
    gcb_plot_array_begin(out, "label", c->count);
    for (size_t i = 0; i < c->count; i++)
        gcb_plot_array_text(out, gcb_plot_shorten(text, sizeof(text), c->items[i]->label, 40));
    gcb_plot_array_end(out);
    gcb_plot_array_begin(out, "style", c->count);
    for (size_t i = 0; i < c->count; i++) {
        const char *method = c->items[i]->method;
        const bool fp32 = strcmp(method, "fp32") == 0 || strcmp(method, "identity") == 0;

        gcb_plot_array_real(out, fp32 ? 103.0 : strcmp(method, "fp16") == 0 ? 101.0 : ++style);
    }
    gcb_plot_array_end(out);
}

static void put_heading(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                        const struct gcb_plot_exchange *x)
{
    char text[96], latency[32] = "";

    if (isfinite(x->latency))
        snprintf(latency, sizeof(latency), ", latency %.3g us", 1e6 * x->latency);
    snprintf(text, sizeof(text), "Does it pay? %.20s of %.0f workers%s", x->collective, x->workers,
             latency);
    gcb_plot_heading_of(out, text, x->results, x->scope, gcb_plot_env_of(data, x->env));
}

static int fill(const struct gcb_plot_data *data, size_t page, struct gcb_plot_page *out,
                struct gcb_diag *diag)
{
    const struct gcb_plot_exchange *first[GCB_PLOT_PAGES], *items = data->exchanges.items;
    struct gcb_plot_range bandwidth = GCB_PLOT_RANGE_EMPTY, seconds = bandwidth,
                          speedup = bandwidth;
    struct curves curves = {.items = NULL};
    int err;

    if (page >= first_exchanges(first, data))
        return gcb_diag_set(diag, GCB_E_INVALID, "there is no such page");
    err = collect(&curves, data, first[page], diag);
    if (err)
        goto out;
    put_heading(out, data, first[page]);
    put_labels(out, &curves);
    for (size_t i = 0; i < curves.count; i++)
        put_curve(out, data, curves.items[i]);
    put_breaks(out, &curves);
    for (size_t i = 0; i < data->exchanges.count; i++) {
        if (!is_wanted(&items[i]) || !same_page(first[page], &items[i]))
            continue;
        gcb_plot_range_add_positive(&bandwidth, items[i].bandwidth);
        gcb_plot_range_add_positive(&seconds, items[i].seconds);
        gcb_plot_range_add_positive(&speedup, items[i].speedup);
    }
    gcb_plot_var_range(out, "bandwidth", &bandwidth);
    gcb_plot_var_range(out, "seconds", &seconds);
    gcb_plot_var_range(out, "speedup", &speedup);
    gcb_plot_var_real(out, "plot_width", 1080.0);
out:
    gcb_free(curves.items);
    return err;
}

const struct gcb_plot gcb_plot_break_even = {
    .name = "break-even",
    .title = "the time of an exchange over links of any bandwidth, and where it stops paying",
    .needs =
        "payoff rows: `payoff RESULTS --results FILE`; with --bandwidth 1Gb..100Gb/20 as curves",
    .pages = pages,
    .fill = fill,
};
