/* Plots ratio and speed of methods, in a facet for each range of errors. */
#include <math.h>
#include <stdlib.h>

#include "src/lib/base/alloc.h"
#include "src/tool/plot/plot_labels.h"
#include "src/tool/plot/plots.h"

#define MOST_NAMED 200  /* points of a facet that may have names */
#define MOST_METHODS 60 /* the last of them stands for all further methods */

/* Facets hold cases whose error is above the limit before and at most this limit. */
static const double limits[] = {0.03, 0.3, 0.7, INFINITY};
#define FACETS (sizeof(limits) / sizeof(limits[0]))

static size_t facet_of(const struct gcb_plot_record *c)
{
    size_t f = 0;

    while (c->rel_l2 > limits[f])
        f++;
    return f;
}

/* A case in its facet. */
struct point {
    const struct gcb_plot_record *item;
    const char *label;
    bool unbeaten;
    double text_x, text_y; /* centre of the label, in pixels; NAN: it has no room */
};

struct facet {
    struct point *items; /* from small to large ratios */
    size_t count, cap;
};

/* The picture: one facet has one size, and several facets have a smaller one. */
struct picture {
    struct facet facets[FACETS];
    struct gcb_plot_axis ratio, speed;
    struct gcb_plot_set methods;
    size_t shown, unnamed;
};

/* Is `a` at least as good in ratio and encoding speed, and better in one of them? */
static bool beats(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->ratio >= b->ratio && a->encode_gbps >= b->encode_gbps &&
           (a->ratio > b->ratio || a->encode_gbps > b->encode_gbps);
}

static int by_ratio(const void *a, const void *b)
{
    const struct gcb_plot_record *x = ((const struct point *)a)->item,
                                 *y = ((const struct point *)b)->item;

    if (x->ratio != y->ratio)
        return (x->ratio > y->ratio) - (x->ratio < y->ratio);
    return (x->encode_gbps < y->encode_gbps) - (x->encode_gbps > y->encode_gbps);
}

/* Sorts the points and finds those that no other point of the facet beats. */
static void find_front(struct facet *f)
{
    if (f->count)
        qsort(f->items, f->count, sizeof(*f->items), by_ratio);
    for (size_t i = 0; i < f->count; i++) {
        size_t k = 0;

        while (k < f->count && !beats(f->items[k].item, f->items[i].item))
            k++;
        f->items[i].unbeaten = k == f->count;
    }
}

/* Returns the number of a method in the legend; methods->count if it is not there yet. */
static size_t find_method(const struct gcb_plot_set *methods, const char *method)
{
    size_t i = 0;

    while (i < methods->count && methods->items[i].method != method)
        i++;
    return i < MOST_METHODS ? i : MOST_METHODS - 1;
}

static int add_method(struct gcb_plot_set *methods, const char *method)
{
    const bool last = methods->count + 1 == MOST_METHODS;

    if (find_method(methods, method) < methods->count)
        return 0;
    return gcb_plot_set_name(methods, last ? "other methods" : method, method) ? 0 : GCB_E_NOMEM;
}

static int divide(struct picture *p, const struct gcb_plot_set *set)
{
    for (size_t i = 0; i < set->cases.count; i++) {
        const struct gcb_plot_record *c = set->cases.items[i];
        struct facet *f = &p->facets[facet_of(c)];

        if (gcb_grow(&f->items, &f->cap, f->count, sizeof(*f->items)))
            return GCB_E_NOMEM;
        f->items[f->count++] = (struct point){c, set->items[i].label, false, NAN, NAN};
        if (add_method(&p->methods, c->method))
            return GCB_E_NOMEM;
    }
    for (size_t f = 0; f < FACETS; f++) {
        find_front(&p->facets[f]);
        p->shown += p->facets[f].count > 0;
    }
    return 0;
}

static void find_axes(struct picture *p, const struct gcb_plot_cases *cases)
{
    struct gcb_plot_range ratio = GCB_PLOT_RANGE_EMPTY, speed = ratio;

    for (size_t i = 0; i < cases->count; i++) {
        gcb_plot_range_add_positive(&ratio, cases->items[i]->ratio);
        gcb_plot_range_add_positive(&speed, cases->items[i]->encode_gbps);
    }
    p->ratio = gcb_plot_axis_of(&ratio, true, p->shown > 1 ? 470.0 : 760.0);
    p->speed = gcb_plot_axis_of(&speed, true, p->shown > 1 ? 300.0 : 440.0);
}

/* Places the labels of the facet's unbeaten points, or of the others. The latter get a label only where it covers
 * nothing. */
static int place_labels(struct facet *f, struct gcb_plot_scene *scene, const struct picture *p,
                        bool unbeaten)
{
    int err = 0;

    for (size_t i = 0; !err && i < f->count && scene->count < f->count + MOST_NAMED; i++) {
        struct point *at = &f->items[i];
        const double x = gcb_plot_pixel_of(&p->ratio, at->item->ratio),
                     y = gcb_plot_pixel_of(&p->speed, at->item->encode_gbps);
        struct gcb_plot_text text = {.x = &x,
                                     .y = &y,
                                     .points = 1,
                                     .width = gcb_plot_text_width(at->label),
                                     .height = GCB_PLOT_TEXT_HEIGHT};

        if (at->unbeaten != unbeaten)
            continue;
        gcb_plot_scene_place(&text, scene);
        if (text.covered > 0.02 * text.width * text.height)
            continue;
        at->text_x = text.text_x;
        at->text_y = text.text_y;
        err = gcb_plot_scene_add_text(scene, &text);
    }
    return err;
}

static int name_points(struct picture *p)
{
    int err = 0;

    for (size_t f = 0; !err && f < FACETS; f++) {
        struct gcb_plot_scene scene = {.width = p->ratio.pixels, .height = p->speed.pixels};
        struct facet *facet = &p->facets[f];

        for (size_t i = 0; !err && i < facet->count; i++)
            err = gcb_plot_scene_add(
                &scene, gcb_plot_pixel_of(&p->ratio, facet->items[i].item->ratio),
                gcb_plot_pixel_of(&p->speed, facet->items[i].item->encode_gbps), 6.0);
        if (!err)
            err = place_labels(facet, &scene, p, true);
        if (!err)
            err = place_labels(facet, &scene, p, false);
        gcb_plot_scene_fini(&scene);
        for (size_t i = 0; i < facet->count; i++)
            p->unnamed += isnan(facet->items[i].text_x);
    }
    return err;
}

/* Writes which methods have points without a label: only these need a legend. */
static void put_unnamed(struct gcb_plot_page *out, const struct picture *p)
{
    bool unnamed[MOST_METHODS] = {false};
    size_t count = 0;

    for (size_t f = 0; f < FACETS; f++)
        for (size_t i = 0; i < p->facets[f].count; i++)
            if (isnan(p->facets[f].items[i].text_x))
                unnamed[find_method(&p->methods, p->facets[f].items[i].item->method)] = true;
    for (size_t m = 0; m < MOST_METHODS; m++)
        count += unnamed[m];
    gcb_plot_var_real(out, "unnamed_series", (double)count);
    gcb_plot_array_begin(out, "unnamed_of", count);
    for (size_t m = 0; m < MOST_METHODS; m++)
        if (unnamed[m])
            gcb_plot_array_real(out, (double)m + 1.0);
}

static void put_facet(struct gcb_plot_page *out, const struct picture *p, const struct facet *f)
{
    GCB_PLOT_BLOCK(out, "label", GCB_PLOT_FIELD(RATIO), "encode", "decode", GCB_PLOT_FIELD(REL_L2),
                   "front", "series", "label_ratio", "label_encode", GCB_PLOT_FIELD(SPEC));
    for (size_t i = 0; i < f->count; i++) {
        const struct point *at = &f->items[i];
        const struct gcb_plot_record *c = at->item;

        gcb_plot_cell_text(out, at->label);
        GCB_PLOT_ROW(out, c->spec, c->ratio, c->encode_gbps, c->decode_gbps, c->rel_l2,
                     at->unbeaten, (double)find_method(&p->methods, c->method) + 1,
                     gcb_plot_value_of(&p->ratio, at->text_x),
                     gcb_plot_value_of(&p->speed, at->text_y));
    }
}

static void put_front(struct gcb_plot_page *out, const struct facet *f)
{
    GCB_PLOT_BLOCK(out, GCB_PLOT_FIELD(RATIO), "encode");
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i].unbeaten && (i == 0 || by_ratio(&f->items[i - 1], &f->items[i]) != 0))
            GCB_PLOT_ROW(out, NULL, f->items[i].item->ratio, f->items[i].item->encode_gbps);
}

static void put_facets(struct gcb_plot_page *out, const struct picture *p)
{
    char text[64];

    gcb_plot_array_begin(out, "facet", p->shown);
    for (size_t f = 0; f < FACETS; f++) {
        if (p->facets[f].count == 0)
            continue;
        if (f == 0)
            snprintf(text, sizeof(text), "error up to %g", limits[0]);
        else if (f + 1 == FACETS)
            snprintf(text, sizeof(text), "error above %g", limits[f - 1]);
        else
            snprintf(text, sizeof(text), "error %g to %g", limits[f - 1], limits[f]);
        gcb_plot_array_text(out, text, 60);
    }
    for (size_t f = 0; f < FACETS; f++)
        if (p->facets[f].count)
            put_facet(out, p, &p->facets[f]);
    for (size_t f = 0; f < FACETS; f++)
        if (p->facets[f].count)
            put_front(out, &p->facets[f]);
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct picture p = {.shown = 0};
    double legend, columns;
    int err = divide(&p, &out->set);

    if (err)
        goto out;
    gcb_plot_heading(out, "Ratio and speed at similar errors", data, first, GCB_PLOT_BY_TIME);
    find_axes(&p, &out->set.cases);
    err = name_points(&p);
    if (err)
        goto out;
    legend = gcb_plot_legend(out, &p.methods);
    columns = p.shown > 1 ? 2.0 : 1.0;
    gcb_plot_var_axis(out, "ratio", &p.ratio);
    gcb_plot_var_axis(out, "speed", &p.speed);
    gcb_plot_var_real(out, "facets", (double)p.shown);
    gcb_plot_var_real(out, "unnamed", (double)p.unnamed);
    put_unnamed(out, &p);
    gcb_plot_var_real(out, "facet_width", p.ratio.pixels);
    gcb_plot_var_real(out, "facet_height", p.speed.pixels);
    gcb_plot_var_real(out, "plot_width",
                      70.0 + (p.ratio.pixels + 45.0) * columns +
                          (p.unnamed ? fmax(legend, 150.0) : 0.0));
    gcb_plot_var_real(out, "plot_height",
                      140.0 + (p.speed.pixels + 55.0) * ceil((double)p.shown / columns));
    put_facets(out, &p);
out:
    for (size_t f = 0; f < FACETS; f++)
        gcb_free(p.facets[f].items);
    gcb_plot_set_fini(&p.methods);
    return err ? gcb_diag_nomem(diag, 0, "a plot") : 0;
}

const struct gcb_plot gcb_plot_pareto = {
    .name = "pareto",
    .title = "ratio and encoding speed, in a facet for each range of errors; a line joins methods "
             "that no other beats",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .split = &gcb_plot_cases_by_both,
    .series = GCB_PLOT_APART,
    .fill = fill,
};
