/* Ratio, speed and error at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/plot/plots.h"

#define MAX_NUMBERED 150 /* points */
#define PICTURE_WIDTH 560.0
#define PICTURE_HEIGHT 400.0

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

/* A logarithmic axis with room around its ends, and how many pixels it is long. */
struct axis {
    double low, high, pixels;
};

static struct axis axis_of(const struct gcb_plot_range *range, double pixels)
{
    const bool empty = range->low > range->high;
    const double low = empty ? 1.0 : range->low, high = empty ? 1.0 : range->high,
                 room = 1.08 * pow(high / low, 0.07);

    return (struct axis){low / room, high * room, pixels};
}

static double pixel_of(const struct axis *a, double value)
{
    return a->pixels * log(value / a->low) / log(a->high / a->low);
}

static double value_of(const struct axis *a, double pixel)
{
    return a->low * pow(a->high / a->low, pixel / a->pixels);
}

static void put_axis(struct gcb_plot_page *out, const char *name, const struct axis *a)
{
    const struct gcb_plot_range range = {a->low, a->high};

    gcb_plot_var_range(out, name, &range);
}

/* What a picture of ratio and speed is made of; arrays are of the cases. */
struct scatter {
    const struct gcb_plot_cases *cases;
    const struct gcb_plot_set *set;
    const struct gcb_plot_case **front;
    struct gcb_plot_spot *spots;
    size_t unbeaten;
    struct axis ratio, speed;
};

/* Points with their numbers; of very many only the first of a series has its number. */
static void place_numbers(struct scatter *p)
{
    const struct gcb_plot_set *set = p->set;

    for (size_t s = 0; s < set->count; s++)
        for (size_t i = set->items[s].first; i < set->items[s].first + set->items[s].count; i++) {
            const struct gcb_plot_case *c = p->cases->items[i];
            const bool numbered = p->cases->count <= MAX_NUMBERED || i == set->items[s].first;

            p->spots[i] = (struct gcb_plot_spot){
                .x = pixel_of(&p->ratio, c->ratio),
                .y = pixel_of(&p->speed, c->encode_gbps),
                .radius = is_unbeaten(p->front, p->unbeaten, c) > 0.0 ? 10.0 : 6.0,
                .width = !numbered     ? 0.0
                         : s + 1 < 10  ? 8.0
                         : s + 1 < 100 ? 15.0
                                       : 22.0,
                .height = 11.0,
            };
        }
    gcb_plot_place_texts(p->spots, p->cases->count, p->ratio.pixels, p->speed.pixels);
}

static void put_point(struct gcb_plot_page *out, const struct scatter *p, size_t i, size_t series)
{
    const struct gcb_plot_case *c = p->cases->items[i];
    const struct gcb_plot_spot *spot = &p->spots[i];

    gcb_plot_cell(out, c->ratio);
    gcb_plot_cell(out, c->encode_gbps);
    gcb_plot_cell(out, c->decode_gbps);
    gcb_plot_cell(out, c->rel_l2);
    gcb_plot_cell(out, is_unbeaten(p->front, p->unbeaten, c));
    gcb_plot_cell(out, (double)series + 1);
    gcb_plot_cell(out, spot->width > 0.0 ? value_of(&p->ratio, spot->text_x) : NAN);
    gcb_plot_cell(out, spot->width > 0.0 ? value_of(&p->speed, spot->text_y) : NAN);
    gcb_plot_cell_text(out, c->spec);
    gcb_plot_end_row(out);
}

static void put_points(struct gcb_plot_page *out, struct scatter *p)
{
    static const char *const columns[] = {"ratio", "encode", "decode",      "rel_l2",
                                          "front", "series", "label_ratio", "label_encode",
                                          "spec",  NULL};
    struct gcb_plot_range ratio = GCB_PLOT_RANGE_EMPTY, speeds = ratio, error = ratio;

    for (size_t i = 0; i < p->cases->count; i++) {
        gcb_plot_range_add_positive(&ratio, p->cases->items[i]->ratio);
        gcb_plot_range_add_positive(&speeds, p->cases->items[i]->encode_gbps);
        gcb_plot_range_add(&error, p->cases->items[i]->rel_l2);
    }
    p->ratio = axis_of(&ratio, PICTURE_WIDTH);
    p->speed = axis_of(&speeds, PICTURE_HEIGHT);
    p->unbeaten = front_of(p->front, p->cases);
    place_numbers(p);
    for (size_t s = 0; s < p->set->count; s++) {
        const struct gcb_plot_series *series = &p->set->items[s];

        gcb_plot_block(out, columns);
        for (size_t i = series->first; i < series->first + series->count; i++)
            put_point(out, p, i, s);
    }
    put_axis(out, "ratio_axis", &p->ratio);
    put_axis(out, "speed_axis", &p->speed);
    gcb_plot_var_range(out, "error", &error);
}

/* Drops what has no place in the picture: numbers of a hostile file may be anything, and gnuplot does not survive all. */
static void drop_placeless(struct gcb_plot_cases *cases)
{
    size_t kept = 0;

    for (size_t i = 0; i < cases->count; i++) {
        const struct gcb_plot_case *c = cases->items[i];

        if (c->ratio > 1e-30 && c->ratio < 1e30 && c->rel_l2 >= 0.0 && c->rel_l2 < 1e30)
            cases->items[kept++] = c;
    }
    cases->count = kept;
}

static int fill_pareto(const struct gcb_plot_data *data, const void *first,
                       struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_set set = {.items = NULL};
    struct gcb_plot_cases cases;
    struct scatter p = {.cases = &cases, .set = &set};
    int err = gcb_plot_cases_of(&cases, data, &gcb_plot_cases_by_time, first, diag);
    double legend;

    if (err)
        goto out;
    gcb_plot_heading(out, "Ratio, speed and error", data, cases.items[0], GCB_PLOT_BY_TIME);
    (void)gcb_plot_cases_take_memcpy(&cases);
    drop_placeless(&cases);
    err = gcb_plot_set_of(&set, &cases, false, diag);
    if (err)
        goto out;
    legend = gcb_plot_legend(out, &set);
    p.front = gcb_alloc_array(cases.count + 1, sizeof(*p.front));
    p.spots = gcb_alloc_zero(cases.count + 1, sizeof(*p.spots));
    if (!p.front || !p.spots) {
        err = gcb_diag_nomem(diag, 0, "a plot");
        goto out;
    }
    put_points(out, &p);
    gcb_plot_var_real(out, "picture_width", PICTURE_WIDTH);
    gcb_plot_var_real(out, "picture_height", PICTURE_HEIGHT);
    gcb_plot_var_real(out, "plot_width", 80.0 + PICTURE_WIDTH + 30.0 + fmax(legend, 200.0));
    gcb_plot_var_real(out, "plot_height",
                      fmax(88.0 + PICTURE_HEIGHT + 150.0, 120.0 + 21.0 * (double)(set.count + 1)));
out:
    gcb_free(p.spots);
    gcb_free(p.front);
    gcb_plot_set_fini(&set);
    gcb_plot_cases_fini(&cases);
    return err;
}

const struct gcb_plot gcb_plot_pareto = {
    .name = "pareto",
    .title = "ratio, encoding speed and error at once; what nothing else beats is marked",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .split = &gcb_plot_cases_by_time,
    .fill = fill_pareto,
};
