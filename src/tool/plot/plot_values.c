/* The data of plots of values: the distribution of errors, and spectra. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/columns.h"
#include "src/tool/base/memory.h"
#include "src/tool/plot/plot_page.h"

/* Makes a series of each setting for which the page's run has rows of this kind. If `tensor` is not
 * NULL, only rows of this tensor count. */
static void collect(struct gcb_plot_page *page, enum gcb_record kind, const char *tensor)
{
    const struct gcb_plot_records *rows = &page->data->kinds[kind];

    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].env == page->first->env && *rows->items[i].spec &&
            (!tensor || rows->items[i].tensor == tensor))
            gcb_plot_set_add(&page->set, &rows->items[i]);
    gcb_plot_set_divide(&page->set, true);
}

/* ---- errors ---- */

/* A bin of a histogram. */
struct magnitude {
    double at;    /* the largest magnitude in the bin */
    double count; /* number of values in the bin */
};

static int by_magnitude(const void *a, const void *b)
{
    const struct magnitude *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* True if a `histogram` row is of the run `env`, and counts errors of the setting `spec`, or values
 * of the input if `spec` is empty. Rows of `inspect` have no `of`; they are of the input. */
static bool is_bin_of(const struct gcb_plot_record *row, size_t env, const char *spec)
{
    const char *of = *row->of ? row->of : "input";

    return row->env == env && row->spec == spec && strcmp(of, *spec ? "error" : "input") == 0 &&
           row->low <= row->high && row->count > 0.0;
}

/*
 * Writes a curve: for each magnitude in ascending order, the share of values up to it. The values
 * are the errors of a setting, or the input if `spec` is empty. Histograms of all tensors have the
 * same bins (docs/rows.md). Exact zeros are a bin of their own, at magnitude 0.
 */
static void put_cumulative(struct gcb_plot_page *page, size_t series, const char *spec)
{
    const struct gcb_plot_records *rows = &page->data->kinds[GCB_RECORD_HISTOGRAM];
    struct magnitude *m = NULL;
    size_t count = 0, cap = 0;
    double total = 0.0, sum = 0.0;

    gcb_plot_break(page);
    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *row = &rows->items[i];

        if (!is_bin_of(row, page->first->env, spec))
            continue;
        gcb_must_grow(&m, &cap, count, sizeof(*m));
        m[count++] = (struct magnitude){
            row->low == row->high ? 0.0 : fmax(fabs(row->low), fabs(row->high)), row->count};
        total += row->count;
    }
    if (count)
        qsort(m, count, sizeof(*m), by_magnitude);
    for (size_t i = 0; i < count; i++) {
        sum += m[i].count;
        if (i + 1 == count || m[i + 1].at != m[i].at)
            GCB_PLOT_ROW(page, NULL, (double)series, m[i].at, sum / total);
    }
    if (count) /* the curve goes on to the right end of any axis */
        GCB_PLOT_ROW(page, NULL, (double)series, 1e30, 1.0);
    gcb_free(m);
}

void gcb_plot_add_errors(struct gcb_plot_page *page)
{
    collect(page, GCB_RECORD_HISTOGRAM, NULL);

    gcb_plot_set_choose(&page->set, GCB_PLOT_NAMED - 1); /* the gradient needs one name */
    GCB_PLOT_COLUMNS(page, "series", "magnitude", "share");
    for (size_t i = 0; i <= page->set.count; i++)
        put_cumulative(page, i,
                       i ? page->set.cases.items[page->set.items[i - 1].first]->spec
                         : gcb_plot_no_text);
}

/* ---- spectra ---- */

/* Returns the name of the tensor with most bins. The rows of a tensor follow each other. */
static const char *largest_tensor(const struct gcb_plot_page *page)
{
    const struct gcb_plot_record *b = NULL;
    const char *at = NULL, *largest = gcb_plot_no_text;
    double bins = 0.0, most = -1.0;

    while ((b = gcb_plot_next(page->plot, page->data, page->first, b)) != NULL) {
        bins = b->tensor == at ? bins + b->bins : b->bins;
        at = b->tensor;
        if (bins > most) {
            most = bins;
            largest = at;
        }
    }
    return largest;
}

/* If some settings have a transform, only these and the baselines get names, because the picture is
 * about transforms. */
static void rank_transforms(struct gcb_plot_set *set)
{
    bool any = false;
    char text[32];

    for (size_t s = 0; s < set->count; s++) {
        gcb_plot_spec_text(text, set->cases.items[set->items[s].first]->setting, "transform");
        set->items[s].rank = *text && strcmp(text, "none") != 0 ? 0.0 : 1.0;
        any |= set->items[s].rank == 0.0;
    }
    for (size_t s = 0; any && s < set->count; s++)
        set->items[s].rank = set->items[s].rank == 0.0 ? 0.0 : INFINITY;
}

/* Writes a row with the share of bins that a setting keeps, for each setting with a Fourier
 * transform of whole messages. The bins of other transforms are not those of the picture. */
static void put_kept(struct gcb_plot_page *page)
{
    const struct gcb_plot_records *rows = &page->data->kinds[GCB_RECORD_SUMMARY];

    for (size_t s = 0; s < page->set.count; s++) {
        const struct gcb_plot_record *c = page->set.cases.items[page->set.items[s].first];
        char transform[32], chunk[32];

        gcb_plot_spec_text(transform, c->setting, "transform");
        gcb_plot_spec_text(chunk, c->setting, "chunk");
        if (strcmp(transform, "fft") != 0 || strcmp(chunk, "0") != 0)
            continue;
        for (size_t i = 0; i < rows->count; i++)
            if (rows->items[i].env == c->env && rows->items[i].spec == c->spec) {
                GCB_PLOT_ROW(page, "kept", (double)s + 1, NAN, NAN, rows->items[i].density, NAN);
                break;
            }
    }
}

/* Returns the energy of the input over all bands. Rows of the input have no spec. */
static double input_energy(const struct gcb_plot_page *page, const char *tensor)
{
    const struct gcb_plot_records *rows = &page->data->kinds[GCB_RECORD_SPECTRUM];
    double total = 0.0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *b = &rows->items[i];

        if (b->env == page->first->env && b->tensor == tensor && !*b->spec &&
            strcmp(b->by, "frequency") == 0)
            total += b->energy;
    }
    return total;
}

void gcb_plot_add_spectrum(struct gcb_plot_page *page)
{
    const struct gcb_plot_records *rows = &page->data->kinds[GCB_RECORD_SPECTRUM];
    const char *tensor = largest_tensor(page);
    const struct gcb_plot_record *last = NULL;
    struct gcb_plot_set *set = &page->set;
    const double total = input_energy(page, tensor);
    char title[160], cut[96];

    collect(page, GCB_RECORD_SPECTRUM, tensor);
    snprintf(title, sizeof(title), "Spectrum of %s",
             gcb_text_shorten(cut, sizeof(cut), tensor, 60));
    gcb_plot_heading(page, title, NULL);
    rank_transforms(set);
    /* three names are for the input, its energy, and what methods keep */
    gcb_plot_set_choose(set, GCB_PLOT_NAMED - 3);
    GCB_PLOT_COLUMNS(page, "by", "series", "frequency", "energy", "density",
                     GCB_PLOT_FIELD(ENERGY_SHARE));
    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *b = &rows->items[i];
        size_t s = 0;

        if (b->env != page->first->env || b->tensor != tensor)
            continue;
        if (last && (last->spec != b->spec || last->by != b->by))
            gcb_plot_break(page);
        last = b;
        while (s < set->count && set->cases.items[set->items[s].first]->spec != b->spec)
            s++;
        if (*b->spec && s == set->count)
            continue;
        GCB_PLOT_ROW(page, b->by, *b->spec ? (double)s + 1 : 0.0, (b->low + b->high) / 2.0,
                     b->energy / total, b->density, b->energy_share);
    }
    put_kept(page);
}
