#include "src/tool/measure/shape_rows.h"

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
    char shape[GCB_SHAPE_TEXT];

    gcb_row_init(row, GCB_RECORD_TENSOR);
    gcb_row_text(row, GCB_FIELD_FILE, item->first->file);
    gcb_row_text(row, GCB_FIELD_TENSOR, item->first->path);
    gcb_row_text(row, GCB_FIELD_SHAPE, shape_of(shape, item));
    gcb_row_text(row, GCB_FIELD_INPUT_DTYPE,
                 item->uniform ? gcb_dtype_name(item->first->dtype) : NULL);
    gcb_row_u64(row, GCB_FIELD_DATASETS, item->datasets);
    gcb_row_u64(row, GCB_FIELD_ELEMENTS, m->count);
    gcb_row_real(row, GCB_FIELD_MEAN, gcb_moments_mean(m));
    gcb_row_real(row, GCB_FIELD_DEVIATION, gcb_moments_deviation(m));
    gcb_row_real(row, GCB_FIELD_MAX_ABS, gcb_moments_max_abs(m));
    gcb_row_real(row, GCB_FIELD_KURTOSIS, gcb_moments_kurtosis(m));
    gcb_row_real(row, GCB_FIELD_L2, gcb_moments_l2(m));
    gcb_row_u64(row, GCB_FIELD_ZEROS, m->zeros);
    gcb_row_real(row, GCB_FIELD_ZEROS_SHARE, gcb_moments_zeros(m));
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
    const size_t n = gcb_spectrum_curve(points, GCB_SPECTRUM_LEVELS, s);
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
