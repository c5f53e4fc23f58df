#include "src/tool/measure/survey.h"

#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"

/* A dataset of the source. */
struct entry {
    const char *path;
    size_t tensor; /* the dataset's index in the source */
};

/* A tensor: its entries, which have the same path and follow each other. */
struct run {
    size_t tensor;       /* index of the first dataset in the source */
    size_t first, count; /* index of the first entry, and how many entries */
};

struct gcb_survey {
    struct gcb_source *source;
    struct gcb_survey_config config;
    struct entry *entries;
    struct run *runs;
    size_t run_count;
    float *values; /* has room for the largest dataset */
    struct gcb_histogram histogram;
    struct gcb_spectrum spectrum;
    struct gcb_spectrum_plan plan; /* plan for the last transformed size */
};

static int by_path(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    const int order = strcmp(x->path, y->path);

    return order ? order : (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static int by_tensor(const void *a, const void *b)
{
    const struct run *x = a, *y = b;

    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* Makes a run for each path, in the order of the source. The `n` entries must be sorted by path. */
static void make_runs(struct gcb_survey *s, size_t n)
{
    const struct entry *e = s->entries;

    for (size_t i = 0; i < n; i++) {
        if (i && strcmp(e[i].path, e[i - 1].path) == 0)
            s->runs[s->run_count - 1].count++;
        else
            s->runs[s->run_count++] = (struct run){e[i].tensor, i, 1};
    }
    qsort(s->runs, s->run_count, sizeof(*s->runs), by_tensor);
}

/* Lists the datasets by path, and allocates memory for the largest. */
static int plan(struct gcb_survey *s)
{
    const size_t n = gcb_source_count(s->source);
    uint64_t most = 0;

    s->entries = gcb_alloc_array(n, sizeof(*s->entries));
    s->runs = gcb_alloc_array(n, sizeof(*s->runs));
    if (!s->entries || !s->runs)
        return GCB_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct gcb_tensor *t = gcb_source_tensor(s->source, i);

        s->entries[i] = (struct entry){t->path, i};
        most = t->count > most ? t->count : most;
    }
    qsort(s->entries, n, sizeof(*s->entries), by_path);
    make_runs(s, n);
    s->values = gcb_alloc_array(most, sizeof(*s->values));
    return s->values ? 0 : GCB_E_NOMEM;
}

int gcb_survey_create(struct gcb_survey **out, struct gcb_source *source,
                      const struct gcb_survey_config *config, struct gcb_diag *diag)
{
    struct gcb_survey *s = gcb_alloc_zero(1, sizeof(*s));

    if (!s)
        return gcb_diag_nomem(diag, sizeof(*s), "a survey");
    s->source = source;
    s->config = *config;
    if (plan(s)) {
        gcb_survey_destroy(s);
        return gcb_diag_nomem(diag, 0, "the largest tensor");
    }
    *out = s;
    return 0;
}

void gcb_survey_destroy(struct gcb_survey *s)
{
    if (!s)
        return;
    gcb_spectrum_plan_fini(&s->plan);
    gcb_free(s->entries);
    gcb_free(s->runs);
    gcb_free(s->values);
    gcb_free(s);
}

size_t gcb_survey_count(const struct gcb_survey *s)
{
    return s->run_count;
}

static bool same_kind(const struct gcb_tensor *a, const struct gcb_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0])) == 0;
}

/* Do all datasets of the run have the same size, above 0? Otherwise they have no common spectrum. */
static bool one_size(const struct gcb_survey *s, const struct run *run)
{
    const struct entry *e = s->entries + run->first;
    const uint64_t count = gcb_source_tensor(s->source, e->tensor)->count;

    for (size_t i = 1; i < run->count; i++)
        if (gcb_source_tensor(s->source, e[i].tensor)->count != count)
            return false;
    return count > 0;
}

/* Reads a dataset and adds it to the statistics. */
static int add_dataset(struct gcb_survey *s, const struct entry *e, struct gcb_survey_item *out,
                       struct gcb_diag *diag)
{
    const struct gcb_tensor *t = gcb_source_tensor(s->source, e->tensor);
    const struct gcb_view x = {s->values, t->count};
    struct gcb_moments own = {.count = 0};
    const int err = gcb_source_read(s->source, e->tensor, s->values, diag);

    if (err)
        return err;
    out->uniform &= same_kind(t, out->first);
    gcb_moments_add(&own, s->config.kernels, &x);
    gcb_moments_join(&out->moments, &own);
    if (out->histogram)
        gcb_histogram_add(&s->histogram, &x);
    if (out->spectrum && own.nonfinite == 0)
        gcb_spectrum_add(&s->spectrum, &s->plan, &x);
    return 0;
}

int gcb_survey_read(struct gcb_survey *s, size_t i, struct gcb_survey_item *out,
                    struct gcb_diag *diag)
{
    const struct run *run = &s->runs[i];
    const struct entry *e = s->entries + run->first;
    int err = 0;

    memset(out, 0, sizeof(*out));
    memset(&s->histogram, 0, sizeof(s->histogram));
    out->first = gcb_source_tensor(s->source, e->tensor);
    out->datasets = run->count;
    out->uniform = true;
    out->histogram = s->config.histogram ? &s->histogram : NULL;
    if (s->config.spectrum && one_size(s, run)) {
        out->spectrum = &s->spectrum;
        gcb_spectrum_init(&s->spectrum, out->first->count);
        err = gcb_spectrum_plan_for(&s->plan, out->first->count, s->config.queue, diag);
    }
    for (size_t j = 0; !err && j < run->count; j++)
        err = add_dataset(s, &e[j], out, diag);
    return err;
}

/* Returns the shape as text, such as "64x3x3x3" or "scalar"; NULL if the item's datasets have different shapes or
 * types. */
static const char *shape_of(char out[GCB_SHAPE_TEXT], const struct gcb_survey_item *item)
{
    if (!item->uniform)
        return NULL;
    gcb_shape_text(out, item->first->rank, item->first->dims);
    return item->first->rank ? out : "scalar";
}

void gcb_shape_rows_tensor(struct gcb_row *row, const struct gcb_survey_item *item)
{
    const struct gcb_moments *m = &item->moments;
    struct gcb_moments_figures f;
    char shape[GCB_SHAPE_TEXT];

    gcb_moments_figures(&f, m);
    gcb_row_init(row, GCB_RECORD_TENSOR);
    gcb_row_text(row, GCB_FIELD_FILE, item->first->file);
    gcb_row_text(row, GCB_FIELD_TENSOR, item->first->path);
    gcb_row_text(row, GCB_FIELD_SHAPE, shape_of(shape, item));
    gcb_row_text(row, GCB_FIELD_INPUT_DTYPE,
                 item->uniform ? gcb_dtype_name(item->first->dtype) : NULL);
    gcb_row_u64(row, GCB_FIELD_DATASETS, item->datasets);
    gcb_row_u64(row, GCB_FIELD_ELEMENTS, m->count);
    gcb_row_real(row, GCB_FIELD_MEAN, f.mean);
    gcb_row_real(row, GCB_FIELD_DEVIATION, f.deviation);
    gcb_row_real(row, GCB_FIELD_MAX_ABS, f.max_abs);
    gcb_row_real(row, GCB_FIELD_KURTOSIS, f.kurtosis);
    gcb_row_real(row, GCB_FIELD_L2, f.l2);
    gcb_row_u64(row, GCB_FIELD_ZEROS, m->zeros);
    gcb_row_real(row, GCB_FIELD_ZEROS_SHARE, f.zeros);
    gcb_row_u64(row, GCB_FIELD_NONFINITE, m->nonfinite);
}

static void begin(struct gcb_row *row, const struct gcb_shape_rows *to, enum gcb_record record)
{
    gcb_row_init(row, record);
    gcb_row_text(row, GCB_FIELD_TENSOR, to->tensor);
    if (to->of)
        gcb_row_text(row, GCB_FIELD_OF, to->of);
    if (to->method) {
        char spec[512];

        gcb_row_text(row, GCB_FIELD_METHOD, to->method->name);
        gcb_row_text(row, GCB_FIELD_SPEC,
                     gcb_method_spec(spec, sizeof(spec), to->method, GCB_SPEC_FULL));
    }
}

static int put_bins(const struct gcb_shape_rows *to, const struct gcb_histogram *h,
                    struct gcb_diag *diag)
{
    struct gcb_histogram_bin bin;
    int err = 0;

    for (size_t i = 0; !err && gcb_histogram_bin(&bin, h, i); i++) {
        struct gcb_row row;

        if (bin.count == 0)
            continue;
        begin(&row, to, GCB_RECORD_HISTOGRAM);
        gcb_row_real(&row, GCB_FIELD_LOW, bin.low);
        gcb_row_real(&row, GCB_FIELD_HIGH, bin.high);
        gcb_row_u64(&row, GCB_FIELD_COUNT, bin.count);
        gcb_row_real(&row, GCB_FIELD_SHARE, bin.share);
        err = to->put(to->ctx, &row, diag);
    }
    return err;
}

static int put_bands(const struct gcb_shape_rows *to, const struct gcb_spectrum *s,
                     struct gcb_diag *diag)
{
    struct gcb_spectrum_band band;
    int err = 0;

    for (size_t i = 0; !err && gcb_spectrum_band(&band, s, i); i++) {
        struct gcb_row row;

        begin(&row, to, GCB_RECORD_SPECTRUM);
        gcb_row_text(&row, GCB_FIELD_BY, "frequency");
        gcb_row_real(&row, GCB_FIELD_LOW, band.low);
        gcb_row_real(&row, GCB_FIELD_HIGH, band.high);
        gcb_row_u64(&row, GCB_FIELD_BINS, band.bins);
        gcb_row_real(&row, GCB_FIELD_ENERGY, band.energy);
        gcb_row_real(&row, GCB_FIELD_ENERGY_SHARE, band.share);
        gcb_row_real(&row, GCB_FIELD_MAX_MAGNITUDE, band.largest);
        err = to->put(to->ctx, &row, diag);
    }
    return err;
}

static int put_curve(const struct gcb_shape_rows *to, const struct gcb_spectrum *s,
                     struct gcb_diag *diag)
{
    struct gcb_spectrum_point points[GCB_SPECTRUM_LEVELS];
    const size_t n = gcb_spectrum_curve(points, s);
    int err = 0;

    for (size_t i = 0; !err && i < n; i++) {
        struct gcb_row row;

        begin(&row, to, GCB_RECORD_SPECTRUM);
        gcb_row_text(&row, GCB_FIELD_BY, "magnitude");
        gcb_row_real(&row, GCB_FIELD_THRESHOLD, points[i].threshold);
        gcb_row_real(&row, GCB_FIELD_DENSITY, points[i].density);
        gcb_row_real(&row, GCB_FIELD_ENERGY_SHARE, points[i].energy_share);
        err = to->put(to->ctx, &row, diag);
    }
    return err;
}

int gcb_shape_rows_put(const struct gcb_shape_rows *to, const struct gcb_histogram *histogram,
                       const struct gcb_spectrum *spectrum, struct gcb_diag *diag)
{
    int err = histogram ? put_bins(to, histogram, diag) : 0;

    if (!err && spectrum)
        err = put_bands(to, spectrum, diag);
    if (!err && spectrum)
        err = put_curve(to, spectrum, diag);
    return err;
}
