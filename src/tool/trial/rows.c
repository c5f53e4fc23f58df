#include "src/tool/trial/rows.h"

#include <math.h>

#include "src/tool/rows/results.h"
#include "src/tool/rows/sink.h"

/* Timings of one operation, as a row shows them. */
struct timing {
    double seconds, min, mad, low, high;
    const double *samples;
    size_t count;
};

void gcb_rows_put_setting(struct gcb_row *row, const struct gcb_rows_setting *s,
                          const struct gcb_method *method)
{
    gcb_row_text(row, GCB_FIELD_SCOPE, s->scope);
    gcb_row_text(row, GCB_FIELD_ORDER, s->order);
    gcb_row_method(row, method);
    gcb_row_text(row, GCB_FIELD_DEVICE, s->device);
    gcb_row_u64(row, GCB_FIELD_THREADS, (uint64_t)s->threads);
    gcb_row_text(row, GCB_FIELD_ISA, s->isa);
}

void gcb_rows_put_bytes(struct gcb_row *row, const struct gcb_tally *t)
{
    gcb_row_u64(row, GCB_FIELD_WIRE_BYTES, t->wire_bytes);
    gcb_row_u64(row, GCB_FIELD_HEADER_BYTES, t->header_bytes);
    gcb_row_u64(row, GCB_FIELD_SCALE_BYTES, t->scale_bytes);
    gcb_row_u64(row, GCB_FIELD_VALUE_BYTES, t->value_bytes);
    gcb_row_u64(row, GCB_FIELD_INDEX_BYTES, t->index_bytes);
    gcb_row_u64(row, GCB_FIELD_STORED, t->stored);
    gcb_row_u64(row, GCB_FIELD_DENSE, t->dense);
}

static void put_sizes(struct gcb_row *row, const struct gcb_tally *t)
{
    gcb_row_u64(row, GCB_FIELD_MESSAGES, t->messages);
    gcb_row_u64(row, GCB_FIELD_ELEMENTS, t->elements);
    gcb_row_text(row, GCB_FIELD_INPUT_DTYPE, t->mixed_dtypes ? "mixed" : gcb_dtype_name(t->dtype));
    gcb_row_u64(row, GCB_FIELD_INPUT_BYTES, t->input_bytes);
    gcb_rows_put_bytes(row, t);
    gcb_row_u64(row, GCB_FIELD_NONFINITE, t->nonfinite);
}

static double per_element(double bits, const struct gcb_tally *t)
{
    return t->elements ? bits / (double)t->elements : NAN;
}

static void put_rates(struct gcb_row *row, const struct gcb_method *method,
                      const struct gcb_tally *t)
{
    const double fp32_bytes = 4.0 * (double)t->elements;

    gcb_row_real(row, GCB_FIELD_RATIO, gcb_tally_ratio(t));
    gcb_row_real(row, GCB_FIELD_RATIO_VS_FP32,
                 t->wire_bytes ? fp32_bytes / (double)t->wire_bytes : NAN);
    gcb_row_real(row, GCB_FIELD_BITS_PER_ELEMENT, gcb_tally_bits(t));
    gcb_row_real(row, GCB_FIELD_NOMINAL_BITS_PER_ELEMENT, per_element(t->nominal_bits, t));
    gcb_row_real(row, GCB_FIELD_ENTROPY0_BITS_PER_ELEMENT, per_element(t->entropy0_bits, t));
    gcb_row_real(row, GCB_FIELD_DENSITY_ASKED, gcb_tally_density_asked(t));
    gcb_row_real(row, GCB_FIELD_DENSITY, gcb_tally_density(t));
    if (t->asked_of)
        gcb_row_u64(row, GCB_FIELD_KEPT, t->kept);
    else
        gcb_row_null(row, GCB_FIELD_KEPT);
    if (method->codec->ops->clamped)
        gcb_row_u64(row, GCB_FIELD_CLAMPED, t->clamped);
    else
        gcb_row_null(row, GCB_FIELD_CLAMPED);
}

static void put_fidelity(struct gcb_row *row, const struct gcb_tally *t)
{
    struct gcb_fidelity_figures f;

    gcb_tally_figures(&f, t);
    gcb_row_real(row, GCB_FIELD_REL_L2, f.rel_l2);
    gcb_row_real(row, GCB_FIELD_COSINE, f.cosine);
    gcb_row_real(row, GCB_FIELD_MAX_ABS_ERROR, f.max_abs_error);
    gcb_row_real(row, GCB_FIELD_MEAN_ERROR, f.mean_error);
    gcb_row_real(row, GCB_FIELD_SIGN_AGREEMENT, f.sign_agreement);
    gcb_row_real(row, GCB_FIELD_ZEROS_PRESERVED, f.zeros_preserved);
    gcb_row_real(row, GCB_FIELD_SNR_DB, f.snr_db);
    gcb_row_real(row, GCB_FIELD_ACCURACY_GAIN_BITS, f.accuracy_gain_bits);
}

static json_t *array_of(const double *values, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < count; i++)
        if (json_array_append_new(array, gcb_row_make_real(values[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* The fields of one direction's times. */
struct timing_fields {
    enum gcb_field seconds, min, mad, low, high, samples;
};
static const struct timing_fields encode_fields = {
    .seconds = GCB_FIELD_ENCODE_SECONDS,
    .min = GCB_FIELD_ENCODE_SECONDS_MIN,
    .mad = GCB_FIELD_ENCODE_SECONDS_MAD,
    .low = GCB_FIELD_ENCODE_SECONDS_LOW,
    .high = GCB_FIELD_ENCODE_SECONDS_HIGH,
    .samples = GCB_FIELD_ENCODE_SECONDS_SAMPLES,
};
static const struct timing_fields decode_fields = {
    .seconds = GCB_FIELD_DECODE_SECONDS,
    .min = GCB_FIELD_DECODE_SECONDS_MIN,
    .mad = GCB_FIELD_DECODE_SECONDS_MAD,
    .low = GCB_FIELD_DECODE_SECONDS_LOW,
    .high = GCB_FIELD_DECODE_SECONDS_HIGH,
    .samples = GCB_FIELD_DECODE_SECONDS_SAMPLES,
};

static void put_seconds(struct gcb_row *row, const struct timing_fields *f, const struct timing *t)
{
    gcb_row_real(row, f->seconds, t->seconds);
    gcb_row_real(row, f->min, t->min);
    gcb_row_real(row, f->mad, t->mad);
    gcb_row_real(row, f->low, t->low);
    gcb_row_real(row, f->high, t->high);
    if (t->samples)
        gcb_row_json(row, f->samples, array_of(t->samples, t->count));
    else
        gcb_row_null(row, f->samples);
}

static void put_stages(struct gcb_row *row, const struct gcb_tally *t)
{
    static const enum gcb_field fields[GCB_STAGES] = {
        [GCB_STAGE_TRANSFORM] = GCB_FIELD_TRANSFORM_SECONDS,
        [GCB_STAGE_SELECT] = GCB_FIELD_SELECT_SECONDS,
        [GCB_STAGE_QUANTISE] = GCB_FIELD_QUANTISE_SECONDS,
        [GCB_STAGE_INDEX] = GCB_FIELD_INDEX_SECONDS,
    };

    for (int i = 0; i < GCB_STAGES; i++)
        gcb_row_real(row, fields[i], t->staged ? t->stage_seconds[i] : NAN);
}

/* What a row says of times; either operation's median absolute deviation and samples. */
struct times {
    double encode_mad, decode_mad;
    const double *encode, *decode; /* NULL: not shown */
    size_t encode_count, decode_count;
};

static void put_count(struct gcb_row *row, enum gcb_field field, bool known, uint64_t value)
{
    if (known)
        gcb_row_u64(row, field, value);
    else
        gcb_row_null(row, field);
}

/* Each element once, and the message once: the least that moves. */
static uint64_t device_bytes(const struct gcb_tally *t)
{
    return sizeof(float) * t->elements + t->wire_bytes;
}

static void put_device(struct gcb_row *row, const struct gcb_tally *t)
{
    const bool on = t->on_device > 0;

    gcb_row_real(row, GCB_FIELD_ENCODE_KERNEL_SECONDS, on ? t->encode_kernel : NAN);
    gcb_row_real(row, GCB_FIELD_ENCODE_KERNEL_SECONDS_LOW, on ? t->encode_kernel_low : NAN);
    gcb_row_real(row, GCB_FIELD_ENCODE_KERNEL_SECONDS_HIGH, on ? t->encode_kernel_high : NAN);
    gcb_row_real(row, GCB_FIELD_ENCODE_TRANSFER_SECONDS, on ? t->encode_transfer : NAN);
    gcb_row_real(row, GCB_FIELD_DECODE_KERNEL_SECONDS, on ? t->decode_kernel : NAN);
    gcb_row_real(row, GCB_FIELD_DECODE_KERNEL_SECONDS_LOW, on ? t->decode_kernel_low : NAN);
    gcb_row_real(row, GCB_FIELD_DECODE_KERNEL_SECONDS_HIGH, on ? t->decode_kernel_high : NAN);
    gcb_row_real(row, GCB_FIELD_DECODE_TRANSFER_SECONDS, on ? t->decode_transfer : NAN);
    put_count(row, GCB_FIELD_ENCODE_LAUNCHES, on, t->encode_launches);
    put_count(row, GCB_FIELD_DECODE_LAUNCHES, on, t->decode_launches);
    put_count(row, GCB_FIELD_DEVICE_BYTES, on, device_bytes(t));
    put_count(row, GCB_FIELD_GPU_CLOCK_MHZ, t->clock_mhz > 0, t->clock_mhz);
}

/* Of a device's copy bandwidth. */
static double device_share(const struct gcb_rows_setting *s, const struct gcb_tally *t,
                           double seconds)
{
    return (double)device_bytes(t) / seconds / 1e9 / s->device_copy_gbps;
}

static void put_times(struct gcb_row *row, const struct gcb_rows_setting *s,
                      const struct gcb_tally *t, const struct times *times)
{
    const double to = gcb_tally_encode_gbps(t), from = gcb_tally_decode_gbps(t);
    const struct timing encode = {t->encode_seconds,  t->encode_min,
                                  times->encode_mad,  t->encode_low,
                                  t->encode_high,     s->without_samples ? NULL : times->encode,
                                  times->encode_count};
    const struct timing decode = {t->decode_seconds,  t->decode_min,
                                  times->decode_mad,  t->decode_low,
                                  t->decode_high,     s->without_samples ? NULL : times->decode,
                                  times->decode_count};

    put_seconds(row, &encode_fields, &encode);
    put_seconds(row, &decode_fields, &decode);
    gcb_row_text(row, GCB_FIELD_STOP_REASON, gcb_stop_name(t->stop));
    gcb_row_text(row, GCB_FIELD_CACHE, s->cache);
    put_stages(row, t);
    put_device(row, t);
    gcb_row_real(row, GCB_FIELD_ENCODE_GBPS, to);
    gcb_row_real(row, GCB_FIELD_DECODE_GBPS, from);
    if (t->on_device) {
        gcb_row_real(row, GCB_FIELD_ENCODE_BANDWIDTH_SHARE, device_share(s, t, t->encode_kernel));
        gcb_row_real(row, GCB_FIELD_DECODE_BANDWIDTH_SHARE, device_share(s, t, t->decode_kernel));
        return;
    }
    gcb_row_real(row, GCB_FIELD_ENCODE_BANDWIDTH_SHARE, to / s->read_gbps);
    gcb_row_real(row, GCB_FIELD_DECODE_BANDWIDTH_SHARE, from / s->fill_gbps);
}

static void put_case(struct gcb_row *row, const struct gcb_rows_setting *s,
                     const struct gcb_method *method, const char *status, const char *reason)
{
    gcb_row_text(row, GCB_FIELD_SUITE, s->suite);
    gcb_rows_put_setting(row, s, method);
    gcb_row_text(row, GCB_FIELD_STATUS, status);
    gcb_row_text(row, GCB_FIELD_REASON, reason);
}

static void put_tally(struct gcb_row *row, const struct gcb_method *method,
                      const struct gcb_tally *t)
{
    put_sizes(row, t);
    put_rates(row, method, t);
    put_fidelity(row, t);
}

void gcb_rows_result(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_run_trial *trial)
{
    const struct gcb_samples *e = trial->encode, *d = trial->decode;
    const struct times times = {e->stats.mad, d->stats.mad, e->seconds,
                                d->seconds,   e->count,     d->count};
    const bool cut = trial->tally.stop == GCB_STOP_INTERRUPTED;

    gcb_row_init(row, GCB_RECORD_RESULT);
    gcb_row_text(row, GCB_FIELD_FILE, trial->first->file);
    gcb_row_u64(row, GCB_FIELD_STEP, trial->plan->step);
    gcb_row_u64(row, GCB_FIELD_WORKER, trial->plan->worker);
    gcb_row_text(row, GCB_FIELD_TENSOR, trial->name);
    put_case(row, setting, method, cut ? "interrupted" : "ok", NULL);
    put_tally(row, method, &trial->tally);
    put_times(row, setting, &trial->tally, &times);
}

static void begin_summary(struct gcb_row *row, const char *file)
{
    gcb_row_init(row, GCB_RECORD_SUMMARY);
    gcb_row_text(row, GCB_FIELD_FILE, file);
    gcb_row_null(row, GCB_FIELD_STEP);
    gcb_row_null(row, GCB_FIELD_WORKER);
}

/* Figures of nothing would be zeros that nobody measured. */
static void put_nothing(struct gcb_row *row, const struct gcb_rows_setting *setting)
{
    enum gcb_field columns[GCB_FIELDS];
    size_t count;

    gcb_row_text(row, GCB_FIELD_CACHE, setting->cache);
    count = gcb_field_columns(columns, GCB_RESULT_RECORDS);
    for (size_t i = 0; i < count; i++)
        if (columns[i] != GCB_FIELD_TENSOR && !gcb_results_json(row->json, columns[i]))
            gcb_row_null(row, columns[i]);
}

void gcb_rows_summary(struct gcb_row *row, const struct gcb_rows_setting *setting,
                      const struct gcb_method *method, const struct gcb_run_total *total,
                      const char *file, bool interrupted)
{
    const struct gcb_sample_sums *e = &total->encode, *d = &total->decode;
    const struct times times = {
        gcb_sample_sums_mad(e), gcb_sample_sums_mad(d), e->seconds, d->seconds, e->count, d->count};
    const bool failed = total->failure.status != 0;

    begin_summary(row, file);
    put_case(row, setting, method,
             gcb_run_unsupported(total) ? "unsupported"
             : failed                   ? "failed"
             : interrupted              ? "interrupted"
                                        : "ok",
             failed ? total->failure.text : NULL);
    if (total->tally.messages == 0) {
        put_nothing(row, setting);
        return;
    }
    put_tally(row, method, &total->tally);
    put_times(row, setting, &total->tally, &times);
}

void gcb_rows_unsupported(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const char *file, const char *reason)
{
    begin_summary(row, file);
    put_case(row, setting, method, "unsupported", reason);
    put_nothing(row, setting);
}
