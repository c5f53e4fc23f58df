/* Plots the error of methods against the size of their messages. */
#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/plot/plot_labels.h"
#include "src/tool/plot/plots.h"

#define WIDTH 790.0
#define HEIGHT 430.0
#define STRIP 34.0 /* width of a strip at an end of the axis of errors, in pixels */
#define LARGE 2.0  /* an error above this is more than twice the gradient */
#define FAR_BASELINE \
    30.0 /* a baseline's error below all others by this factor is not on the axis */

/* The axis of errors, which is logarithmic. Errors outside of `inner`, such as 0, are in a strip at an end of the axis,
 * and no line leads there. */
struct errors {
    struct gcb_plot_axis axis;
    struct gcb_plot_range inner;
    double below, above; /* positions of the strips on the axis; NAN if they are empty */
};

static void find_inner(struct gcb_plot_range *out, const struct gcb_plot_cases *cases)
{
    const struct gcb_plot_range none = GCB_PLOT_RANGE_EMPTY;
    double low;

    *out = none;
    for (int pass = 0; pass < 2 && out->low > out->high; pass++)
        for (size_t i = 0; i < cases->count; i++)
            if (pass ||
                (!gcb_plot_baseline(cases->items[i]->method) && cases->items[i]->rel_l2 <= LARGE))
                gcb_plot_range_add_positive(out, cases->items[i]->rel_l2);
    low = out->low;
    for (size_t i = 0; i < cases->count; i++)
        if (cases->items[i]->rel_l2 >= low / FAR_BASELINE && cases->items[i]->rel_l2 <= LARGE)
            gcb_plot_range_add_positive(out, cases->items[i]->rel_l2);
}

static struct errors find_errors(const struct gcb_plot_cases *cases, double pixels)
{
    struct errors e = {.below = NAN, .above = NAN};
    struct gcb_plot_axis inner;
    bool below = false, above = false;

    find_inner(&e.inner, cases);
    for (size_t i = 0; i < cases->count; i++) {
        below |= cases->items[i]->rel_l2 < e.inner.low;
        above |= cases->items[i]->rel_l2 > e.inner.high;
    }
    inner = gcb_plot_axis_of(&e.inner, true, pixels - STRIP * (below + above));
    e.inner = (struct gcb_plot_range){inner.low, inner.high};
    if (below)
        e.below = gcb_plot_value_of(&inner, -STRIP / 2.0);
    if (above)
        e.above = gcb_plot_value_of(&inner, inner.pixels + STRIP / 2.0);
    e.axis = (struct gcb_plot_axis){gcb_plot_value_of(&inner, below ? -STRIP : 0.0),
                                    gcb_plot_value_of(&inner, inner.pixels + (above ? STRIP : 0)),
                                    pixels, true};
    return e;
}

static bool is_inside(const struct errors *e, double error)
{
    return error >= e->inner.low && error <= e->inner.high;
}

static double place_of(const struct errors *e, double error)
{
    return is_inside(e, error) ? error : error < e->inner.low ? e->below : e->above;
}

static void put_errors(struct gcb_plot_page *out, const struct errors *e)
{
    /* no tics at the ends where the tics of strips are */
    const struct gcb_plot_range tics = {e->inner.low * (isnan(e->below) ? 1.0 : 1.2),
                                        e->inner.high / (isnan(e->above) ? 1.0 : 1.2)};

    gcb_plot_var_range(out, "error", &tics);
    gcb_plot_var_real(out, "strip_low", e->inner.low);
    gcb_plot_var_real(out, "strip_high", e->inner.high);
    gcb_plot_var_real(out, "error_below", e->below);
    gcb_plot_var_real(out, "error_above", e->above);
}

/* A picture: what its axes show. */
enum kind { RATE_DISTORTION, RATE_COSINE, RATIO_ERROR };

struct picture {
    struct errors errors;
    struct gcb_plot_axis x, y;
    struct gcb_plot_spots spots;
};

static double x_of(enum kind kind, const struct picture *p, const struct gcb_plot_record *c)
{
    return kind == RATIO_ERROR ? place_of(&p->errors, c->rel_l2) : c->bits;
}

static double y_of(enum kind kind, const struct picture *p, const struct gcb_plot_record *c)
{
    return kind == RATE_COSINE   ? c->cosine
           : kind == RATIO_ERROR ? c->ratio
                                 : place_of(&p->errors, c->rel_l2);
}

static void put_axes(struct gcb_plot_page *out, enum kind kind, struct picture *p)
{
    const struct gcb_plot_cases *cases = &out->set.cases;
    struct gcb_plot_range bits = GCB_PLOT_RANGE_EMPTY, ratio = bits, cosine = bits;

    for (size_t i = 0; i < cases->count; i++) {
        gcb_plot_range_add_positive(&bits, cases->items[i]->bits);
        gcb_plot_range_add_positive(&ratio, cases->items[i]->ratio);
        gcb_plot_range_add(&cosine, cases->items[i]->cosine);
    }
    p->errors = find_errors(cases, kind == RATIO_ERROR ? WIDTH : HEIGHT);
    p->x = kind == RATIO_ERROR ? p->errors.axis : gcb_plot_axis_of(&bits, true, WIDTH);
    p->y = kind == RATE_DISTORTION ? p->errors.axis
           : kind == RATE_COSINE   ? gcb_plot_axis_of(&cosine, false, HEIGHT)
                                   : gcb_plot_axis_of(&ratio, true, HEIGHT);
    gcb_plot_var_axis(out, "x", &p->x);
    gcb_plot_var_axis(out, "y", &p->y);
    put_errors(out, &p->errors);
}

/* Adds the error to the labels of series that have one point if this point is in a strip, for example "fp16 2.1e-04".
 */
static void name_strips(struct gcb_plot_set *set, const struct errors *e)
{
    for (size_t s = 0; s < set->count; s++) {
        const double error = set->cases.items[set->items[s].first]->rel_l2;

        if (set->items[s].count > 1 || is_inside(e, error))
            continue;
        if (error == 0.0)
            gcb_append(set->items[s].label, GCB_PLOT_LABEL, ", exact");
        else
            gcb_append(set->items[s].label, GCB_PLOT_LABEL, ", error %.2g", error);
        set->items[s].name_length = strlen(set->items[s].label);
    }
}

static void put_series(struct gcb_plot_page *out, enum kind kind, const struct picture *p,
                       const struct gcb_plot_series *s)
{
    GCB_PLOT_BLOCK(out, "bits", GCB_PLOT_FIELD(RATIO), GCB_PLOT_FIELD(REL_L2),
                   GCB_PLOT_FIELD(COSINE), GCB_PLOT_FIELD(WIRE_BYTES), "x", "y", "line_x",
                   GCB_PLOT_FIELD(SPEC));
    for (size_t i = 0; i < s->count; i++) {
        const struct gcb_plot_record *c = out->set.cases.items[s->first + i];
        const bool joined = kind == RATE_COSINE || is_inside(&p->errors, c->rel_l2);
        const double x = x_of(kind, p, c);

        GCB_PLOT_ROW(out, c->spec, c->bits, c->ratio, c->rel_l2, c->cosine, c->wire_bytes, x,
                     y_of(kind, p, c), joined ? x : NAN);
    }
}

static int fill(enum kind kind, const struct gcb_plot_data *data,
                const struct gcb_plot_record *first, struct gcb_plot_page *out,
                struct gcb_diag *diag)
{
    const struct gcb_plot_cases *cases = &out->set.cases;
    struct picture p;
    int err;

    gcb_plot_heading(out, out->heading, data, first, GCB_PLOT_BY_ERROR);
    put_axes(out, kind, &p);
    if (kind != RATE_COSINE)
        name_strips(&out->set, &p.errors);
    err = gcb_plot_spots_init(&p.spots, cases->count, diag);
    if (err)
        return err;
    for (size_t i = 0; i < cases->count; i++) {
        const struct gcb_plot_record *c = cases->items[i];

        p.spots.items[i] = (struct gcb_plot_spot){
            .x = gcb_plot_pixel_of(&p.x, x_of(kind, &p, c)),
            .y = gcb_plot_pixel_of(&p.y, y_of(kind, &p, c)),
            .joined = kind == RATE_COSINE || is_inside(&p.errors, c->rel_l2),
        };
    }
    err = gcb_plot_label_series(out, &p.spots, &p.x, &p.y, diag);
    for (size_t s = 0; !err && s < out->set.count; s++)
        put_series(out, kind, &p, &out->set.items[s]);
    gcb_plot_spots_fini(&p.spots);
    return err;
}

static int fill_distortion(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                           struct gcb_plot_page *out, struct gcb_diag *diag)
{
    return fill(RATE_DISTORTION, data, first, out, diag);
}

static int fill_cosine(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                       struct gcb_plot_page *out, struct gcb_diag *diag)
{
    return fill(RATE_COSINE, data, first, out, diag);
}

static int fill_ratio(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                      struct gcb_plot_page *out, struct gcb_diag *diag)
{
    return fill(RATIO_ERROR, data, first, out, diag);
}

const struct gcb_plot gcb_plot_rate_distortion = {
    .name = "rate-distortion",
    .title = "relative L2 error against bits per element",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .heading = "Rate-distortion",
    .split = &gcb_plot_cases_by_error,
    .series = GCB_PLOT_CURVES,
    .fill = fill_distortion,
};

const struct gcb_plot gcb_plot_rate_cosine = {
    .name = "rate-cosine",
    .title = "cosine against bits per element",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .heading = "Cosine against rate",
    .split = &gcb_plot_cases_by_error,
    .series = GCB_PLOT_CURVES,
    .fill = fill_cosine,
};

const struct gcb_plot gcb_plot_ratio_error = {
    .name = "ratio-error",
    .title = "compression ratio against relative L2 error",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .heading = "Compression ratio against error",
    .split = &gcb_plot_cases_by_error,
    .series = GCB_PLOT_CURVES,
    .fill = fill_ratio,
};
