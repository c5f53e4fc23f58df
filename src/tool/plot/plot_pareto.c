/* Plots ratio, speed and error of methods in one picture. */
#include <math.h>

#include "src/lib/base/alloc.h"
#include "src/tool/plot/plots.h"

#define MAX_NUMBERED 150 /* most points of a page if each point gets a number */
#define PICTURE_WIDTH 560.0
#define PICTURE_HEIGHT 400.0

/* Is `a` at least as good in ratio, error and encoding speed, and better in one of them? */
static bool beats(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->ratio >= b->ratio && a->rel_l2 <= b->rel_l2 && a->encode_gbps >= b->encode_gbps &&
           (a->ratio > b->ratio || a->rel_l2 < b->rel_l2 || a->encode_gbps > b->encode_gbps);
}

static bool is_unbeaten(const struct gcb_plot_cases *cases, const struct gcb_plot_record *c)
{
    size_t i = 0;

    while (i < cases->count && !beats(cases->items[i], c))
        i++;
    return i == cases->count;
}

/* A logarithmic axis: its ends, which leave some room beside the values, and its length in pixels. */
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

/* A picture of ratio and speed. Spot i belongs to case i. */
struct scatter {
    const struct gcb_plot_set *set;
    struct gcb_plot_spot *spots;
    struct axis ratio, speed;
};

static void find_axes(struct gcb_plot_page *out, struct scatter *p)
{
    struct gcb_plot_range ratio = GCB_PLOT_RANGE_EMPTY, speed = ratio, error = ratio;

    for (size_t i = 0; i < p->set->cases.count; i++) {
        gcb_plot_range_add_positive(&ratio, p->set->cases.items[i]->ratio);
        gcb_plot_range_add_positive(&speed, p->set->cases.items[i]->encode_gbps);
        gcb_plot_range_add(&error, p->set->cases.items[i]->rel_l2);
    }
    p->ratio = axis_of(&ratio, PICTURE_WIDTH);
    p->speed = axis_of(&speed, PICTURE_HEIGHT);
    put_axis(out, "ratio_axis", &p->ratio);
    put_axis(out, "speed_axis", &p->speed);
    gcb_plot_var_range(out, "error", &error);
}

/* Places the number of the series beside each point. If there are more than MAX_NUMBERED points, only the first point
 * of a series gets a number. */
static void place_numbers(struct scatter *p)
{
    const struct gcb_plot_cases *cases = &p->set->cases;

    for (size_t s = 0; s < p->set->count; s++) {
        const size_t first = p->set->items[s].first, end = first + p->set->items[s].count;

        for (size_t i = first; i < end; i++) {
            const struct gcb_plot_record *c = cases->items[i];
            const bool numbered = cases->count <= MAX_NUMBERED || i == first;

            p->spots[i] = (struct gcb_plot_spot){
                .x = pixel_of(&p->ratio, c->ratio),
                .y = pixel_of(&p->speed, c->encode_gbps),
                .radius = is_unbeaten(cases, c) ? 10.0 : 6.0,
                .width = !numbered     ? 0.0
                         : s + 1 < 10  ? 8.0
                         : s + 1 < 100 ? 15.0
                                       : 22.0,
                .height = 11.0,
            };
        }
    }
    gcb_plot_place_texts(p->spots, cases->count, p->ratio.pixels, p->speed.pixels);
}

static void put_points(struct gcb_plot_page *out, const struct scatter *p)
{
    const struct gcb_plot_cases *cases = &p->set->cases;

    for (size_t s = 0; s < p->set->count; s++) {
        const size_t first = p->set->items[s].first, end = first + p->set->items[s].count;

        GCB_PLOT_BLOCK(out, GCB_PLOT_FIELD(RATIO), "encode", "decode", GCB_PLOT_FIELD(REL_L2),
                       "front", "series", "label_ratio", "label_encode", GCB_PLOT_FIELD(SPEC));
        for (size_t i = first; i < end; i++) {
            const struct gcb_plot_record *c = cases->items[i];
            const struct gcb_plot_spot *spot = &p->spots[i];

            GCB_PLOT_ROW(out, c->spec, c->ratio, c->encode_gbps, c->decode_gbps, c->rel_l2,
                         is_unbeaten(cases, c), (double)s + 1,
                         spot->width > 0.0 ? value_of(&p->ratio, spot->text_x) : NAN,
                         spot->width > 0.0 ? value_of(&p->speed, spot->text_y) : NAN);
        }
    }
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    const struct gcb_plot_set *set = &out->set;
    struct scatter p = {.set = set};
    double legend;

    p.spots = gcb_alloc_zero(set->cases.count, sizeof(*p.spots));
    if (!p.spots)
        return gcb_diag_nomem(diag, 0, "a plot");
    gcb_plot_heading(out, "Ratio, speed and error", data, first, GCB_PLOT_BY_TIME);
    legend = gcb_plot_legend(out, set);
    find_axes(out, &p);
    place_numbers(&p);
    put_points(out, &p);
    gcb_plot_var_real(out, "picture_width", PICTURE_WIDTH);
    gcb_plot_var_real(out, "picture_height", PICTURE_HEIGHT);
    gcb_plot_var_real(out, "plot_width", 80.0 + PICTURE_WIDTH + 30.0 + fmax(legend, 200.0));
    gcb_plot_var_real(out, "plot_height",
                      fmax(88.0 + PICTURE_HEIGHT + 150.0, 120.0 + 21.0 * (double)(set->count + 1)));
    gcb_free(p.spots);
    return 0;
}

const struct gcb_plot gcb_plot_pareto = {
    .name = "pareto",
    .title = "ratio, encoding speed and error in one picture; unbeaten methods are marked",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .split = &gcb_plot_cases_by_both,
    .series = GCB_PLOT_CURVES,
    .fill = fill,
};
