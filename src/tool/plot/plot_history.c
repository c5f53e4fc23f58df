/* Plots how ratio and speed of each case changed from run to run, in units of the case's first run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/plot/plots.h"

#define MOST_NAMED \
    12 /* methods with a colour and a label, those that changed most; the others are grey */
#define MOST_TICS 16

/* Returns the digits of a date such as "2026-11-23T14:15:16Z" as a number, which grows with time; NAN: no date. */
static double date_of(const struct gcb_plot_record *x)
{
    double date = 0.0;

    for (const char *c = x->date; *c; c++)
        if (*c >= '0' && *c <= '9')
            date = 10.0 * date + (*c - '0');
    return date > 0.0 ? date : NAN;
}

static bool is_wanted(const struct gcb_plot_record *x)
{
    return *x->spec && strcmp(x->status, "ok") == 0 && x->ratio > 0.0 && !isnan(date_of(x));
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Files are compared by name, because every run may have its own folder. */
static bool same_page(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return strcmp(name_of(a->file), name_of(b->file)) == 0 && a->scope == b->scope &&
           a->device == b->device && a->isa == b->isa && a->cache == b->cache &&
           gcb_plot_equal(a->threads, b->threads) && a->match_field == b->match_field &&
           gcb_plot_equal(a->match_target, b->match_target);
}

static const struct gcb_plot_split split = {GCB_RECORD_SUMMARY, is_wanted, same_page, date_of};

/* A method on the page, and how much it changed. */
struct moved {
    struct gcb_plot_series series;
    const struct gcb_plot_record *item;
    double changes[2]; /* largest / smallest ratio, and the same of speeds */
};

static int by_date(const void *a, const void *b)
{
    const struct gcb_plot_record *x = *(const struct gcb_plot_record *const *)a,
                                 *y = *(const struct gcb_plot_record *const *)b;
    const double p = date_of(x), q = date_of(y);

    if (p != q)
        return (p > q) - (p < q);
    return (x > y) - (x < y);
}

static int by_change(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;

    for (int i = 0; i < 2; i++)
        if (x->changes[i] < y->changes[i] || x->changes[i] > y->changes[i])
            return x->changes[i] < y->changes[i] ? 1 : -1;
    return strcmp(x->item->spec, y->item->spec);
}

static int collect(struct gcb_plot_cases *rows, const struct gcb_plot_data *data,
                   const struct gcb_plot_record *first)
{
    const struct gcb_plot_record *x = NULL;

    while ((x = gcb_plot_split_next(&split, data, first, x)) != NULL) {
        if (gcb_grow(&rows->items, &rows->cap, rows->count, sizeof(*rows->items)))
            return GCB_E_NOMEM;
        rows->items[rows->count++] = x;
    }
    qsort(rows->items, rows->count, sizeof(*rows->items), by_date);
    return 0;
}

/* Returns the row of this method after `at` in the order of dates, one for each date. NULL `at`: the first. */
static const struct gcb_plot_record *const *find_next(const struct gcb_plot_cases *rows,
                                                      const char *setting,
                                                      const struct gcb_plot_record *const *at)
{
    const struct gcb_plot_record *const *end = rows->items + rows->count;
    const double after = at ? date_of(*at) : 0.0;

    for (at = at ? at + 1 : rows->items; at < end; at++)
        if ((*at)->setting == setting && date_of(*at) > after)
            return at;
    return NULL;
}

/* Counts the runs of a method, and finds how much it changed. */
static void measure(struct moved *m, const struct gcb_plot_cases *rows)
{
    struct gcb_plot_range ratio = GCB_PLOT_RANGE_EMPTY, speed = GCB_PLOT_RANGE_EMPTY;

    m->series.count = 0;
    for (const struct gcb_plot_record *const *at = NULL;
         (at = find_next(rows, m->item->setting, at)) != NULL; m->series.count++) {
        gcb_plot_range_add_positive(&ratio, (*at)->ratio);
        gcb_plot_range_add_positive(&speed, (*at)->encode_gbps);
    }
    m->changes[0] = ratio.high / ratio.low;
    m->changes[1] = speed.high >= speed.low ? speed.high / speed.low : 1.0;
}

/* Sorts the methods by the change of their ratio, then of their speed, and drops those with only one run if another has more. */
static int rank(struct gcb_plot_set *set, const struct gcb_plot_cases *rows)
{
    struct moved *all = gcb_alloc_array(set->count + 1, sizeof(*all));
    size_t kept = 0, several = 0;

    if (!all)
        return GCB_E_NOMEM;
    for (size_t i = 0; i < set->count; i++) {
        all[i] = (struct moved){.series = set->items[i], .item = set->cases.items[i]};
        measure(&all[i], rows);
        several += all[i].series.count > 1;
    }
    qsort(all, set->count, sizeof(*all), by_change);
    for (size_t i = 0; i < set->count; i++) {
        if (several && all[i].series.count < 2)
            continue;
        set->items[kept] = all[i].series;
        set->cases.items[kept++] = all[i].item;
    }
    set->count = set->cases.count = kept;
    gcb_free(all);
    return 0;
}

/* Writes the runs of a method as figures in units of its first run, and adds its last figures to its label. */
static void put_curve(struct gcb_plot_page *out, const struct gcb_plot_cases *rows, size_t series,
                      const double *dates, struct gcb_plot_range ranges[2])
{
    const char *setting = out->set.cases.items[series]->setting;
    struct gcb_plot_series *s = &out->set.items[series];
    const struct gcb_plot_record *first = NULL, *last = NULL;

    GCB_PLOT_BLOCK(out, "run", "ratio_change", "speed_change", GCB_PLOT_FIELD(RATIO),
                   GCB_PLOT_FIELD(ENCODE_GBPS), GCB_PLOT_FIELD(SPEC));
    for (const struct gcb_plot_record *const *at = NULL;
         (at = find_next(rows, setting, at)) != NULL;) {
        size_t run = 0;

        last = *at;
        if (!first)
            first = last;
        while (dates[run] < date_of(last))
            run++;
        gcb_plot_range_add_positive(&ranges[0], last->ratio / first->ratio);
        gcb_plot_range_add_positive(&ranges[1], last->encode_gbps / first->encode_gbps);
        GCB_PLOT_ROW(out, last->spec, (double)run + 1, last->ratio / first->ratio,
                     last->encode_gbps / first->encode_gbps, last->ratio, last->encode_gbps);
    }
    if (series >= MOST_NAMED) {
        s->style = (struct gcb_plot_style){"#d4d4d4", "#909090", 0, 1};
    } else if (last) {
        char text[GCB_PLOT_LABEL], cut[GCB_PLOT_LABEL];

        snprintf(text, sizeof(text), "%s",
                 gcb_text_shorten(cut, sizeof(cut), s->label, GCB_PLOT_LABEL_WIDTH - 25));
        gcb_append(text, sizeof(text), ", ratio %.3g", last->ratio);
        if (last->encode_gbps > 0.0)
            gcb_append(text, sizeof(text), ", %.3g GB/s", last->encode_gbps);
        memcpy(s->label, text, sizeof(text));
    }
}

/* Writes the runs as tics, at most MOST_TICS: date, time and revision. Returns how many runs there are. */
static size_t put_runs(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                       const struct gcb_plot_cases *rows, double *dates)
{
    const struct gcb_plot_record **runs = gcb_alloc_array(rows->count, sizeof(*runs));
    size_t count = 0, every;

    if (!runs)
        return 0;
    for (size_t i = 0; i < rows->count; i++)
        if (count == 0 || date_of(rows->items[i]) > dates[count - 1]) {
            runs[count] = rows->items[i];
            dates[count++] = date_of(rows->items[i]);
        }
    every = (count + MOST_TICS - 1) / MOST_TICS;
    gcb_plot_var_real(out, "runs", (double)count);
    gcb_plot_var_real(out, "every", (double)every);
    gcb_plot_array_begin(out, "run_name", count);
    for (size_t i = 0; i < count; i++) {
        char text[40];

        snprintf(text, sizeof(text), "%.8s %.5s %.7s", runs[i]->date + 2,
                 strlen(runs[i]->date) > 11 ? runs[i]->date + 11 : "",
                 gcb_plot_env_of(data, runs[i]->env)->revision);
        gcb_plot_array_text(out, text, sizeof(text));
    }
    gcb_free(runs);
    return count;
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_range ranges[2] = {{1.0, 1.0}, {1.0, 1.0}};
    struct gcb_plot_cases rows = {.items = NULL};
    double *dates = NULL;
    size_t left;
    int err = collect(&rows, data, first);

    if (!err)
        err = rank(&out->set, &rows);
    if (!err && !(dates = gcb_alloc_array(rows.count, sizeof(*dates))))
        err = GCB_E_NOMEM;
    if (!err && put_runs(out, data, &rows, dates) == 0)
        err = GCB_E_NOMEM;
    if (err) {
        gcb_diag_nomem(diag, 0, "a plot");
        goto out;
    }
    gcb_plot_heading(out, "History: each method in units of its first run", data, first,
                     GCB_PLOT_BY_TIME);
    for (size_t i = 0; i < out->set.count; i++)
        put_curve(out, &rows, i, dates, ranges);
    left = out->set.count > MOST_NAMED ? out->set.count - MOST_NAMED : 0;
    gcb_plot_var_real(out, "unnamed", (double)left);
    gcb_plot_var_range(out, "ratio", &ranges[0]);
    gcb_plot_var_range(out, "speed", &ranges[1]);
    gcb_plot_two_panels(out, gcb_plot_legend(out, &out->set));
out:
    gcb_free(dates);
    gcb_free(rows.items);
    return err;
}

const struct gcb_plot gcb_plot_history = {
    .name = "history",
    .title = "how ratio and speed of each method changed from run to run",
    .needs = "summary rows of runs at several dates: `bench --results FILE` now and then",
    .from = "bench at several times",
    .split = &split,
    .series = GCB_PLOT_APART,
    .fill = fill,
};
