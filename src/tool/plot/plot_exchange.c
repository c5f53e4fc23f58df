/* Plots how long an exchange of gradients takes, and how much faster it is than the best of fp32, fp16 and bf16: by the
 * bandwidth of the link, and by the number of workers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/plot/plot_labels.h"
#include "src/tool/plot/plots.h"
#include "src/tool/print/number.h"

#define MOST_NAMED 8                 /* ways that have a colour and a label; the others are grey */
#define MOST_LABELS (MOST_NAMED + 3) /* with fp32, fp16 and bf16 */
#define PANEL_WIDTH 400.0
#define PANEL_HEIGHT 380.0
#define MOST_SPLITS 6 /* panels that split a way's time, with the one of the best baseline */
#define LARGEST 1e30  /* gnuplot fails for larger numbers */

static bool is_sane(double value)
{
    return value > 1.0 / LARGEST && value < LARGEST;
}

static bool is_exchange(const struct gcb_plot_record *x)
{
    return strcmp(x->model, "exchange") == 0 && is_sane(x->seconds) && is_sane(x->speedup) &&
           is_sane(x->bandwidth) && is_sane(x->workers);
}

static bool same_exchange(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->env == b->env && a->results == b->results && a->coding == b->coding &&
           a->link_file == b->link_file && gcb_plot_equal(a->latency, b->latency) &&
           gcb_plot_equal(a->per_node, b->per_node) && gcb_plot_equal(a->intra, b->intra) &&
           gcb_plot_equal(a->inner_steps, b->inner_steps) &&
           gcb_plot_equal(a->sharded, b->sharded) &&
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

static const struct gcb_plot_split by_bandwidth = {GCB_RECORD_PAYOFF, is_exchange, same_workers,
                                                   bandwidth_of},
                                   by_workers = {GCB_RECORD_PAYOFF, is_exchange, same_bandwidth,
                                                 workers_of};

/* ---- curves ---- */

/* Who has a name, from the first to the last. */
enum rank {
    BASELINE, /* the fastest one, at some place */
    ADVISED,  /* the answer names the way at some place */
    FASTEST,  /* of its kind of error */
    UNBEATEN, /* no way of its kind has at most its error and is as fast everywhere */
    OTHER,    /* named if there are few ways */
    NEVER,    /* another baseline, or a way that is slower than the best baseline everywhere */
};

/* The rows of one way, from small to large values on the axis. */
struct curve {
    const struct gcb_plot_record *of; /* any of its rows */
    struct gcb_plot_cases rows;
    enum rank rank;
    size_t turn;    /* how many better curves of its rank have its kind of error */
    double nearest; /* the most that best time / its time reaches along the axis: 1 if it is best */
    double sum;     /* of best time / its time over its rows */
};

struct chart {
    const struct gcb_plot_split *split;
    struct curve *curves; /* those with colour and label, then the others */
    size_t count, cap, named;
    bool faster; /* some way is faster than the best baseline at some place */
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

static int better(const void *a, const void *b)
{
    const struct curve *x = a, *y = b;

    if (x->rank != y->rank)
        return (x->rank > y->rank) - (x->rank < y->rank);
    if (x->turn != y->turn)
        return (x->turn > y->turn) - (x->turn < y->turn);
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

static const struct gcb_plot_record *last_of(const struct curve *c)
{
    return c->rows.items[c->rows.count - 1];
}

static bool is_advised(const struct curve *c)
{
    for (size_t i = 0; i < c->rows.count; i++)
        if (*c->rows.items[i]->advice)
            return true;
    return false;
}

/* Returns the most that the way is as fast as the best baseline. */
static double top_of(const struct curve *c)
{
    double top = 0.0;

    for (size_t i = 0; i < c->rows.count; i++)
        top = fmax(top, c->rows.items[i]->speedup);
    return top;
}

#define ALIKE 1.05 /* errors, and times, that differ by less are as good as equal */

/* Is `x` as good as `y` everywhere? */
static bool covers(const struct curve *x, const struct curve *y)
{
    if (x->of->kind != y->of->kind || x->rows.count != y->rows.count)
        return false;
    for (size_t i = 0; i < x->rows.count; i++) {
        const struct gcb_plot_record *a = x->rows.items[i], *b = y->rows.items[i];

        if (!(a->seconds <= ALIKE * b->seconds) || a->error_of_mean > ALIKE * b->error_of_mean)
            return false;
    }
    return true;
}

static enum rank rank_of(const struct chart *c, size_t i)
{
    const struct curve *x = &c->curves[i];
    bool first = true, beaten = false;

    if (gcb_plot_baseline(x->of->method))
        return top_of(x) >= 1.0 ? BASELINE : NEVER;
    if (!(top_of(x) > 1.0))
        return NEVER;
    if (is_advised(x))
        return ADVISED;
    if (strcmp(x->of->kind, "loud") == 0)
        return OTHER;
    for (size_t k = 0; k < c->count; k++) {
        first &= k >= i || c->curves[k].of->kind != x->of->kind;
        /* of two that cover each other, the first one stays */
        beaten |= k != i && covers(&c->curves[k], x) && (k < i || !covers(x, &c->curves[k]));
    }
    return first ? FASTEST : beaten ? OTHER : UNBEATEN;
}

/* Orders the curves, those that are worth a name first. */
static void rank(struct chart *c)
{
    size_t room = MOST_NAMED, ways = 0;

    qsort(c->curves, c->count, sizeof(*c->curves), better);
    for (size_t i = 0; i < c->count; i++) {
        struct curve *x = &c->curves[i];

        x->rank = rank_of(c, i);
        for (size_t k = 0; k < i; k++)
            x->turn += c->curves[k].rank == x->rank && c->curves[k].of->kind == x->of->kind;
        ways += gcb_plot_baseline(x->of->method) == 0;
    }
    qsort(c->curves, c->count, sizeof(*c->curves), better);
    while (c->named < c->count && c->named < MOST_LABELS) {
        const enum rank r = c->curves[c->named].rank;

        if (r == NEVER || (r == OTHER && ways > MOST_NAMED) || (r != BASELINE && room-- == 0))
            break;
        c->faster |= r != BASELINE;
        c->named++;
    }
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
    if (!err)
        rank(c);
    return err;
}

/* ---- the page ---- */

static int name_curves(struct gcb_plot_set *set, const struct chart *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct gcb_plot_series *s =
            gcb_plot_set_name(set, c->curves[i].of->label, c->curves[i].of->method);

        if (!s)
            return GCB_E_NOMEM;
        s->count = c->curves[i].rows.count;
        if (i >= c->named)
            s->style = (struct gcb_plot_style){"#dcdcdc", "#909090", 0, 1};
    }
    return 0;
}

/* Writes the rows of a curve. Only some rows have marks, and those of the next curve are at other places. */
static void put_curve(struct gcb_plot_page *out, const struct chart *c, size_t curve)
{
    const struct gcb_plot_cases *rows = &c->curves[curve].rows;
    const size_t apart = rows->count > 9 ? rows->count / 3 : 3;

    GCB_PLOT_BLOCK(out, "place", GCB_PLOT_FIELD(SECONDS), GCB_PLOT_FIELD(CODING_SECONDS),
                   GCB_PLOT_FIELD(NETWORK_SECONDS), GCB_PLOT_FIELD(ADDING_SECONDS),
                   GCB_PLOT_FIELD(SPEEDUP_BAR), GCB_PLOT_FIELD(ERROR_OF_MEAN), "mark");
    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *x = rows->items[i];

        GCB_PLOT_ROW(out, NULL, c->split->axis(x), x->seconds, x->coding_seconds,
                     x->network_seconds, x->adding_seconds, x->speedup, x->error_of_mean,
                     i % apart == curve % apart || i + 1 == rows->count);
    }
}

/* Writes the error of each named curve, at the first and the last place of the axis, and its kind. Returns the width of the
 * longest text. */
static double put_errors(struct gcb_plot_page *out, const struct chart *c)
{
    const bool one = c->count && c->curves[0].of->mean_workers == 1.0;
    const char *title = one ? "error of one message" : "error of the mean";
    double width = gcb_plot_text_width(title);

    gcb_plot_var_text(out, "error_of", title);
    gcb_plot_array_begin(out, "error", c->named);
    for (size_t i = 0; i < c->named; i++) {
        const struct gcb_plot_record *last = last_of(&c->curves[i]);
        char text[64], from[GCB_PLOT_ERROR], to[GCB_PLOT_ERROR];
        bool same;

        gcb_plot_error(from, c->curves[i].rows.items[0]->error_of_mean);
        gcb_plot_error(to, last->error_of_mean);
        same = strcmp(from, to) == 0;
        snprintf(text, sizeof(text), "%s%s%s%s%.20s", from, same ? "" : " to ", same ? "" : to,
                 *last->kind ? " " : "", gcb_plot_kind(last->kind));
        gcb_plot_array_text(out, text, sizeof(text));
        width = fmax(width, gcb_plot_text_width(text));
    }
    return width;
}

/* Writes where the label of each named curve stands at the right of the picture, and where the curve ends, as shares of
 * the picture's height. */
static void put_ends(struct gcb_plot_page *out, const struct chart *c,
                     const struct gcb_plot_axis *speedup)
{
    double ends[MOST_LABELS] = {0.0}, heights[MOST_LABELS];

    for (size_t i = 0; i < c->named; i++) {
        const double end = gcb_plot_pixel_of(speedup, last_of(&c->curves[i])->speedup);

        ends[i] = heights[i] = fmax(end, 0.0); /* a curve may leave the picture */
    }
    gcb_plot_spread(heights, c->named, GCB_PLOT_TEXT_HEIGHT + 3.0, speedup->pixels);
    gcb_plot_array_begin(out, "end_from", c->named);
    for (size_t i = 0; i < c->named; i++)
        gcb_plot_array_real(out, ends[i] / speedup->pixels);
    gcb_plot_array_begin(out, "end_to", c->named);
    for (size_t i = 0; i < c->named; i++)
        gcb_plot_array_real(out, heights[i] / speedup->pixels);
    gcb_plot_var_real(out, "named", (double)c->named);
}

static void put_axes(struct gcb_plot_page *out, const struct chart *c)
{
    static const struct gcb_plot_unit bandwidths[] = {
        {1e3, "Tb/s"}, {1.0, "Gb/s"}, {1e-3, "Mb/s"}, {1e-6, "kb/s"}, {0.0, NULL}};
    struct gcb_plot_range place = GCB_PLOT_RANGE_EMPTY, seconds = place, speedup = {1.0, 1.0};
    struct gcb_plot_axis axis;

    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->curves[i].rows.count; k++) {
            const struct gcb_plot_record *x = c->curves[i].rows.items[k];

            gcb_plot_range_add_positive(&place, c->split->axis(x));
            /* grey curves may leave the picture, because the slowest would flatten the others */
            if (i < c->named || !c->faster) {
                gcb_plot_range_add_positive(&seconds, x->seconds);
                gcb_plot_range_add_positive(&speedup, x->speedup);
            }
        }
    if (c->split == &by_bandwidth)
        gcb_plot_var_units(out, "place", &place, bandwidths, 6);
    else
        gcb_plot_var_range(out, "place", &place);
    axis = gcb_plot_axis_of(&seconds, true, PANEL_HEIGHT);
    gcb_plot_var_units(out, "time", &(struct gcb_plot_range){axis.low, axis.high}, gcb_plot_seconds,
                       10);
    speedup.low =
        fmax(speedup.low, speedup.high / 300.0); /* a very slow curve leaves the picture */
    axis = gcb_plot_axis_of(&speedup, true, PANEL_HEIGHT);
    gcb_plot_var_axis(out, "speedup", &axis);
    put_ends(out, c, &axis);
}

static void put_heading(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                        const struct chart *c, const struct gcb_plot_record *x)
{
    const struct gcb_plot_record *env = gcb_plot_env_of(data, x->env);
    const bool here = strcmp(x->coding, "cpu") == 0 && *env->cpu_model;
    const char *slash = strrchr(x->results, '/');
    char text[256], number[32], file[200];

    snprintf(text, sizeof(text), "Exchange of a %s",
             x->sharded == 1.0 ? "sharded model" : "gradient");
    if (isfinite(x->gradient_bytes))
        gcb_append(text, sizeof(text), " of %s", gcb_bytes(number, x->gradient_bytes));
    if (c->split == &by_bandwidth)
        gcb_append(text, sizeof(text), ", %.0f workers", x->workers);
    else
        gcb_append(text, sizeof(text), ", links of %.4g Gb/s", x->bandwidth);
    if (x->per_node > 1.0)
        gcb_append(text, sizeof(text), ", %.0f workers in a node", x->per_node);
    if (isfinite(x->latency))
        gcb_append(text, sizeof(text), ", latency %s", gcb_seconds(number, x->latency));
    gcb_plot_var_text(out, "plot_title", text);
    snprintf(text, sizeof(text), "errors: %s",
             gcb_text_shorten(file, sizeof(file), slash ? slash + 1 : x->results, 48));
    if (x->mean_workers > 1.0)
        gcb_append(text, sizeof(text), ", mean of %.0f workers", x->mean_workers);
    gcb_plot_var_text(out, "plot_file", text);
    snprintf(text, sizeof(text), "times of coding: %s%s%s",
             gcb_text_shorten(file, sizeof(file), x->coding, 60), here ? ", " : "",
             here ? env->cpu_model : "");
    gcb_plot_var_text(out, "plot_machine", *x->coding ? text : "");
}

/* Writes which curves have a panel that splits their time: the best baseline and the best ways. */
static void put_splits(struct gcb_plot_page *out, const struct chart *c)
{
    const size_t all = c->faster ? c->named : c->count, n = all < MOST_SPLITS ? all : MOST_SPLITS;
    double most = 1.1; /* of the time in units of the best baseline's */

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c->curves[i].rows.count; k++)
            most = fmax(most, 1.0 / c->curves[i].rows.items[k]->speedup);
    gcb_plot_var_real(out, "split_high", fmin(most, 2.0));
    gcb_plot_var_real(out, "splits", (double)n);
}

/* Writes what the grey curves are. Returns the width of this text and the named curves' labels. */
static double put_grey(struct gcb_plot_page *out, const struct chart *c)
{
    const size_t grey = c->count - c->named;
    char text[64] = "";
    double width;

    if (grey)
        snprintf(text, sizeof(text), "grey: %zu %sway%s%s", grey, c->faster ? "more " : "",
                 grey == 1 ? "" : "s", c->faster ? "" : ", never faster");
    gcb_plot_var_text(out, "grey", text);
    width = gcb_plot_text_width(text);
    for (size_t i = 0; i < c->named; i++)
        width = fmax(width, gcb_plot_text_width(c->curves[i].of->label));
    return fmin(width, gcb_plot_text_width("") + 7.2 * GCB_PLOT_LABEL_WIDTH);
}

static int fill(const struct gcb_plot_split *split, const struct gcb_plot_data *data,
                const struct gcb_plot_record *first, struct gcb_plot_page *out,
                struct gcb_diag *diag)
{
    struct chart c = {.split = split};
    int err = collect(&c, data, first);
    double labels, errors;

    if (!err)
        err = name_curves(&out->set, &c);
    if (err) {
        gcb_diag_nomem(diag, 0, "a plot");
        goto out;
    }
    put_heading(out, data, &c, first);
    for (size_t i = 0; i < c.count; i++)
        put_curve(out, &c, i);
    put_axes(out, &c);
    errors = put_errors(out, &c);
    gcb_plot_var_real(out, "panel_width", PANEL_WIDTH);
    gcb_plot_var_real(out, "panel_height", PANEL_HEIGHT);
    gcb_plot_legend(out, &out->set);
    labels = put_grey(out, &c);
    gcb_plot_var_real(out, "label_width", labels);
    gcb_plot_var_real(out, "plot_width", 230.0 + 2.0 * PANEL_WIDTH + labels + errors);
    if (split == &by_workers)
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
    .title =
        "time of an exchange by bandwidth, and how much faster each way is than the best of fp32, "
        "fp16 and bf16",
    .needs = "payoff rows of several bandwidths: `payoff DUMP --bandwidth 1Gb..100Gb/20 --results "
             "FILE`",
    .from = "payoff",
    .split = &by_bandwidth,
    .fill = fill_by_bandwidth,
};

const struct gcb_plot gcb_plot_scaling = {
    .name = "scaling",
    .title =
        "the same by number of workers, and how the time splits into coding, network and adding",
    .needs = "payoff rows of several numbers of workers: `payoff DUMP --bandwidth 10Gb --workers "
             "2..128 --results FILE`",
    .from = "payoff --workers",
    .split = &by_workers,
    .fill = fill_by_workers,
};
