/* The data of plots of several runs: a history of benchmarks, and the quality of networks in
 * training. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/plot/plot_page.h"

/* ---- history ---- */

double gcb_plot_date(const struct gcb_plot_record *row)
{
    double date = 0.0; /* the digits of "2026-07-28T12:34:56Z" as one number */

    for (const char *c = row->date; *c; c++)
        if (*c >= '0' && *c <= '9')
            date = 10.0 * date + (*c - '0');
    return date > 0.0 ? date : NAN;
}

/* Orders rows by date. Rows of one date stay in the order of the files. */
static int by_date(const void *a, const void *b)
{
    const struct gcb_plot_record *x = *(const struct gcb_plot_record *const *)a,
                                 *y = *(const struct gcb_plot_record *const *)b;
    const double p = gcb_plot_date(x), q = gcb_plot_date(y);

    if (p != q)
        return (p > q) - (p < q);
    return (x > y) - (x < y);
}

/* Ranks the series of a setting. The series whose ratio changed most come first; among series whose
 * ratio changed as much, those whose speed changed most. A series with one row gets no name. `rows`
 * are in the order of dates. Returns the number of rows of the setting, and in *last the last of
 * them. */
static size_t rank_setting(struct gcb_plot_series *s, const struct gcb_plot_record **last,
                           const struct gcb_plot_cases *rows, const char *setting)
{
    double ratio[2] = {INFINITY, 0.0}, speed[2] = {INFINITY, 0.0}; /* smallest, largest */
    size_t runs = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *x = rows->items[i];

        if (x->setting != setting)
            continue;
        *last = x;
        ratio[0] = fmin(ratio[0], x->ratio);
        ratio[1] = fmax(ratio[1], x->ratio);
        speed[0] = fmin(speed[0], x->encode_gbps);
        speed[1] = fmax(speed[1], x->encode_gbps);
        runs++;
    }
    /* a change of the ratio by 0.001 % counts more than one of the speed by a factor of 10000 */
    s->rank = runs < 2 ? INFINITY : -1e6 * log(ratio[1] / ratio[0]);
    if (runs > 1 && speed[0] > 0.0 && isfinite(speed[0]))
        s->rank -= log(speed[1] / speed[0]);
    return runs;
}

/* Adds the last figures of each setting to the label of its series. If some settings have several
 * rows, drops the series with one row. */
static void label_settings(struct gcb_plot_set *set, const struct gcb_plot_cases *rows)
{
    bool several = false;
    size_t kept = 0;

    for (size_t s = 0; s < set->count; s++) {
        struct gcb_plot_series *one = &set->items[s];
        const struct gcb_plot_record *last = set->cases.items[one->first];

        one->count = rank_setting(one, &last, rows, last->setting);
        several |= one->count > 1;
        gcb_append(one->label, GCB_PLOT_LABEL, ", ratio %.3g", last->ratio);
        if (last->encode_gbps > 0.0)
            gcb_append(one->label, GCB_PLOT_LABEL, ", %.3g GB/s", last->encode_gbps);
        if (last->rel_l2 >= 0.0)
            gcb_append(one->label, GCB_PLOT_LABEL,
                       last->rel_l2 < 99.0 ? ", error %.2g" : ", error %.0f", last->rel_l2);
    }
    for (size_t s = 0; s < set->count; s++)
        if (!several || set->items[s].count > 1)
            set->items[kept++] = set->items[s];
    set->count = kept;
    gcb_plot_set_choose(set, GCB_PLOT_NAMED);
}

/* Writes a row for each date at which a setting ran: its ratio and speed, absolute and relative to
 * those of its first run. Runs are numbered by date over all settings, from 1. */
static void put_runs(struct gcb_plot_page *page, const struct gcb_plot_cases *rows, size_t series)
{
    const char *setting = page->set.cases.items[page->set.items[series].first]->setting;
    const struct gcb_plot_record *first = NULL, *last = NULL;
    size_t run = 0;

    gcb_plot_break(page);
    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *x = rows->items[i];
        char name[40];

        run += i == 0 || gcb_plot_date(x) > gcb_plot_date(rows->items[i - 1]);
        if (x->setting != setting || (last && gcb_plot_date(x) == gcb_plot_date(last)))
            continue;
        first = first ? first : x;
        last = x;
        /* "26-07-28 12:34 REVISION" */
        snprintf(name, sizeof(name), "%.8s %.5s %.7s", strlen(x->date) > 2 ? x->date + 2 : "",
                 strlen(x->date) > 11 ? x->date + 11 : "",
                 gcb_plot_env_of(page->data, x->env)->revision);
        GCB_PLOT_ROW(page, name, (double)series + 1, (double)run, x->ratio / first->ratio,
                     x->encode_gbps / first->encode_gbps, x->ratio, x->encode_gbps, x->rel_l2);
    }
}

void gcb_plot_add_history(struct gcb_plot_page *page)
{
    struct gcb_plot_cases rows;

    gcb_plot_cases_of(&rows, page, by_date);
    label_settings(&page->set, &rows);
    GCB_PLOT_COLUMNS(page, "name", "series", "run", "ratio_change", "speed_change", "ratio",
                     GCB_PLOT_FIELD(ENCODE_GBPS), GCB_PLOT_FIELD(REL_L2));
    for (size_t s = 0; s < page->set.count; s++)
        put_runs(page, &rows, s);
    gcb_free(rows.items);
}

/* ---- training ---- */

/* Returns what tells the methods of `training` rows apart; interned. */
static const char *label_of(const struct gcb_plot_record *t)
{
    return *t->label ? t->label : t->spec;
}

/* Orders rows by method, step and quality. Methods come in any order, because only the rows of one
 * method must be together. */
static int compare_training(const void *a, const void *b)
{
    const struct gcb_plot_record *x = *(const struct gcb_plot_record *const *)a,
                                 *y = *(const struct gcb_plot_record *const *)b;

    if (label_of(x) != label_of(y))
        return (label_of(x) > label_of(y)) - (label_of(x) < label_of(y));
    if (x->step != y->step)
        return (x->step > y->step) - (x->step < y->step);
    return (x->quality > y->quality) - (x->quality < y->quality);
}

/* Returns the index after the last row with the step and method of row `at`. Rows are in the order
 * of compare_training. */
static size_t end_of_step(const struct gcb_plot_cases *rows, size_t at)
{
    const struct gcb_plot_record *first = rows->items[at];

    while (at < rows->count && rows->items[at]->step == first->step &&
           label_of(rows->items[at]) == label_of(first))
        at++;
    return at;
}

/* Returns the median quality of the rows from `from` to before `to`, which are in the order of
 * quality. */
static double median(const struct gcb_plot_cases *rows, size_t from, size_t to)
{
    return (rows->items[(from + to - 1) / 2]->quality + rows->items[(from + to) / 2]->quality) /
           2.0;
}

/* Makes a series of each method. A method with a higher quality at its last step ranks first. Rows
 * are in the order of compare_training. */
static void add_methods(struct gcb_plot_set *set, const struct gcb_plot_cases *rows)
{
    struct gcb_plot_series *s = NULL;

    for (size_t i = 0, end; i < rows->count; i = end) {
        end = end_of_step(rows, i);
        if (i == 0 || label_of(rows->items[i]) != label_of(rows->items[i - 1])) {
            s = gcb_plot_set_name(set, label_of(rows->items[i]), rows->items[i]->method);
            s->first = i;
        }
        s->count++;
        s->rank = -median(rows, i, end);
    }
    gcb_plot_set_choose(set, GCB_PLOT_NAMED);
}

/* Writes a row for each step of a method: the median, lowest and highest quality of its seeds, at
 * their mean time, or their mean number of bytes if times are unknown. */
static void put_steps(struct gcb_plot_page *page, const struct gcb_plot_cases *rows, size_t series)
{
    const size_t first = page->set.items[series].first;
    size_t end;

    gcb_plot_break(page);
    for (size_t i = first;
         i < rows->count && label_of(rows->items[i]) == label_of(rows->items[first]); i = end) {
        double place = 0.0;

        end = end_of_step(rows, i);
        for (size_t k = i; k < end; k++)
            place += isnan(rows->items[k]->seconds) ? rows->items[k]->link_bytes
                                                    : rows->items[k]->seconds;
        GCB_PLOT_ROW(page, NULL, (double)series + 1, rows->items[i]->step,
                     place / (double)(end - i), median(rows, i, end), rows->items[i]->quality,
                     rows->items[end - 1]->quality);
    }
}

void gcb_plot_add_training(struct gcb_plot_page *page)
{
    const struct gcb_plot_record *first = page->first;
    struct gcb_plot_cases rows;
    char what[256];

    gcb_plot_cases_of(&rows, page, compare_training);
    add_methods(&page->set, &rows);
    snprintf(what, sizeof(what), "%.100s, %.0f workers", first->network, first->workers);
    if (!isnan(first->seconds))
        gcb_append(what, sizeof(what), ", links of %g Gb/s", first->bandwidth);
    gcb_plot_heading(page,
                     isnan(first->seconds) ? "Quality in training, by bytes on a worker's link"
                                           : "Quality in training, by time",
                     what);
    gcb_plot_var_real(page, "by_time", !isnan(first->seconds));
    GCB_PLOT_COLUMNS(page, "series", "step", "place", "quality", "lowest", "highest");
    for (size_t s = 0; s < page->set.count; s++)
        put_steps(page, &rows, s);
    gcb_free(rows.items);
}
