#include "src/tool/measure/survey.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/diag.h"
#include "src/tool/base/memory.h"

/* ---- moments ---- */

/* Copies the finite elements of a block to `out`. Returns their number. */
static size_t pack_finite(float *out, const float *x, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        out[kept] = x[i];
        kept += isfinite(x[i]) != 0;
    }
    return kept;
}

/* Adds the sums of (x - m->mean)^2, ^3 and ^4 to m2, m3 and m4. Each sum has several accumulators,
 * which are added in a fixed order. */
static void central_sums(struct gcb_moments *m, const float *x, size_t n)
{
    enum { LANES = 8 };
    double s2[LANES] = {0}, s3[LANES] = {0}, s4[LANES] = {0};

    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - m->mean, d2 = d * d;

        s2[i % LANES] += d2;
        s3[i % LANES] += d2 * d;
        s4[i % LANES] += d2 * d2;
    }
    for (size_t j = 0; j < LANES; j++) {
        m->m2 += s2[j];
        m->m3 += s3[j];
        m->m4 += s4[j];
    }
}

/* Adds one block of at most GCB_SUM_BLOCK elements. */
static void add_block(struct gcb_moments *m, const struct gcb_kernels *kernels, const float *x,
                      size_t n)
{
    float finite[GCB_SUM_BLOCK];
    struct gcb_moments block = {.count = n};
    uint32_t max_bits = kernels->reduce.max_bits(x, n);

    for (size_t i = 0; i < n; i++)
        block.zeros += x[i] == 0.0f;
    if (max_bits >= GCB_INF_BITS) {
        const size_t kept = pack_finite(finite, x, n);

        block.nonfinite = n - kept;
        x = finite;
        n = kept;
        max_bits = kernels->reduce.max_bits(x, n);
    }
    block.max_abs = (double)gcb_float_of(max_bits);
    if (n) {
        block.mean = kernels->reduce.sum(x, n) / (double)n;
        central_sums(&block, x, n);
    }
    gcb_moments_join(m, &block);
}

void gcb_moments_add(struct gcb_moments *m, const struct gcb_kernels *kernels,
                     const struct gcb_view *x)
{
    for (uint64_t i = 0; i < x->count; i += GCB_SUM_BLOCK) {
        const uint64_t left = x->count - i;

        add_block(m, kernels, x->data + i, left < GCB_SUM_BLOCK ? (size_t)left : GCB_SUM_BLOCK);
    }
}

/* Joins the means and central sums of `m`, over `a` elements, and of `o`, over `b` elements, in `m`
 * (Pebay: "Formulas for robust, one-pass parallel computation of covariances and
 * arbitrary-order statistical moments", 2008). */
static void join_sums(struct gcb_moments *m, const struct gcb_moments *o, double a, double b)
{
    const double n = a + b, d = o->mean - m->mean, f = d / n;
    const double cross2 = d * f * a * b;

    m->m4 += o->m4 + cross2 * f * f * (a * a - a * b + b * b) +
             6.0 * f * f * (a * a * o->m2 + b * b * m->m2) + 4.0 * f * (a * o->m3 - b * m->m3);
    m->m3 += o->m3 + cross2 * f * (a - b) + 3.0 * f * (a * o->m2 - b * m->m2);
    m->m2 += o->m2 + cross2;
    m->mean += f * b;
}

void gcb_moments_join(struct gcb_moments *m, const struct gcb_moments *other)
{
    const double a = (double)(m->count - m->nonfinite);
    const double b = (double)(other->count - other->nonfinite);

    if (b > 0.0)
        join_sums(m, other, a, b);
    m->count += other->count;
    m->zeros += other->zeros;
    m->nonfinite += other->nonfinite;
    if (other->max_abs > m->max_abs)
        m->max_abs = other->max_abs;
}

void gcb_moments_figures(struct gcb_moments_figures *out, const struct gcb_moments *m)
{
    const double n = (double)(m->count - m->nonfinite);

    *out = (struct gcb_moments_figures){NAN, NAN, NAN, NAN, NAN, NAN};
    if (m->count)
        out->zeros = (double)m->zeros / (double)m->count;
    out->l2 = sqrt(m->m2 + n * m->mean * m->mean);
    if (!(n > 0.0))
        return;
    out->mean = m->mean;
    out->max_abs = m->max_abs;
    out->deviation = sqrt(m->m2 / n);
    if (m->m2 > 0.0) /* two divisions, because the square of a tiny sum underflows */
        out->kurtosis = m->m4 / m->m2 * (n / m->m2);
}

/* ---- histograms ---- */

void gcb_histogram_add(struct gcb_histogram *h, const struct gcb_view *x)
{
    h->count += x->count;
    for (uint64_t i = 0; i < x->count; i++) {
        const uint32_t bits = gcb_bits_of(x->data[i]), magnitude = bits & 0x7fffffffu;
        const size_t bin = magnitude >> GCB_HISTOGRAM_SHIFT;

        if (magnitude == 0)
            h->bins[GCB_HISTOGRAM_BINS]++;
        else if (bin >= GCB_HISTOGRAM_BINS)
            h->nonfinite++;
        else
            h->bins[bits == magnitude ? GCB_HISTOGRAM_BINS + 1 + bin
                                      : GCB_HISTOGRAM_BINS - 1 - bin]++;
    }
}

void gcb_histogram_join(struct gcb_histogram *h, const struct gcb_histogram *other)
{
    for (size_t i = 0; i <= 2 * GCB_HISTOGRAM_BINS; i++)
        h->bins[i] += other->bins[i];
    h->nonfinite += other->nonfinite;
    h->count += other->count;
}

uint64_t gcb_histogram_octave(const struct gcb_histogram *h, int e)
{
    /* number of bins for each exponent, which stands above the 23 bits of the mantissa */
    const size_t each = (size_t)1 << (23 - GCB_HISTOGRAM_SHIFT);
    /* distance of the first bins of the octave from the bin of zeros, which is in the middle */
    const size_t first = 1 + (size_t)(e + 127) * each;
    uint64_t count = 0;

    for (size_t i = first; i < first + each; i++)
        count += h->bins[GCB_HISTOGRAM_BINS - i] + h->bins[GCB_HISTOGRAM_BINS + i];
    return count;
}

/* Returns the magnitude at which bin `i` of either sign begins: 0 for the first bin, 2^128 for the
 * bin after the last. */
static double edge(size_t i)
{
    return i == GCB_HISTOGRAM_BINS ? 0x1p128
                                   : (double)gcb_float_of((uint32_t)i << GCB_HISTOGRAM_SHIFT);
}

double gcb_histogram_share(const struct gcb_histogram *h, uint64_t count)
{
    return h->count ? (double)count / (double)h->count : NAN;
}

bool gcb_histogram_bin(struct gcb_histogram_bin *out, const struct gcb_histogram *h, size_t i)
{
    const size_t middle = GCB_HISTOGRAM_BINS;

    if (i > 2 * middle)
        return false;
    *out = (struct gcb_histogram_bin){.count = h->bins[i],
                                      .share = gcb_histogram_share(h, h->bins[i])};
    if (i > middle) {
        out->low = edge(i - middle - 1);
        out->high = edge(i - middle);
    } else if (i < middle) {
        out->low = -edge(middle - i);
        out->high = -edge(middle - i - 1);
    }
    return true;
}

/* ---- spectra ---- */

#define LEVEL_SHIFT 21 /* leaves two bits of the mantissa: four levels for each power of two */

static uint64_t spectrum_bins(uint64_t count)
{
    return gcb_fft_can(count) ? gcb_fft_bins(count, 0) : 0;
}

void gcb_spectrum_init(struct gcb_spectrum *s, uint64_t count)
{
    memset(s, 0, sizeof(*s));
    s->count = count;
    s->bins = spectrum_bins(count);
}

int gcb_spectrum_plan_for(struct gcb_spectrum_plan *plan, uint64_t count,
                          const struct gcb_kernels *kernels, const struct gcb_queue *queue,
                          struct gcb_diag *diag)
{
    const uint64_t bins = spectrum_bins(count);
    const struct gcb_fft_config config = {
        .n = count, .threads = queue->threads, .fns = &kernels->fft};

    if (bins == 0)
        return 0;
    if (plan->count != count) {
        gcb_spectrum_plan_fini(plan);
        plan->count = count;
        plan->work = gcb_alloc_array(2 * bins, sizeof(*plan->work));
        if (plan->work)
            gcb_fft_create(&plan->fft, &config);
    }
    if (plan->fft && gcb_fft_has_room(plan->fft))
        return 0;
    gcb_spectrum_plan_fini(plan);
    return gcb_diag_nomem(diag, 2 * bins * sizeof(*plan->work), "a spectrum");
}

void gcb_spectrum_plan_fini(struct gcb_spectrum_plan *plan)
{
    gcb_fft_destroy(plan->fft);
    gcb_free(plan->work);
    *plan = (struct gcb_spectrum_plan){0};
}

static size_t count_bands(const struct gcb_spectrum *s)
{
    return s->bins < GCB_SPECTRUM_BANDS ? (size_t)s->bins : GCB_SPECTRUM_BANDS;
}

/* Returns the first bin of band i, or the number of bins if i is the number of bands. */
static uint64_t band_start(const struct gcb_spectrum *s, size_t i)
{
    const uint64_t n = count_bands(s), each = s->bins / n, rest = s->bins % n;

    return i * each + (i < rest ? i : rest);
}

/* Adds the energy of one bin of the transform `work` to its band and its level. */
static void add_bin(struct gcb_spectrum *s, size_t band, uint64_t bin, const float *work)
{
    const double re = (double)work[2 * bin], im = (double)work[2 * bin + 1];
    const double square = (re * re + im * im) / (double)s->count, magnitude = sqrt(square);
    /* a bin without a mirror image: the first, and for an even length the last */
    const bool single = bin == 0 || (s->count % 2 == 0 && bin == s->bins - 1);
    const double energy = single ? square : 2.0 * square;
    const size_t level = gcb_bits_of((float)fmin(magnitude, (double)FLT_MAX)) >> LEVEL_SHIFT;

    s->energy[band] += energy;
    s->total += energy;
    if (magnitude > s->largest[band])
        s->largest[band] = magnitude;
    s->by_level[level] += energy;
    s->bins_by_level[level]++;
}

void gcb_spectrum_add(struct gcb_spectrum *s, const struct gcb_spectrum_plan *plan,
                      const struct gcb_view *x)
{
    if (s->bins == 0)
        return;
    s->tensors++;
    gcb_fft_forward(plan->fft, x->data, plan->work);
    for (size_t band = 0; band < count_bands(s); band++)
        for (uint64_t bin = band_start(s, band); bin < band_start(s, band + 1); bin++)
            add_bin(s, band, bin, plan->work);
}

bool gcb_spectrum_band(struct gcb_spectrum_band *out, const struct gcb_spectrum *s, size_t i)
{
    uint64_t first, last;

    if (s->bins == 0 || i >= count_bands(s))
        return false;
    first = band_start(s, i);
    last = band_start(s, i + 1);
    out->bins = last - first;
    out->low = (double)first / (double)s->count;
    out->high = (double)last / (double)s->count;
    out->energy = s->energy[i];
    out->largest = s->largest[i];
    out->share = s->total > 0.0 ? s->energy[i] / s->total : NAN;
    return true;
}

size_t gcb_spectrum_curve(struct gcb_spectrum_point out[GCB_SPECTRUM_LEVELS],
                          const struct gcb_spectrum *s)
{
    const double all = (double)s->bins * (double)s->tensors;
    double energy = 0.0;
    uint64_t kept = 0;
    size_t n = 0;

    for (size_t level = GCB_SPECTRUM_LEVELS; level-- > 0;) {
        if (s->bins_by_level[level] == 0)
            continue;
        kept += s->bins_by_level[level];
        energy += s->by_level[level];
        out[n++] = (struct gcb_spectrum_point){
            .density = (double)kept / all,
            .energy_share = s->total > 0.0 ? energy / s->total : NAN,
            .threshold = (double)gcb_float_of((uint32_t)level << LEVEL_SHIFT),
        };
    }
    return n;
}

double gcb_spectrum_kept(const struct gcb_spectrum *s, double density)
{
    struct gcb_spectrum_point points[GCB_SPECTRUM_LEVELS], last = {.density = 0.0};
    const size_t n = gcb_spectrum_curve(points, s);

    for (size_t i = 0; i < n; last = points[i++])
        if (points[i].density >= density)
            return last.energy_share + (points[i].energy_share - last.energy_share) *
                                           (density - last.density) /
                                           (points[i].density - last.density);
    return s->total > 0.0 ? 1.0 : NAN;
}

/* ---- the tensors of a dump ---- */

/* A dataset of the source. */
struct entry {
    const char *path;
    size_t tensor; /* the dataset's index in the source */
};

/* The entries with the same path, which follow each other. */
struct run {
    size_t tensor; /* index of the path's first dataset in the source */
    size_t first;  /* index of the first entry */
    size_t count;  /* number of entries */
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
    struct gcb_spectrum_plan plan; /* for the size of the last transform */
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
static int list_datasets(struct gcb_survey *s)
{
    const size_t n = gcb_source_count(s->source);
    uint64_t most = 0;

    s->entries = gcb_must_array(n, sizeof(*s->entries));
    s->runs = gcb_must_array(n, sizeof(*s->runs));

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
    struct gcb_survey *s = gcb_must_zero(1, sizeof(*s));

    s->source = source;
    s->config = *config;
    if (list_datasets(s)) {
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

/* True if the datasets of the run have a common spectrum: all have the same size, above 0. */
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
    out->uniform &= t->dtype == out->first->dtype && t->rank == out->first->rank &&
                    memcmp(t->dims, out->first->dims, t->rank * sizeof(t->dims[0])) == 0;
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
        err = gcb_spectrum_plan_for(&s->plan, out->first->count, s->config.kernels, s->config.queue,
                                    diag);
    }
    for (size_t j = 0; !err && j < run->count; j++)
        err = add_dataset(s, &e[j], out, diag);
    return err;
}

/* ---- rows ---- */

/* Returns the item's shape as text, such as "64x3x3x3" or "scalar". Returns NULL if the datasets
 * have different shapes or types. */
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

/* Starts a row with the fields that all rows of a tensor share. */
static void begin_row(struct gcb_row *row, const struct gcb_shape_rows *to, enum gcb_record record)
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

/* Puts a row for each bin that is not empty. */
static int put_bins(const struct gcb_shape_rows *to, const struct gcb_histogram *h,
                    struct gcb_diag *diag)
{
    struct gcb_histogram_bin bin;
    int err = 0;

    for (size_t i = 0; !err && gcb_histogram_bin(&bin, h, i); i++) {
        struct gcb_row row;

        if (bin.count == 0)
            continue;
        begin_row(&row, to, GCB_RECORD_HISTOGRAM);
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

        begin_row(&row, to, GCB_RECORD_SPECTRUM);
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

        begin_row(&row, to, GCB_RECORD_SPECTRUM);
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
