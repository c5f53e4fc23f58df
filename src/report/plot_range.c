/* Where the codes of range floats lie, beside the values they are for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/range/range.h"
#include "src/report/plot_bins.h"
#include "src/report/plot_label.h"
#include "src/report/plots.h"

#define MAX_FORMATS 16
#define OCTAVES 64 /* below the largest value */

struct format {
    unsigned bits, mantissa;
};

struct formats {
    struct format items[MAX_FORMATS];
    size_t count;
};

static bool is_range(const struct gcb_plot_case *c)
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

/* A mantissa width of 0 is chosen from the data of each message: these are what it is chosen from. */
static void collect(struct formats *out, const struct gcb_plot_data *data, size_t env)
{
    const struct gcb_plot_case *items = data->summaries.items;

    out->count = 0;
    for (size_t i = 0; i < data->summaries.count; i++) {
        const double bits = gcb_plot_spec_real(items[i].spec, "bits"),
                     mantissa = gcb_plot_spec_real(items[i].spec, "mantissa");

        if (items[i].env != env || !is_range(&items[i]) || !(bits >= 2.0 && bits <= 16.0) ||
            !(mantissa >= 0.0 && mantissa <= 16.0))
            continue;
        if (mantissa > 0.0)
            add_format(out, (unsigned)bits, (unsigned)mantissa);
        for (unsigned m = 1; mantissa == 0.0 && m + 2 < (unsigned)bits && m <= 6; m++)
            add_format(out, (unsigned)bits, m);
    }
}

/* Pages are result files. */
static size_t first_cases(const struct gcb_plot_case *out[GCB_PLOT_PAGES],
                          const struct gcb_plot_data *data)
{
    const struct gcb_plot_case *items = data->summaries.items;
    struct formats formats;
    size_t n = 0;

    for (size_t i = 0; i < data->summaries.count && n < GCB_PLOT_PAGES; i++) {
        if (!is_range(&items[i]) || (n > 0 && out[n - 1]->env == items[i].env))
            continue;
        collect(&formats, data, items[i].env);
        if (formats.count)
            out[n++] = &items[i];
    }
    return n;
}

static size_t pages(const struct gcb_plot_data *data)
{
    const struct gcb_plot_case *first[GCB_PLOT_PAGES];

    return first_cases(first, data);
}

/* Positive codes by the octave below the largest value, which is 1. */
static void put_codes(struct gcb_plot_page *out, const struct format *f,
                      struct gcb_plot_range *range)
{
    static const char *const columns[] = {"value", "codes", "share", NULL};
    double codes[OCTAVES + 1] = {0.0};
    struct gcb_range_format format;

    gcb_range_format(&format, f->bits, f->mantissa, 1.0f, GCB_ROUND_NEAREST);
    for (uint32_t c = 1; c <= format.top; c++) {
        const double x = (double)gcb_range_decode(c, &format);
        const int octave = x > 0.0 ? (int)floor(-log2(x)) : OCTAVES + 1;

        if (octave <= OCTAVES)
            codes[octave < 0 ? 0 : octave] += 1.0;
    }
    gcb_plot_block(out, columns);
    for (int i = OCTAVES; i >= 0; i--) {
        if (codes[i] == 0.0)
            continue;
        gcb_plot_range_add(range, codes[i]);
        gcb_plot_cell(out, -(i + 0.5));
        gcb_plot_cell(out, codes[i]);
        gcb_plot_cell(out, codes[i] / format.top);
        gcb_plot_end_row(out);
    }
}

/* Values by the octave below the largest of them. */
static void put_values(struct gcb_plot_page *out, const struct gcb_plot_histogram *h)
{
    static const char *const columns[] = {"value", "share", NULL};
    const double most = gcb_plot_histogram_quantile(h, 1.0);

    gcb_plot_block(out, columns);
    for (int i = OCTAVES; i >= 0 && most > 0.0; i--) {
        const double high = ldexp(most, -i), low = ldexp(most, -i - 1);

        gcb_plot_cell(out, -(i + 0.5));
        gcb_plot_cell(out, gcb_plot_histogram_share(h, low, high) +
                               gcb_plot_histogram_share(h, -high, -low));
        gcb_plot_end_row(out);
    }
}

/* The page of histograms that belongs to this result file, if there is one. */
static int values_of(struct gcb_plot_histograms *h, bool *found, const struct gcb_plot_data *data,
                     size_t env, struct gcb_diag *diag)
{
    const size_t n = gcb_plot_histogram_pages(data, "input");

    *found = false;
    for (size_t i = 0; i < n; i++) {
        const int err = gcb_plot_histograms_of(h, data, i, "input", "none", diag);

        *found = !err && h->env == gcb_plot_env_of(data, env);
        if (err || *found)
            return err;
        gcb_plot_histograms_fini(h);
    }
    return 0;
}

static int fill(const struct gcb_plot_data *data, size_t page, struct gcb_plot_page *out,
                struct gcb_diag *diag)
{
    const struct gcb_plot_case *first[GCB_PLOT_PAGES];
    struct gcb_plot_histograms values = {.env = NULL};
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;
    struct formats formats;
    char text[64];
    bool found;
    int err;

    if (page >= first_cases(first, data))
        return gcb_diag_set(diag, GCB_E_INVALID, "there is no such page");
    collect(&formats, data, first[page]->env);
    err = values_of(&values, &found, data, first[page]->env, diag);
    if (err)
        goto out;
    gcb_plot_heading(out, "Codes of range floats", data, first[page], GCB_PLOT_BY_ERROR);
    gcb_plot_var_real(out, "has_values", found && values.input.total > values.input.zeros);
    gcb_plot_var_real(out, "series", (double)formats.count);
    gcb_plot_array_begin(out, "label", formats.count);
    for (size_t i = 0; i < formats.count; i++) {
        snprintf(text, sizeof(text), "%u bits, mantissa %u", formats.items[i].bits,
                 formats.items[i].mantissa);
        gcb_plot_array_text(out, text);
    }
    gcb_plot_array_end(out);
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
    .title = "where the codes of range floats lie, beside the values",
    .needs = "a method with range floats (range, fft): `compress --results FILE`; with --histogram "
             "also the values",
    .pages = pages,
    .fill = fill,
};
