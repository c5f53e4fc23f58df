/* How fast methods are, and what that buys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/alloc.h"
#include "src/report/plot_series.h"
#include "src/report/plots.h"

#define MAX_BARS 60

/* GB/s of this many seconds. */
static double speed(const struct gcb_plot_case *c, double seconds)
{
    return c->input_bytes / seconds / 1e9;
}

/* memcpy is a line, not a bar: takes it out of the cases. NAN: it is not among them. */
static double take_memcpy(struct gcb_plot_cases *cases)
{
    double gbps = NAN;
    size_t kept = 0;

    for (size_t i = 0; i < cases->count; i++) {
        if (strcmp(cases->items[i]->method, "memcpy") == 0)
            gbps = cases->items[i]->encode_gbps;
        else
            cases->items[kept++] = cases->items[i];
    }
    cases->count = kept;
    return gbps;
}

struct bar {
    const struct gcb_plot_case *item;
    const char *label;
};

static int faster(const void *a, const void *b)
{
    const double x = ((const struct bar *)a)->item->encode_gbps,
                 y = ((const struct bar *)b)->item->encode_gbps;

    return (x < y) - (x > y);
}

static void put_bars(struct gcb_plot_page *out, const struct bar *bars, size_t count)
{
    static const char *const columns[] = {"row",         "encode", "encode_low",
                                          "encode_high", "decode", "decode_low",
                                          "decode_high", "spec",   NULL};
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;
    char text[GCB_PLOT_LABEL];

    gcb_plot_array_begin(out, "label", count);
    for (size_t i = 0; i < count; i++)
        gcb_plot_array_text(out, gcb_plot_shorten(text, sizeof(text), bars[i].label, 40));
    gcb_plot_array_end(out);
    gcb_plot_block(out, columns);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_case *c = bars[i].item;

        gcb_plot_range_add_positive(&range, c->encode_gbps);
        gcb_plot_range_add_positive(&range, c->decode_gbps);
        gcb_plot_range_add_positive(&range, speed(c, c->encode_low));
        gcb_plot_range_add_positive(&range, speed(c, c->decode_low));
        gcb_plot_cell(out, (double)i + 1);
        gcb_plot_cell(out, c->encode_gbps);
        gcb_plot_cell(out, speed(c, c->encode_high));
        gcb_plot_cell(out, speed(c, c->encode_low));
        gcb_plot_cell(out, c->decode_gbps);
        gcb_plot_cell(out, speed(c, c->decode_high));
        gcb_plot_cell(out, speed(c, c->decode_low));
        gcb_plot_cell_text(out, c->spec);
        gcb_plot_end_row(out);
    }
    gcb_plot_var_range(out, "speed", &range);
}

static int fill_throughput(const struct gcb_plot_data *data, const void *first,
                           struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_set set = {.items = NULL};
    struct gcb_plot_cases cases;
    struct bar bars[MAX_BARS];
    const struct gcb_plot_env *env;
    double copy;
    size_t count;
    int err = gcb_plot_cases_of(&cases, data, &gcb_plot_cases_by_time, first, diag);

    if (err)
        goto out;
    env = gcb_plot_env_of(data, cases.items[0]->env);
    gcb_plot_heading(out, "Throughput", data, cases.items[0], GCB_PLOT_BY_TIME);
    copy = take_memcpy(&cases);
    err = gcb_plot_set_of(&set, &cases, true, diag);
    if (err)
        goto out;
    count = cases.count < MAX_BARS ? cases.count : MAX_BARS;
    for (size_t i = 0; i < count; i++)
        bars[i] = (struct bar){cases.items[i], set.items[i].label};
    qsort(bars, count, sizeof(bars[0]), faster);
    gcb_plot_var_real(out, "rows", (double)count);
    gcb_plot_var_real(out, "rows_left_out", (double)(cases.count - count));
    gcb_plot_var_real(out, "read_gbps", env->read_gbps);
    gcb_plot_var_real(out, "fill_gbps", env->fill_gbps);
    gcb_plot_var_real(out, "memcpy_gbps", copy);
    gcb_plot_var_real(out, "plot_height", 200.0 + 38.0 * (double)count);
    put_bars(out, bars, count);
out:
    gcb_plot_set_fini(&set);
    gcb_plot_cases_fini(&cases);
    return err;
}

/* At least as good in ratio, error and encoding speed, and better in one. */
static bool beats(const struct gcb_plot_case *a, const struct gcb_plot_case *b)
{
    return a->ratio >= b->ratio && a->rel_l2 <= b->rel_l2 && a->encode_gbps >= b->encode_gbps &&
           (a->ratio > b->ratio || a->rel_l2 < b->rel_l2 || a->encode_gbps > b->encode_gbps);
}

/* Whatever beats a case stands in front of it in this order. */
static int better_first(const void *a, const void *b)
{
    const struct gcb_plot_case *x = *(const struct gcb_plot_case *const *)a,
                               *y = *(const struct gcb_plot_case *const *)b;

    if (x->ratio != y->ratio)
        return (x->ratio < y->ratio) - (x->ratio > y->ratio);
    if (x->rel_l2 != y->rel_l2)
        return (x->rel_l2 > y->rel_l2) - (x->rel_l2 < y->rel_l2);
    return (x->encode_gbps < y->encode_gbps) - (x->encode_gbps > y->encode_gbps);
}

/* The cases that none beats, in the order of better_first; `front` has room for all. */
static size_t front_of(const struct gcb_plot_case **front, const struct gcb_plot_cases *cases)
{
    size_t count = 0;

    memcpy(front, cases->items, cases->count * sizeof(*front));
    qsort(front, cases->count, sizeof(*front), better_first);
    for (size_t i = 0; i < cases->count; i++) {
        const struct gcb_plot_case *c = front[i];
        size_t k = 0;

        while (k < count && !beats(front[k], c))
            k++;
        if (k == count)
            front[count++] = c;
    }
    return count;
}

static double is_unbeaten(const struct gcb_plot_case **front, size_t count,
                          const struct gcb_plot_case *c)
{
    for (size_t i = 0; i < count; i++)
        if (front[i] == c)
            return 1.0;
    return 0.0;
}

static void put_points(struct gcb_plot_page *out, const struct gcb_plot_cases *cases,
                       const struct gcb_plot_set *set, const struct gcb_plot_case **front)
{
    static const char *const columns[] = {"ratio", "encode", "decode", "rel_l2",
                                          "front", "series", "spec",   NULL};
    struct gcb_plot_range ratio = GCB_PLOT_RANGE_EMPTY, encode = ratio, error = ratio;
    const size_t unbeaten = front_of(front, cases);

    for (size_t s = 0; s < set->count; s++) {
        gcb_plot_block(out, columns);
        for (size_t i = set->items[s].first; i < set->items[s].first + set->items[s].count; i++) {
            const struct gcb_plot_case *c = cases->items[i];

            gcb_plot_range_add_positive(&ratio, c->ratio);
            gcb_plot_range_add_positive(&encode, c->encode_gbps);
            gcb_plot_range_add(&error, c->rel_l2);
            gcb_plot_cell(out, c->ratio);
            gcb_plot_cell(out, c->encode_gbps);
            gcb_plot_cell(out, c->decode_gbps);
            gcb_plot_cell(out, c->rel_l2);
            gcb_plot_cell(out, is_unbeaten(front, unbeaten, c));
            gcb_plot_cell(out, (double)s + 1);
            gcb_plot_cell_text(out, c->spec);
            gcb_plot_end_row(out);
        }
    }
    gcb_plot_var_range(out, "ratio", &ratio);
    gcb_plot_var_range(out, "speed", &encode);
    gcb_plot_var_range(out, "error", &error);
}

static int fill_pareto(const struct gcb_plot_data *data, const void *first,
                       struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_set set = {.items = NULL};
    const struct gcb_plot_case **front = NULL;
    struct gcb_plot_cases cases;
    int err = gcb_plot_cases_of(&cases, data, &gcb_plot_cases_by_time, first, diag);

    if (err)
        goto out;
    gcb_plot_heading(out, "Ratio, speed and error", data, cases.items[0], GCB_PLOT_BY_TIME);
    (void)take_memcpy(&cases);
    err = gcb_plot_set_of(&set, &cases, false, diag);
    if (err)
        goto out;
    gcb_plot_legend(out, &set);
    front = gcb_alloc_array(cases.count + 1, sizeof(*front));
    if (!front) {
        err = gcb_diag_nomem(diag, 0, "a plot");
        goto out;
    }
    put_points(out, &cases, &set, front);
    gcb_plot_var_real(out, "points", (double)cases.count);
out:
    gcb_free(front);
    gcb_plot_set_fini(&set);
    gcb_plot_cases_fini(&cases);
    return err;
}

const struct gcb_plot gcb_plot_throughput = {
    .name = "throughput",
    .title = "encoding and decoding speed, beside what memory can do",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .split = &gcb_plot_cases_by_time,
    .fill = fill_throughput,
};

const struct gcb_plot gcb_plot_pareto = {
    .name = "pareto",
    .title = "ratio, encoding speed and error at once; what nothing else beats is marked",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .split = &gcb_plot_cases_by_time,
    .fill = fill_pareto,
};
