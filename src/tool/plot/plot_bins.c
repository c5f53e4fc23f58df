#include "src/tool/plot/plot_bins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"

/* Rows of `inspect` have no `of`: they describe the input. */
static bool is_of(const struct gcb_plot_record *b, const char *of)
{
    return strcmp(*b->of ? b->of : "input", of) == 0;
}

static bool is_input(const struct gcb_plot_record *row)
{
    return is_of(row, "input");
}

static bool is_error(const struct gcb_plot_record *row)
{
    return is_of(row, "error");
}

const struct gcb_plot_split gcb_plot_bins_of_inputs = {GCB_RECORD_HISTOGRAM, is_input,
                                                       gcb_plot_same_env, NULL},
                            gcb_plot_bins_of_errors = {GCB_RECORD_HISTOGRAM, is_error,
                                                       gcb_plot_same_env, NULL};

static int by_value(const void *a, const void *b)
{
    const struct gcb_plot_bin *x = a, *y = b;

    if (x->low != y->low)
        return (x->low > y->low) - (x->low < y->low);
    return (x->high > y->high) - (x->high < y->high);
}

/* Joins bins that have equal limits, which come from several tensors. Returns how many bins are left. */
static size_t join_bins(struct gcb_plot_bin *bins, size_t count)
{
    size_t kept = 0;

    if (count) /* without bins, `bins` is NULL, which qsort does not accept */
        qsort(bins, count, sizeof(*bins), by_value);
    for (size_t i = 0; i < count; i++) {
        if (kept && by_value(&bins[kept - 1], &bins[i]) == 0)
            bins[kept - 1].count += bins[i].count;
        else
            bins[kept++] = bins[i];
    }
    return kept;
}

/* Collects the bins whose rows have this environment, `of` and spec. Skips a bin whose numbers make no sense. */
static int collect_bins(struct gcb_plot_histogram *h, const struct gcb_plot_data *data, size_t env,
                        const char *of, const char *spec)
{
    const struct gcb_plot_records *rows = &data->kinds[GCB_RECORD_HISTOGRAM];
    size_t cap = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *row = &rows->items[i];

        if (row->env != env || row->spec != spec || !is_of(row, of) || !(row->low <= row->high) ||
            !(row->count > 0.0))
            continue;
        if (gcb_grow(&h->bins, &cap, h->count, sizeof(*h->bins)))
            return GCB_E_NOMEM;
        h->bins[h->count++] = (struct gcb_plot_bin){row->low, row->high, row->count};
    }
    h->count = join_bins(h->bins, h->count);
    for (size_t i = 0; i < h->count; i++) {
        h->total += h->bins[i].count;
        h->zeros += h->bins[i].low == h->bins[i].high ? h->bins[i].count : 0.0;
    }
    return 0;
}

int gcb_plot_histograms_of(struct gcb_plot_histograms *out, const struct gcb_plot_data *data,
                           size_t env, const char *of, struct gcb_diag *diag)
{
    const struct gcb_plot_records *rows = &data->kinds[GCB_RECORD_HISTOGRAM];
    int err = 0;

    *out = (struct gcb_plot_histograms){.env = gcb_plot_env_of(data, env)};
    for (size_t i = 0; !err && i < rows->count; i++)
        if (rows->items[i].env == env && is_of(&rows->items[i], of) && *rows->items[i].spec)
            err = gcb_plot_set_add(&out->set, &rows->items[i], diag);
    if (!err)
        err = gcb_plot_set_divide(&out->set, true, diag);
    if (err)
        return err;
    out->items = gcb_alloc_zero(out->set.cases.count, sizeof(*out->items));
    err =
        out->items ? collect_bins(&out->input, data, env, "input", gcb_plot_no_text) : GCB_E_NOMEM;
    for (size_t i = 0; !err && i < out->set.cases.count; i++)
        err = collect_bins(&out->items[i], data, env, of, out->set.cases.items[i]->spec);
    return err ? gcb_diag_nomem(diag, 0, "a plot") : 0;
}

void gcb_plot_histograms_fini(struct gcb_plot_histograms *h)
{
    for (size_t i = 0; h->items && i < h->set.cases.count; i++)
        gcb_free(h->items[i].bins);
    gcb_free(h->items);
    gcb_free(h->input.bins);
    gcb_plot_set_fini(&h->set);
    *h = (struct gcb_plot_histograms){.env = NULL};
}

static int by_magnitude(const void *a, const void *b)
{
    const struct gcb_plot_magnitude *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

struct gcb_plot_magnitude *gcb_plot_histogram_magnitudes(size_t *count,
                                                         const struct gcb_plot_histogram *h)
{
    struct gcb_plot_magnitude *m = gcb_alloc_array(h->count ? h->count : 1, sizeof(*m));
    size_t n = 0, kept = 0;

    *count = 0;
    if (!m)
        return NULL;
    for (size_t i = 0; i < h->count; i++)
        if (h->bins[i].low != h->bins[i].high)
            m[n++] = (struct gcb_plot_magnitude){fmax(fabs(h->bins[i].low), fabs(h->bins[i].high)),
                                                 h->bins[i].count};
    qsort(m, n, sizeof(*m), by_magnitude);
    for (size_t i = 0; i < n; i++) {
        if (kept && m[kept - 1].at == m[i].at)
            m[kept - 1].count += m[i].count;
        else
            m[kept++] = m[i];
    }
    *count = kept;
    return m;
}

double gcb_plot_histogram_quantile(const struct gcb_plot_histogram *h, double share)
{
    size_t n;
    struct gcb_plot_magnitude *m = gcb_plot_histogram_magnitudes(&n, h);
    const double wanted = share * (h->total - h->zeros);
    double sum = 0.0, found = 0.0;

    for (size_t i = 0; i < n && (sum < wanted || i == 0); i++) {
        sum += m[i].count;
        found = m[i].at;
    }
    gcb_free(m);
    return found;
}

double gcb_plot_histogram_share(const struct gcb_plot_histogram *h, double low, double high)
{
    double sum = 0.0;

    for (size_t i = 0; i < h->count; i++) {
        const struct gcb_plot_bin *b = &h->bins[i];
        const double common = fmin(high, b->high) - fmax(low, b->low);

        if (common > 0.0)
            sum += b->count * common / (b->high - b->low);
    }
    return h->total > 0.0 ? sum / h->total : 0.0;
}
