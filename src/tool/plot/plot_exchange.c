/* Plots how long an exchange of gradients takes, and how much faster it is than the best of fp32, fp16 and bf16: by the
 * bandwidth of the link, and by the number of workers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/plot/plot_labels.h"
#include "src/tool/plot/plots.h"

#define MOST_NAMED 8 /* methods that have a colour and a label; the others are grey */
#define PANEL_WIDTH 400.0
#define PANEL_HEIGHT 380.0
#define MOST_SPLITS 6 /* panels that split a method's time, with the one of the best baseline */

static bool is_exchange(const struct gcb_plot_record *x)
{
    return strcmp(x->model, "exchange") == 0 && x->seconds > 0.0 && x->speedup > 0.0 &&
           x->bandwidth > 0.0 && x->workers > 0.0;
}

static bool is_wanted(const struct gcb_plot_record *x)
{
    return is_exchange(x) && !*x->doubtful;
}

static bool same_exchange(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->env == b->env && a->results == b->results && a->scope == b->scope &&
           a->device == b->device && a->isa == b->isa && a->cache == b->cache &&
           gcb_plot_equal(a->threads, b->threads) && gcb_plot_equal(a->latency, b->latency) &&
           gcb_plot_equal(a->per_node, b->per_node) && gcb_plot_equal(a->intra, b->intra) &&
           gcb_plot_equal(a->inner_steps, b->inner_steps) &&
           gcb_plot_equal(a->gradient_bytes, b->gradient_bytes);
}

static double bandwidth_of(const struct gcb_plot_record *x)
{
    return x->bandwidth;
}

static double workers_of(const struct gcb_plot_record *x)
{
    return x->workers;
}

static bool same_workers(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return same_exchange(a, b) && a->workers == b->workers;
}

static bool same_bandwidth(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return same_exchange(a, b) && a->bandwidth == b->bandwidth;
}

static const struct gcb_plot_split by_bandwidth = {GCB_RECORD_PAYOFF, is_wanted, same_workers,
                                                   bandwidth_of},
                                   by_workers = {GCB_RECORD_PAYOFF, is_wanted, same_bandwidth,
                                                 workers_of};

/* The rows of one method, from small to large values on the axis. */
struct curve {
    const struct gcb_plot_record *of; /* any of its rows */
    struct gcb_plot_cases rows;
    double nearest; /* the most that best time / its time reaches along the axis: 1 if it is best */
    double sum;     /* of best time / its time over its rows */
};

struct chart {
    const struct gcb_plot_split *split;
    struct curve *curves; /* baselines, then methods, the best first */
    size_t count, cap, baselines;
    size_t named; /* curves with colour and label */
};

/* The split whose rows qsort compares. */
static const struct gcb_plot_split *compared;

/* Rows at one place of the axis follow each other, the fastest first. */
static int by_place(const void *a, const void *b)
{
    const struct gcb_plot_record *x = *(const struct gcb_plot_record *const *)a,
                                 *y = *(const struct gcb_plot_record *const *)b;
    const double p = compared->axis(x), q = compared->axis(y);

    if (p != q)
        return (p > q) - (p < q);
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static bool is_baseline(const struct curve *c)
{
    return gcb_plot_baseline(c->of->method) != 0;
}

static int better(const void *a, const void *b)
{
    const struct curve *x = a, *y = b;

    if (is_baseline(x) != is_baseline(y))
        return is_baseline(y) - is_baseline(x);
    if (x->nearest != y->nearest)
        return (x->nearest < y->nearest) - (x->nearest > y->nearest);
    return (x->sum < y->sum) - (x->sum > y->sum);
}

/* Returns the curve of a row, or a new curve. NULL if memory runs out. */
static struct curve *find_curve(struct chart *c, const struct gcb_plot_record *x)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->curves[i].of->label == x->label && c->curves[i].of->spec == x->spec)
            return &c->curves[i];
    if (gcb_grow(&c->curves, &c->cap, c->count, sizeof(*c->curves)))
        return NULL;
    c->curves[c->count] = (struct curve){.of = x};
    return &c->curves[c->count++];
}

static int add_row(struct chart *c, const struct gcb_plot_record *x, double best)
{
    struct curve *curve = find_curve(c, x);
    struct gcb_plot_cases *rows = curve ? &curve->rows : NULL;

    if (!rows || gcb_grow(&rows->items, &rows->cap, rows->count, sizeof(*rows->items)))
        return GCB_E_NOMEM;
    rows->items[rows->count++] = x;
    curve->nearest = fmax(curve->nearest, best / x->seconds);
    curve->sum += best / x->seconds;
    return 0;
}

static int collect(struct chart *c, const struct gcb_plot_data *data,
                   const struct gcb_plot_record *first)
{
    const struct gcb_plot_record *x = NULL;
    struct gcb_plot_cases all = {.items = NULL};
    double best = 0.0;
    int err = 0;

    while (!err && (x = gcb_plot_split_next(c->split, data, first, x)) != NULL) {
        err = gcb_grow(&all.items, &all.cap, all.count, sizeof(*all.items));
        if (!err)
            all.items[all.count++] = x;
    }
    compared = c->split;
    qsort(all.items, all.count, sizeof(*all.items), by_place);
    for (size_t i = 0; !err && i < all.count; i++) {
        if (i == 0 || c->split->axis(all.items[i]) != c->split->axis(all.items[i - 1]))
            best = all.items[i]->seconds;
        err = add_row(c, all.items[i], best);
    }
    gcb_free(all.items);
    if (err)
        return err;
    qsort(c->curves, c->count, sizeof(*c->curves), better);
    while (c->baselines < c->count && is_baseline(&c->curves[c->baselines]))
        c->baselines++;
    c->named = fmin((double)c->count, (double)(c->baselines + MOST_NAMED));
    return 0;
}

/* Counts the methods that are left out because their figures are doubtful. */
static size_t count_doubtful(const struct chart *c, const struct gcb_plot_data *data,
                             const struct gcb_plot_record *first)
{
    const struct gcb_plot_records *rows = &data->kinds[GCB_RECORD_PAYOFF];
    size_t n = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *x = &rows->items[i];
        bool seen = !is_exchange(x) || !*x->doubtful || !c->split->same_page(first, x);

        for (size_t k = 0; !seen && k < i; k++)
            seen = rows->items[k].label == x->label && rows->items[k].spec == x->spec &&
                   *rows->items[k].doubtful && c->split->same_page(first, &rows->items[k]);
        n += !seen;
    }
    return n;
}

static int name_curves(struct gcb_plot_set *set, const struct chart *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct gcb_plot_series *s =
            gcb_plot_set_name(set, c->curves[i].of->label, c->curves[i].of->method);

        if (!s)
            return GCB_E_NOMEM;
        s->count = c->curves[i].rows.count;
        if (i >= c->named)
            s->style = (struct gcb_plot_style){"#d4d4d4", "#909090", 0, 1};
    }
    return 0;
}

static double coding_of(const struct gcb_plot_record *x)
{
    return x->encode_seconds + x->decode_seconds;
}

static double wire_of(const struct gcb_plot_record *x)
{
    return x->wire_seconds + fmax(x->sizes_seconds, 0.0) + fmax(x->inside_seconds, 0.0);
}

static double adding_of(const struct gcb_plot_record *x)
{
    return fmax(x->add_seconds, 0.0) + fmax(x->average_seconds, 0.0);
}

/* Writes the rows of a curve. Only some rows have marks, and those of the next curve are at other places. */
static void put_curve(struct gcb_plot_page *out, const struct chart *c, size_t curve)
{
    const struct gcb_plot_cases *rows = &c->curves[curve].rows;
    const size_t apart = rows->count > 9 ? rows->count / 3 : 3;

    GCB_PLOT_BLOCK(out, "place", GCB_PLOT_FIELD(SECONDS), "coding", "wire", "adding", "copy",
                   GCB_PLOT_FIELD(SPEEDUP_BAR), "mark");
    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *x = rows->items[i];

        GCB_PLOT_ROW(out, NULL, c->split->axis(x), x->seconds, coding_of(x), wire_of(x),
                     adding_of(x), fmax(x->copy_seconds, 0.0), x->speedup,
                     i % apart == curve % apart || i + 1 == rows->count);
    }
}

/* Writes the bandwidth at which each named curve crosses that of the best baseline. */
static void put_breaks(struct gcb_plot_page *out, const struct chart *c)
{
    GCB_PLOT_BLOCK(out, "place", "series");
    for (size_t i = c->baselines; i < c->named; i++) {
        const double below = c->curves[i].of->pays_below;

        GCB_PLOT_ROW(out, NULL, below > 0.0 ? below : NAN, (double)i + 1);
    }
}

/* Writes where the label of each named curve stands at the right of the picture, and where the curve ends, as shares of
 * the picture's height. */
static void put_ends(struct gcb_plot_page *out, const struct chart *c,
                     const struct gcb_plot_axis *speedup)
{
    double ends[MOST_NAMED + 8] = {0.0}, heights[MOST_NAMED + 8];
    const size_t count = c->named < MOST_NAMED + 8 ? c->named : MOST_NAMED + 8;

    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_cases *rows = &c->curves[i].rows;

        ends[i] = heights[i] = gcb_plot_pixel_of(speedup, rows->items[rows->count - 1]->speedup);
    }
    gcb_plot_spread(heights, count, GCB_PLOT_TEXT_HEIGHT + 1.0, speedup->pixels);
    gcb_plot_array_begin(out, "end_from", count);
    for (size_t i = 0; i < count; i++)
        gcb_plot_array_real(out, ends[i] / speedup->pixels);
    gcb_plot_array_begin(out, "end_to", count);
    for (size_t i = 0; i < count; i++)
        gcb_plot_array_real(out, heights[i] / speedup->pixels);
    gcb_plot_var_real(out, "named", (double)count);
}

static void put_axes(struct gcb_plot_page *out, const struct chart *c)
{
    struct gcb_plot_range place = GCB_PLOT_RANGE_EMPTY, seconds = place, speedup = {1.0, 1.0};
    struct gcb_plot_axis axis;

    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->curves[i].rows.count; k++) {
            const struct gcb_plot_record *x = c->curves[i].rows.items[k];

            gcb_plot_range_add_positive(&place, c->split->axis(x));
            /* grey curves may leave the picture, because the slowest would flatten the others */
            if (i < c->named) {
                gcb_plot_range_add_positive(&seconds, x->seconds);
                gcb_plot_range_add_positive(&speedup, x->speedup);
            }
        }
    gcb_plot_var_range(out, "place", &place);
    seconds.low *= 1e3;
    seconds.high *= 1e3;
    axis = gcb_plot_axis_of(&seconds, true, PANEL_HEIGHT);
    gcb_plot_var_axis(out, "ms", &axis);
    axis = gcb_plot_axis_of(&speedup, true, PANEL_HEIGHT);
    gcb_plot_var_axis(out, "speedup", &axis);
    put_ends(out, c, &axis);
}

static void put_heading(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                        const struct chart *c, const struct gcb_plot_record *x)
{
    char text[256];

    if (c->split == &by_bandwidth)
        snprintf(text, sizeof(text), "Does it pay? %.0f workers", x->workers);
    else
        snprintf(text, sizeof(text), "How does it scale? A link of %.4g Gbit/s", x->bandwidth);
    if (x->per_node > 1.0)
        gcb_append(text, sizeof(text), ", %.0f in a node", x->per_node);
    if (isfinite(x->latency))
        gcb_append(text, sizeof(text), ", latency %.3g us", 1e6 * x->latency);
    if (isfinite(x->gradient_bytes))
        gcb_append(text, sizeof(text), ", gradient of %.4g MB", 1e-6 * x->gradient_bytes);
    gcb_plot_heading_of(out, text, x->results, x->scope, gcb_plot_env_of(data, x->env));
}

/* Writes which curves have a panel that splits their time: the best baseline and the best methods. */
static void put_splits(struct gcb_plot_page *out, const struct chart *c)
{
    size_t shown[MOST_SPLITS], n = c->baselines > 0;
    double most = 1.1; /* of the time in units of the best baseline's */

    shown[0] = 0;
    for (size_t i = c->baselines; i < c->named && n < MOST_SPLITS; i++)
        shown[n++] = i;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c->curves[shown[i]].rows.count; k++)
            most = fmax(most, 1.0 / c->curves[shown[i]].rows.items[k]->speedup);
    gcb_plot_var_real(out, "split_high", fmin(most, 2.0));
    gcb_plot_var_real(out, "splits", (double)n);
    gcb_plot_array_begin(out, "split", n);
    for (size_t i = 0; i < n; i++)
        gcb_plot_array_real(out, (double)shown[i] + 1);
}

static double label_width(const struct gcb_plot_set *set, size_t named)
{
    double width = 0.0;

    for (size_t i = 0; i < named; i++)
        width = fmax(width, gcb_plot_text_width(set->items[i].label));
    return fmin(width, gcb_plot_text_width("") + 7.2 * GCB_PLOT_LABEL_WIDTH);
}

static int fill(const struct gcb_plot_split *split, const struct gcb_plot_data *data,
                const struct gcb_plot_record *first, struct gcb_plot_page *out,
                struct gcb_diag *diag)
{
    struct chart c = {.split = split};
    int err = collect(&c, data, first);

    if (!err)
        err = name_curves(&out->set, &c);
    if (err) {
        gcb_diag_nomem(diag, 0, "a plot");
        goto out;
    }
    put_heading(out, data, &c, first);
    gcb_plot_var_real(out, "doubtful", (double)count_doubtful(&c, data, first));
    for (size_t i = 0; i < c.count; i++)
        put_curve(out, &c, i);
    put_axes(out, &c);
    gcb_plot_var_real(out, "panel_width", PANEL_WIDTH);
    gcb_plot_var_real(out, "panel_height", PANEL_HEIGHT);
    gcb_plot_legend(out, &out->set);
    gcb_plot_var_real(out, "plot_width",
                      220.0 + 2.0 * PANEL_WIDTH + label_width(&out->set, c.named));
    if (split == &by_bandwidth)
        put_breaks(out, &c);
    else
        put_splits(out, &c);
    gcb_plot_var_real(out, "plot_height",
                      88.0 + PANEL_HEIGHT + (split == &by_bandwidth ? 75.0 : 345.0));
out:
    for (size_t i = 0; i < c.count; i++)
        gcb_free(c.curves[i].rows.items);
    gcb_free(c.curves);
    return err;
}

static int fill_by_bandwidth(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                             struct gcb_plot_page *out, struct gcb_diag *diag)
{
    return fill(&by_bandwidth, data, first, out, diag);
}

static int fill_by_workers(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                           struct gcb_plot_page *out, struct gcb_diag *diag)
{
    return fill(&by_workers, data, first, out, diag);
}

const struct gcb_plot gcb_plot_break_even = {
    .name = "break-even",
    .title = "time of an exchange by bandwidth, and up to which bandwidth each method pays",
    .needs = "payoff rows of several bandwidths: `payoff --bandwidth 1Gb..100Gb/20 --results FILE "
             "RESULTS`",
    .from = "payoff",
    .split = &by_bandwidth,
    .fill = fill_by_bandwidth,
};

const struct gcb_plot gcb_plot_scaling = {
    .name = "scaling",
    .title = "time of an exchange by number of workers, split into coding, wire and adding",
    .needs = "payoff rows of several numbers of workers: `payoff --workers 2..128 --results FILE "
             "RESULTS`",
    .from = "payoff --workers",
    .split = &by_workers,
    .fill = fill_by_workers,
};
