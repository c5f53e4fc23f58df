/* The data of plots of exchanges: the time of each way (a method, its setting and a collective) by
 * bandwidth, or by workers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/base/memory.h"
#include "src/tool/plot/plot_page.h"
#include "src/tool/rows/number.h"

#define FEW 8      /* up to this many ways, baselines not counted, OTHER ways get names too */
#define ALIKE 1.05 /* errors and times that differ by less than this factor count as equal */

/* Why a way gets or lacks a name in the legend; the best reason for a name is first. A place is a
 * point of the axis: a bandwidth, or a number of workers. */
enum worth {
    ADVISED,  /* the answer names the way at some place */
    FASTEST,  /* no way with its kind of error comes nearer to the fastest way */
    UNBEATEN, /* no way of its kind is as good at all places; if two are alike, the first */
    OTHER,    /* the way gets a name only if there are few ways */
    NEVER,    /* the way is nowhere faster than the best baseline */
};

/* A way with its rows, which are in the order of places. */
struct way {
    struct gcb_plot_cases rows;
    double nearest; /* largest quotient of best time and own time; 1: fastest somewhere */
    double sum;     /* sum of these quotients over the rows */
    double top;     /* largest speed-up over the best baseline */
    bool advised;   /* the answer names the way at some place */
    enum worth worth;
};

struct ways {
    const struct gcb_plot *plot;
    struct way *items;
    size_t count, cap;
};

/* Returns the place of a row on the axis. */
static double place_of(const struct gcb_plot *plot, const struct gcb_plot_record *x)
{
    return plot->axis == GCB_FIELD_WORKERS ? x->workers : x->bandwidth;
}

/* Orders rows by place, then by time. */
static int by_place_and_time(const void *a, const void *b)
{
    const struct gcb_plot_record *x = *(const struct gcb_plot_record *const *)a,
                                 *y = *(const struct gcb_plot_record *const *)b;

    /* the rows of a page have either the same number of workers or the same bandwidth */
    if (x->workers != y->workers || x->bandwidth != y->bandwidth)
        return x->workers > y->workers || x->bandwidth > y->bandwidth ? 1 : -1;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* Adds a row to its way. `best`: seconds of the fastest way at the same place. */
static void add_row(struct ways *ways, const struct gcb_plot_record *x, double best)
{
    struct way *w = NULL;

    for (size_t i = 0; i < ways->count && !w; i++)
        if (ways->items[i].rows.items[0]->label == x->label &&
            ways->items[i].rows.items[0]->spec == x->spec)
            w = &ways->items[i];
    if (!w) {
        gcb_must_grow(&ways->items, &ways->cap, ways->count, sizeof(*ways->items));
        w = &ways->items[ways->count++];
        *w = (struct way){.nearest = 0.0};
    }
    w->nearest = fmax(w->nearest, best / x->seconds);
    w->sum += best / x->seconds;
    w->top = fmax(w->top, x->speedup);
    w->advised |= *x->advice != '\0';
    gcb_plot_cases_add(&w->rows, x);
}

/* Sorts the page's rows, so that the first row of each place is the fastest, and collects the rows
 * by way. */
static void collect(struct ways *ways, const struct gcb_plot_page *page)
{
    struct gcb_plot_cases all;
    double best = 0.0;

    gcb_plot_cases_of(&all, page, by_place_and_time);
    for (size_t i = 0; i < all.count; i++) {
        if (i == 0 || place_of(ways->plot, all.items[i]) != place_of(ways->plot, all.items[i - 1]))
            best = all.items[i]->seconds;
        add_row(ways, all.items[i], best);
    }
    gcb_free(all.items);
}

/* Orders ways: first those that come nearest to the fastest way, at their best place and then over
 * all places. */
static int nearer(const void *a, const void *b)
{
    const struct way *x = a, *y = b;

    if (x->nearest != y->nearest)
        return x->nearest < y->nearest ? 1 : -1;
    return (x->sum < y->sum) - (x->sum > y->sum);
}

/* Returns the kind of error of a way; interned. */
static const char *kind_of(const struct way *w)
{
    return w->rows.items[0]->kind;
}

/* True if `x` has the same kind of error as `y`, and is at each place about as fast and as exact,
 * or better. */
static bool covers(const struct way *x, const struct way *y)
{
    if (kind_of(x) != kind_of(y) || x->rows.count != y->rows.count)
        return false;
    for (size_t i = 0; i < x->rows.count; i++) {
        const struct gcb_plot_record *a = x->rows.items[i], *b = y->rows.items[i];

        if (!(a->seconds <= ALIKE * b->seconds) || a->error_of_mean > ALIKE * b->error_of_mean)
            return false;
    }
    return true;
}

/* Finds the worth of way i. Ways are in the order of nearer(). */
static enum worth worth_of(const struct ways *ways, size_t i)
{
    const struct way *x = &ways->items[i];
    bool first = true, beaten = false;

    if (!(x->top > 1.0))
        return NEVER;
    if (x->advised)
        return ADVISED;
    if (strcmp(kind_of(x), "loud") == 0)
        return OTHER;
    for (size_t k = 0; k < ways->count; k++) {
        const struct way *y = &ways->items[k];

        if (gcb_plot_baseline(y->rows.items[0]->method))
            continue;
        first &= k >= i || kind_of(y) != kind_of(x);
        /* if two ways cover each other, only the second one is beaten */
        beaten |= k != i && covers(y, x) && (k < i || !covers(x, y));
    }
    if (first)
        return FASTEST;
    return beaten ? OTHER : UNBEATEN;
}

/* Makes a series of each way, ranked by worth. Among ways of equal worth, the kinds of errors take
 * turns. */
static void add_series(struct gcb_plot_set *set, struct ways *ways)
{
    size_t count = 0;

    qsort(ways->items, ways->count, sizeof(*ways->items), nearer);
    for (size_t i = 0; i < ways->count; i++)
        count += gcb_plot_baseline(ways->items[i].rows.items[0]->method) == 0;
    for (size_t i = 0; i < ways->count; i++) {
        struct way *w = &ways->items[i];
        struct gcb_plot_series *s =
            gcb_plot_set_name(set, w->rows.items[0]->label, w->rows.items[0]->method);
        double turn = 0.0;

        w->worth = worth_of(ways, i);
        for (size_t k = 0; k < i; k++)
            turn += ways->items[k].worth == w->worth && kind_of(&ways->items[k]) == kind_of(w);
        s->first = i;
        s->count = w->rows.count;
        s->rank = w->worth == NEVER || (w->worth == OTHER && count > FEW)
                      ? INFINITY
                      : 1e6 * w->worth + 1e3 * turn + (double)i;
    }
    gcb_plot_set_choose(set, GCB_PLOT_NAMED);
}

/* Writes the heading, which says what is exchanged and where errors and times come from. */
static void put_heading(struct gcb_plot_page *page)
{
    const struct gcb_plot_record *x = page->first, *env = gcb_plot_env_of(page->data, x->env);
    const bool here = strcmp(x->coding, "cpu") == 0 && *env->cpu_model;
    char text[256], number[32], file[200];

    snprintf(text, sizeof(text), "Exchange of a %s",
             x->sharded == 1.0 ? "sharded model" : "gradient");
    if (isfinite(x->gradient_bytes))
        gcb_append(text, sizeof(text), " of %s", gcb_bytes(number, x->gradient_bytes));
    if (page->plot->axis == GCB_FIELD_BANDWIDTH_GBIT)
        gcb_append(text, sizeof(text), ", %.0f workers", x->workers);
    else
        gcb_append(text, sizeof(text), ", links of %.4g Gb/s", x->bandwidth);
    if (x->per_node > 1.0)
        gcb_append(text, sizeof(text), ", %.0f workers in a node", x->per_node);
    if (isfinite(x->latency))
        gcb_append(text, sizeof(text), ", latency %s", gcb_seconds(number, x->latency));
    gcb_plot_var_text(page, "plot_title", text);
    snprintf(text, sizeof(text), "errors measured on %s",
             gcb_text_shorten(file, sizeof(file), gcb_plot_base_name(x->results), 48));
    if (x->mean_workers > 1.0)
        gcb_append(text, sizeof(text), ", mean of %.0f workers", x->mean_workers);
    gcb_plot_var_text(page, "plot_input", text);
    snprintf(text, sizeof(text), "times of coding: %s%s%s",
             gcb_text_shorten(file, sizeof(file), x->coding, 60), here ? ", " : "",
             here ? env->cpu_model : "");
    gcb_plot_var_text(page, "plot_machine", *x->coding ? text : "");
    gcb_plot_var_real(page, "by_workers", page->plot->axis == GCB_FIELD_WORKERS);
    gcb_plot_var_text(page, "error_of",
                      x->mean_workers == 1.0 ? "error of one message" : "error of the mean");
}

/* Returns what the data say for a kind of error. "loud" is noise with a large error, so it is drawn
 * as noise. "-" stands for no kind, because gnuplot does not read an empty cell as a text. */
static const char *name_kind(const char *kind)
{
    if (!*kind)
        return "-";
    return strcmp(kind, "loud") == 0 ? "noise" : kind;
}

void gcb_plot_add_ways(struct gcb_plot_page *page)
{
    struct ways ways = {.plot = page->plot};

    collect(&ways, page);
    add_series(&page->set, &ways);
    put_heading(page);
    GCB_PLOT_COLUMNS(page, "kind", "series", "baseline", "place", "seconds",
                     GCB_PLOT_FIELD(CODING_SECONDS), GCB_PLOT_FIELD(NETWORK_SECONDS),
                     GCB_PLOT_FIELD(ADDING_SECONDS), GCB_PLOT_FIELD(SPEEDUP_BAR),
                     GCB_PLOT_FIELD(ERROR_OF_MEAN));
    for (size_t s = 0; s < page->set.count; s++) {
        const struct way *w = &ways.items[page->set.items[s].first];

        gcb_plot_break(page);
        for (size_t i = 0; i < w->rows.count; i++) {
            const struct gcb_plot_record *x = w->rows.items[i];

            GCB_PLOT_ROW(page, name_kind(x->kind), (double)s + 1, gcb_plot_baseline(x->method) != 0,
                         place_of(page->plot, x), x->seconds, x->coding_seconds, x->network_seconds,
                         x->adding_seconds, x->speedup, x->error_of_mean);
        }
    }
    for (size_t i = 0; i < ways.count; i++)
        gcb_free(ways.items[i].rows.items);
    gcb_free(ways.items);
}
