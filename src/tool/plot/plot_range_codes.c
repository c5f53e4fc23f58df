/* Plots how the codes of range floats are distributed over magnitudes, compared with the input's values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/range/range.h"
#include "src/tool/plot/plot_bins.h"
#include "src/tool/plot/plots.h"

#define MAX_FORMATS 16
#define OCTAVES 64       /* powers of two below the largest value that are counted */
#define OCTAVES_SHOWN 40 /* of these, those that the picture has room for */

struct format {
    unsigned bits, mantissa;
};

/* A format's curve: the most codes of an octave, and the last octave with codes. */
struct curve {
    double most, last;
};

struct formats {
    struct format items[MAX_FORMATS];
    size_t count;
};

static bool is_range(const struct gcb_plot_record *c)
{
    char values[32];

    return strcmp(c->method, "range") == 0 ||
           strcmp(gcb_plot_spec_text(values, c->spec, "values"), "range") == 0;
}

static void add_format(struct formats *f, unsigned bits, unsigned mantissa)
{
    if (!gcb_range_valid(bits, mantissa) || f->count == MAX_FORMATS)
        return;
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i].bits == bits && f->items[i].mantissa == mantissa)
            return;
    f->items[f->count++] = (struct format){bits, mantissa};
}

/* Adds the format of a row. A mantissa width of 0 means that each message chooses its own width: then adds all widths
 * that a message can choose. */
static void add_formats(struct formats *out, const struct gcb_plot_record *c)
{
    const double bits = gcb_plot_spec_real(c->spec, "bits"),
                 mantissa = gcb_plot_spec_real(c->spec, "mantissa");

    if (!is_range(c) || !(bits >= 2.0 && bits <= 16.0) || !(mantissa >= 0.0 && mantissa <= 16.0))
        return;
    if (mantissa > 0.0)
        add_format(out, (unsigned)bits, (unsigned)mantissa);
    for (unsigned m = 1; mantissa == 0.0 && m + 2 < (unsigned)bits && m <= 6; m++)
        add_format(out, (unsigned)bits, m);
}

static bool is_wanted(const struct gcb_plot_record *row)
{
    struct formats formats = {.count = 0};

    add_formats(&formats, row);
    return formats.count > 0;
}

/* The codes of a format are the same in every result, so all results share one page. */
static bool same_page(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    (void)a;
    (void)b;
    return true;
}

static const struct gcb_plot_split split = {GCB_RECORD_SUMMARY, is_wanted, same_page, NULL};

/* Orders formats by bits and mantissa. */
static int smaller(const void *a, const void *b)
{
    const struct format *x = a, *y = b;

    return x->bits != y->bits ? (x->bits > y->bits) - (x->bits < y->bits)
                              : (x->mantissa > y->mantissa) - (x->mantissa < y->mantissa);
}

static void collect(struct formats *out, const struct gcb_plot_data *data,
                    const struct gcb_plot_record *first)
{
    const struct gcb_plot_record *c = NULL;

    out->count = 0;
    while ((c = gcb_plot_split_next(&split, data, first, c)) != NULL)
        add_formats(out, c);
    qsort(out->items, out->count, sizeof(out->items[0]), smaller);
}

/* Returns the first row whose run also has a histogram of the values, or `first`. */
static const struct gcb_plot_record *find_values(const struct gcb_plot_data *data,
                                                 const struct gcb_plot_record *first)
{
    const struct gcb_plot_records *bins = &data->kinds[GCB_RECORD_HISTOGRAM];
    const struct gcb_plot_record *c = NULL;

    while ((c = gcb_plot_split_next(&split, data, first, c)) != NULL)
        for (size_t i = 0; i < bins->count; i++)
            if (bins->items[i].env == c->env)
                return c;
    return first;
}

/* Writes how many positive codes lie in each octave below the format's largest value, which is 1. `place` is the place
 * of the octaves in the picture, a little apart from other formats with equal numbers of codes. */
static void put_codes(struct gcb_plot_page *out, const struct format *f, double shift,
                      struct curve *curve)
{
    double codes[OCTAVES + 1] = {0.0};
    struct gcb_range_format format;

    gcb_range_format(&format, f->bits, f->mantissa, 1.0f, GCB_ROUND_NEAREST);
    for (uint32_t c = 1; c <= format.top; c++) {
        const double x = (double)gcb_range_decode(c, &format);
        const int octave = x > 0.0 ? (int)floor(-log2(x)) : OCTAVES + 1;

        if (octave <= OCTAVES)
            codes[octave < 0 ? 0 : octave] += 1.0;
    }
    GCB_PLOT_BLOCK(out, "value", "codes", "share", "place");
    for (int i = OCTAVES; i >= 0; i--) {
        if (codes[i] == 0.0)
            continue;
        curve->most = fmax(curve->most, codes[i]);
        curve->last = fmax(curve->last, i + 0.5);
        GCB_PLOT_ROW(out, NULL, -(i + 0.5), codes[i], codes[i] / format.top,
                     codes[i] * exp2(shift));
    }
}

/* Writes the share of the input's values in each octave below the largest value. */
static void put_values(struct gcb_plot_page *out, const struct gcb_plot_histogram *h)
{
    const double most = gcb_plot_histogram_quantile(h, 1.0);

    GCB_PLOT_BLOCK(out, "value", "share");
    for (int i = OCTAVES; i >= 0 && most > 0.0; i--) {
        const double high = ldexp(most, -i), low = ldexp(most, -i - 1);

        GCB_PLOT_ROW(out, NULL, -(i + 0.5),
                     gcb_plot_histogram_share(h, low, high) +
                         gcb_plot_histogram_share(h, -high, -low));
    }
}

/* Formats of equal mantissa widths have equal numbers of codes in an octave: moves each a little above the last. */
static double shift_of(const struct formats *formats, size_t i)
{
    double shift = 0.0;

    for (size_t k = 0; k < i; k++)
        shift += formats->items[k].mantissa == formats->items[i].mantissa ? 0.14 : 0.0;
    return shift;
}

static int put_formats(struct gcb_plot_page *out, const struct formats *formats)
{
    struct gcb_plot_range codes = {1.0, 1.0}, octaves = {-16.0, -16.0};
    struct curve curves[MAX_FORMATS] = {{0.0, 0.0}};
    char text[64];

    for (unsigned i = 0; i < formats->count; i++) {
        const struct format *f = &formats->items[i];
        struct gcb_plot_series *s;

        snprintf(text, sizeof(text), "%u bits, mantissa %u", f->bits, f->mantissa);
        s = gcb_plot_set_name(&out->set, text, "range");
        if (!s)
            return GCB_E_NOMEM;
        s->style = gcb_plot_style_at(i);
        put_codes(out, f, shift_of(formats, i), &curves[i]);
        gcb_plot_range_add(&codes, curves[i].most);
        gcb_plot_range_add(&octaves, -fmin(curves[i].last, OCTAVES_SHOWN));
    }
    gcb_plot_legend(out, &out->set);
    gcb_plot_var_range(out, "codes", &codes);
    gcb_plot_var_range(out, "octave", &octaves);
    return 0;
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    const struct gcb_plot_record *with = find_values(data, first);
    struct gcb_plot_histograms values;
    struct formats formats;
    int err = gcb_plot_histograms_of(&values, data, with->env, "none", diag);

    if (err)
        goto out;
    collect(&formats, data, first);
    gcb_plot_heading(out, "Codes of range floats", data, with, GCB_PLOT_BY_ERROR);
    gcb_plot_var_real(out, "has_values", values.input.total > values.input.zeros);
    put_values(out, &values.input);
    if (put_formats(out, &formats))
        err = gcb_diag_nomem(diag, 0, "a plot");
out:
    gcb_plot_histograms_fini(&values);
    return err;
}

const struct gcb_plot gcb_plot_range_codes = {
    .name = "range-codes",
    .title = "how many codes of range floats, and how many values, have each magnitude",
    .needs = "summary rows of a method with range floats (range, fft): `compress --results FILE`; "
             "add --histogram to show the values too",
    .from = "bench --method fft",
    .split = &split,
    .fill = fill,
};
