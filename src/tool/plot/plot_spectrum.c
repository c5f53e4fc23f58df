/* Plots the Fourier transform of a tensor before and after compression, and the share of energy in the largest bins. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/tool/base/columns.h"
#include "src/tool/plot/plots.h"

#define MAX_SHOWN 5

static bool is_of_input(const struct gcb_plot_record *b)
{
    return !*b->of || strcmp(b->of, "input") == 0;
}

static bool by_frequency(const struct gcb_plot_record *b)
{
    return strcmp(b->by, "frequency") == 0;
}

static bool is_wanted(const struct gcb_plot_record *row)
{
    return is_of_input(row) && by_frequency(row);
}

static const struct gcb_plot_split split = {GCB_RECORD_SPECTRUM, is_wanted, gcb_plot_same_env,
                                            NULL};

/* Returns the tensor with most bins. The rows of a tensor follow each other. */
static const char *largest_tensor(const struct gcb_plot_data *data,
                                  const struct gcb_plot_record *first)
{
    const struct gcb_plot_record *b = NULL;
    const char *at = NULL, *largest = gcb_plot_no_text;
    double bins = 0.0, most = -1.0;

    while ((b = gcb_plot_split_next(&split, data, first, b)) != NULL) {
        bins = b->tensor == at ? bins + b->bins : b->bins;
        at = b->tensor;
        if (bins > most) {
            most = bins;
            largest = at;
        }
    }
    return largest;
}

/* Returns over how many datasets (steps and workers) the energy of a tensor was summed. The number comes from its
 * `tensor` row, or else from counting its `result` rows of one spec; NAN if there are neither. */
static double datasets_of(const struct gcb_plot_data *data, size_t env, const char *tensor)
{
    const struct gcb_plot_record *tensors = data->kinds[GCB_RECORD_TENSOR].items;
    const struct gcb_plot_record *results = data->kinds[GCB_RECORD_RESULT].items;
    const char *spec = NULL;
    double n = 0.0;

    for (size_t i = 0; i < data->kinds[GCB_RECORD_TENSOR].count; i++)
        if (tensors[i].env == env && tensors[i].tensor == tensor)
            return tensors[i].datasets;
    for (size_t i = 0; i < data->kinds[GCB_RECORD_RESULT].count; i++)
        if (results[i].env == env && results[i].tensor == tensor &&
            (!spec || spec == results[i].spec)) {
            spec = results[i].spec;
            n += 1.0;
        }
    return n > 0.0 ? n : NAN;
}

struct page {
    const struct gcb_plot_data *data;
    size_t env;
    const char *tensor;
    double datasets;
};

/*
 * Returns the page's next `spectrum` row after `at`, or the first if `at` is NULL, that has this spec;
 * gcb_plot_no_text stands for the input. `frequency` chooses rows by frequency, otherwise rows of the energy curve.
 * NULL after the last row.
 */
static const struct gcb_plot_record *next_row(const struct page *p, const char *spec,
                                              bool frequency, const struct gcb_plot_record *at)
{
    const struct gcb_plot_records *rows = &p->data->kinds[GCB_RECORD_SPECTRUM];

    for (at = at ? at + 1 : rows->items; at < rows->items + rows->count; at++)
        if (at->env == p->env && at->tensor == p->tensor && at->spec == spec &&
            (*spec || is_of_input(at)) && by_frequency(at) == frequency)
            return at;
    return NULL;
}

static void put_bands(struct gcb_plot_page *out, const struct page *p, const char *spec,
                      struct gcb_plot_range *range)
{
    const struct gcb_plot_record *b = NULL;

    GCB_PLOT_BLOCK(out, "frequency", "rms", "largest", GCB_PLOT_FIELD(ENERGY_SHARE));
    while ((b = next_row(p, spec, true, b)) != NULL) {
        /* the energy counts each bin and its mirror image, hence the 2 */
        const double rms = sqrt(b->energy / (2.0 * b->bins * p->datasets));

        gcb_plot_range_add_positive(range, *spec ? NAN : rms);
        gcb_plot_range_add_positive(range, *spec ? NAN : b->max_magnitude);
        GCB_PLOT_ROW(out, NULL, (b->low + b->high) / 2.0, rms, b->max_magnitude, b->energy_share);
    }
}

/* Returns the share of elements that a method kept: the mean over the `result` rows of this tensor. Without such rows,
 * returns the share in the method's `summary` row. */
static double density_of(const struct page *p, const char *spec)
{
    const struct gcb_plot_record *r = p->data->kinds[GCB_RECORD_RESULT].items,
                                 *s = p->data->kinds[GCB_RECORD_SUMMARY].items;
    double sum = 0.0, n = 0.0;

    for (size_t i = 0; i < p->data->kinds[GCB_RECORD_RESULT].count; i++)
        if (r[i].env == p->env && r[i].tensor == p->tensor && r[i].spec == spec &&
            isfinite(r[i].density)) {
            sum += r[i].density;
            n += 1.0;
        }
    for (size_t i = 0; n == 0.0 && i < p->data->kinds[GCB_RECORD_SUMMARY].count; i++)
        if (s[i].env == p->env && s[i].spec == spec)
            return s[i].density;
    return sum / n;
}

/* If the largest bins are kept and `density` is their share of all bins: finds their share of the energy, and the
 * magnitude of the smallest kept bin. */
static void read_curve(double *energy, double *threshold, const struct page *p, double density)
{
    const struct gcb_plot_record *b = NULL;
    double d = 0.0, e = 0.0;

    *energy = *threshold = NAN;
    while ((b = next_row(p, gcb_plot_no_text, false, b)) != NULL && !(b->density >= density)) {
        d = b->density;
        e = b->energy_share;
    }
    if (!b)
        return;
    *energy = b->density > d ? e + (b->energy_share - e) * (density - d) / (b->density - d)
                             : b->energy_share;
    *threshold = b->threshold;
}

static void put_curve(struct gcb_plot_page *out, const struct page *p)
{
    const struct gcb_plot_record *b = NULL;

    GCB_PLOT_BLOCK(out, GCB_PLOT_FIELD(DENSITY), GCB_PLOT_FIELD(ENERGY_SHARE),
                   GCB_PLOT_FIELD(THRESHOLD));
    while ((b = next_row(p, gcb_plot_no_text, false, b)) != NULL)
        GCB_PLOT_ROW(out, NULL, b->density, b->energy_share, b->threshold);
}

/* The magnitude (threshold) below which a method drops bins, and the share of energy in the bins that it keeps. */
struct cut {
    double series, density, energy, threshold;
};

/* Does the method keep bins of the Fourier transform of a whole message? Only these bins are comparable with the
 * picture. */
static bool keeps_bins(const char *spec)
{
    char text[32];

    return strcmp(gcb_plot_spec_text(text, spec, "transform"), "fft") == 0 &&
           gcb_plot_spec_real(spec, "chunk") == 0.0;
}

static void put_list(struct gcb_plot_page *out, const char *name, const struct cut *cuts,
                     size_t count, size_t offset)
{
    gcb_plot_array_begin(out, name, count);
    for (size_t i = 0; i < count; i++)
        gcb_plot_array_real(out, *(const double *)((const char *)&cuts[i] + offset));
}

static void put_cuts(struct gcb_plot_page *out, const struct page *p,
                     const struct gcb_plot_cases *cases)
{
    struct cut cuts[MAX_SHOWN];
    size_t n = 0;

    for (size_t i = 0; i < cases->count && n < MAX_SHOWN; i++) {
        struct cut *c = &cuts[n];

        if (!keeps_bins(cases->items[i]->spec))
            continue;
        c->series = (double)i + 1;
        c->density = density_of(p, cases->items[i]->spec);
        read_curve(&c->energy, &c->threshold, p, c->density);
        n += isfinite(c->threshold);
    }
    gcb_plot_var_real(out, "cuts", (double)n);
    put_list(out, "cut_series", cuts, n, offsetof(struct cut, series));
    put_list(out, "cut_density", cuts, n, offsetof(struct cut, density));
    put_list(out, "cut_energy", cuts, n, offsetof(struct cut, energy));
    put_list(out, "cut_threshold", cuts, n, offsetof(struct cut, threshold));
}

static bool transforms(const char *spec)
{
    char text[32];

    gcb_plot_spec_text(text, spec, "transform");
    return *text && strcmp(text, "none") != 0;
}

/* Chooses at most MAX_SHOWN curves, because more curves cannot be told apart: the methods that transform, or the first
 * methods if none transforms. The data file has all curves. */
static void put_shown(struct gcb_plot_page *out, const struct gcb_plot_cases *cases)
{
    size_t shown[MAX_SHOWN], n = 0;

    for (size_t i = 0; i < cases->count && n < MAX_SHOWN; i++)
        if (transforms(cases->items[i]->spec))
            shown[n++] = i;
    if (n == 0)
        for (; n < cases->count && n < MAX_SHOWN; n++)
            shown[n] = n;
    gcb_plot_var_real(out, "shown", (double)n);
    gcb_plot_array_begin(out, "show", n);
    for (size_t i = 0; i < n; i++)
        gcb_plot_array_real(out, (double)shown[i] + 1);
}

static int collect(struct gcb_plot_set *set, const struct page *p, struct gcb_diag *diag)
{
    const struct gcb_plot_record *items = p->data->kinds[GCB_RECORD_SPECTRUM].items;
    int err = 0;

    for (size_t i = 0; !err && i < p->data->kinds[GCB_RECORD_SPECTRUM].count; i++)
        if (items[i].env == p->env && items[i].tensor == p->tensor && *items[i].spec)
            err = gcb_plot_set_add(set, &items[i], diag);
    return err;
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;
    struct gcb_plot_set *set = &out->set;
    struct page p = {.data = data};
    char title[160], cut[96];
    const struct gcb_plot_record *env;
    double legend;
    int err;

    p.env = first->env;
    p.tensor = largest_tensor(data, first);
    p.datasets = datasets_of(data, p.env, p.tensor);
    err = collect(set, &p, diag);
    if (!err)
        err = gcb_plot_set_divide(set, true, diag);
    if (err)
        return err;
    env = gcb_plot_env_of(data, p.env);
    snprintf(title, sizeof(title), "Spectrum of %s",
             gcb_text_shorten(cut, sizeof(cut), p.tensor, 60));
    gcb_plot_heading_of(out, title, env->file, "", env);
    legend = gcb_plot_legend(out, set);
    put_shown(out, &set->cases);
    put_bands(out, &p, gcb_plot_no_text, &range);
    for (size_t i = 0; i < set->count; i++)
        put_bands(out, &p, set->cases.items[i]->spec, &range);
    put_curve(out, &p);
    put_cuts(out, &p, &set->cases);
    gcb_plot_var_range(out, "magnitude", &range);
    gcb_plot_var_real(out, "has_rms", isfinite(p.datasets));
    gcb_plot_two_panels(out, legend + 60.0); /* 60 pixels for "after LABEL" and "LABEL, kept" */
    return 0;
}

const struct gcb_plot gcb_plot_spectrum = {
    .name = "spectrum",
    .title = "spectrum of the largest tensor before and after compression, and energy of its bins",
    .needs = "spectrum rows: `compress --spectrum --results FILE`, or `inspect` for the input only",
    .from = "compress --spectrum",
    .split = &split,
    .fill = fill,
};
