/* Plots how the codes of range floats are distributed over magnitudes, compared with the input's values. */
#include <math.h>
#include <string.h>

#include "kernels/range/range.h"
#include "src/tool/plot/plot_bins.h"
#include "src/tool/plot/plots.h"

#define MAX_FORMATS 16
#define OCTAVES 64 /* powers of two below the largest value that the plot shows */

struct format {
    unsigned bits, mantissa;
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

static const struct gcb_plot_split split = {GCB_RECORD_SUMMARY, is_wanted, gcb_plot_same_env};

static void collect(struct formats *out, const struct gcb_plot_data *data,
                    const struct gcb_plot_record *first)
{
    const struct gcb_plot_record *c = NULL;

    out->count = 0;
    while ((c = gcb_plot_split_next(&split, data, first, c)) != NULL)
        add_formats(out, c);
}

/* Writes how many positive codes lie in each octave below the format's largest value, which is 1. */
static void put_codes(struct gcb_plot_page *out, const struct format *f,
                      struct gcb_plot_range *range)
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
    GCB_PLOT_BLOCK(out, "value", "codes", "share");
    for (int i = OCTAVES; i >= 0; i--) {
        if (codes[i] == 0.0)
            continue;
        gcb_plot_range_add(range, codes[i]);
        GCB_PLOT_ROW(out, NULL, -(i + 0.5), codes[i], codes[i] / format.top);
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

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;
    struct gcb_plot_histograms values;
    struct formats formats;
    char text[64];
    const int err = gcb_plot_histograms_of(&values, data, first->env, "none", diag);

    if (err)
        goto out;
    collect(&formats, data, first);
    gcb_plot_heading(out, "Codes of range floats", data, first, GCB_PLOT_BY_ERROR);
    gcb_plot_var_real(out, "has_values", values.input.total > values.input.zeros);
    gcb_plot_var_real(out, "series", (double)formats.count);
    gcb_plot_array_begin(out, "label", formats.count);
    for (size_t i = 0; i < formats.count; i++) {
        snprintf(text, sizeof(text), "%u bits, mantissa %u", formats.items[i].bits,
                 formats.items[i].mantissa);
        gcb_plot_array_text(out, text, GCB_PLOT_LABEL_WIDTH);
    }
    put_values(out, &values.input);
    for (size_t i = 0; i < formats.count; i++)
        put_codes(out, &formats.items[i], &range);
    gcb_plot_var_range(out, "codes", &range);
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
