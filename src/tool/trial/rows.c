#include "src/tool/trial/rows.h"

#include <math.h>
#include <string.h>

#include "src/tool/rows/sink.h"

/* Timings of one operation, as a row shows them. */
struct timing {
    const char *name; /* "encode" */
    double seconds, min, mad, low, high;
    const double *samples;
    size_t count;
};

void gcb_rows_put_setting(struct gcb_row *row, const struct gcb_rows_setting *s,
                          const struct gcb_method *method)
{
    gcb_row_text(row, "scope", s->scope);
    gcb_row_text(row, "order", s->order);
    gcb_row_method(row, method);
    gcb_row_text(row, "device", s->device);
    gcb_row_u64(row, "threads", (uint64_t)s->threads);
    gcb_row_text(row, "isa", s->isa);
}

void gcb_rows_put_bytes(struct gcb_row *row, const struct gcb_tally *t)
{
    gcb_row_u64(row, "wire_bytes", t->wire_bytes);
    gcb_row_u64(row, "header_bytes", t->header_bytes);
    gcb_row_u64(row, "scale_bytes", t->scale_bytes);
    gcb_row_u64(row, "value_bytes", t->value_bytes);
    gcb_row_u64(row, "index_bytes", t->index_bytes);
    gcb_row_u64(row, "stored", t->stored);
    gcb_row_u64(row, "dense", t->dense);
}

static void put_sizes(struct gcb_row *row, const struct gcb_tally *t)
{
    gcb_row_u64(row, "messages", t->messages);
    gcb_row_u64(row, "elements", t->elements);
    gcb_row_text(row, "input_dtype", t->mixed_dtypes ? "mixed" : gcb_dtype_name(t->dtype));
    gcb_row_u64(row, "input_bytes", t->input_bytes);
    gcb_rows_put_bytes(row, t);
    gcb_row_u64(row, "nonfinite", t->nonfinite);
}

static double per_element(double bits, const struct gcb_tally *t)
{
    return t->elements ? bits / (double)t->elements : NAN;
}

static void put_rates(struct gcb_row *row, const struct gcb_method *method,
                      const struct gcb_tally *t)
{
    const double fp32_bytes = 4.0 * (double)t->elements;

    gcb_row_real(row, "ratio", gcb_tally_ratio(t));
    gcb_row_real(row, "ratio_vs_fp32", t->wire_bytes ? fp32_bytes / (double)t->wire_bytes : NAN);
    gcb_row_real(row, "bits_per_element", gcb_tally_bits(t));
    gcb_row_real(row, "nominal_bits_per_element", per_element(t->nominal_bits, t));
    gcb_row_real(row, "entropy0_bits_per_element", per_element(t->entropy0_bits, t));
    gcb_row_real(row, "density_asked", gcb_tally_density_asked(t));
    gcb_row_real(row, "density", gcb_tally_density(t));
    if (t->asked_of)
        gcb_row_u64(row, "kept", t->kept);
    else
        gcb_row_null(row, "kept");
    if (method->codec->ops->clamped)
        gcb_row_u64(row, "clamped", t->clamped);
    else
        gcb_row_null(row, "clamped");
}

static void put_fidelity(struct gcb_row *row, const struct gcb_tally *t)
{
    struct gcb_fidelity_figures f;

    gcb_tally_figures(&f, t);
    gcb_row_real(row, "rel_l2", f.rel_l2);
    gcb_row_real(row, "cosine", f.cosine);
    gcb_row_real(row, "max_abs_error", f.max_abs_error);
    gcb_row_real(row, "mean_error", f.mean_error);
    gcb_row_real(row, "sign_agreement", f.sign_agreement);
    gcb_row_real(row, "zeros_preserved", f.zeros_preserved);
    gcb_row_real(row, "snr_db", f.snr_db);
    gcb_row_real(row, "accuracy_gain_bits", f.accuracy_gain_bits);
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

/* Keys are copied by the row, so one short buffer serves them all. */
static const char *key(char buffer[40], const char *name, const char *rest)
{
    size_t n = 0;

    for (; *name; name++)
        buffer[n++] = *name;
    for (; *rest; rest++)
        buffer[n++] = *rest;
    buffer[n] = '\0';
    return buffer;
}

static void put_seconds(struct gcb_row *row, const struct timing *t)
{
    char k[40];

    gcb_row_real(row, key(k, t->name, "_seconds"), t->seconds);
    gcb_row_real(row, key(k, t->name, "_seconds_min"), t->min);
    gcb_row_real(row, key(k, t->name, "_seconds_mad"), t->mad);
    gcb_row_real(row, key(k, t->name, "_seconds_low"), t->low);
    gcb_row_real(row, key(k, t->name, "_seconds_high"), t->high);
    if (t->samples)
        gcb_row_json(row, key(k, t->name, "_seconds_samples"), array_of(t->samples, t->count));
    else
        gcb_row_null(row, key(k, t->name, "_seconds_samples"));
}

static void put_stages(struct gcb_row *row, const struct gcb_tally *t)
{
    static const char *const names[GCB_STAGES] = {
        [GCB_STAGE_TRANSFORM] = "transform_seconds",
        [GCB_STAGE_SELECT] = "select_seconds",
        [GCB_STAGE_QUANTISE] = "quantise_seconds",
        [GCB_STAGE_INDEX] = "index_seconds",
    };

    for (int i = 0; i < GCB_STAGES; i++)
        gcb_row_real(row, names[i], t->staged ? t->stage_seconds[i] : NAN);
}

/* What a row says of times; either operation's median absolute deviation and samples. */
struct times {
    double encode_mad, decode_mad;
    const double *encode, *decode; /* NULL: not shown */
    size_t encode_count, decode_count;
};

static void put_count(struct gcb_row *row, const char *name, bool known, uint64_t value)
{
    if (known)
        gcb_row_u64(row, name, value);
    else
        gcb_row_null(row, name);
}

/* Each element once, and the message once: the least that moves. */
static uint64_t device_bytes(const struct gcb_tally *t)
{
    return sizeof(float) * t->elements + t->wire_bytes;
}

static void put_device(struct gcb_row *row, const struct gcb_tally *t)
{
    const bool on = t->on_device > 0;

    gcb_row_real(row, "encode_kernel_seconds", on ? t->encode_kernel : NAN);
    gcb_row_real(row, "encode_kernel_seconds_low", on ? t->encode_kernel_low : NAN);
    gcb_row_real(row, "encode_kernel_seconds_high", on ? t->encode_kernel_high : NAN);
    gcb_row_real(row, "encode_transfer_seconds", on ? t->encode_transfer : NAN);
    gcb_row_real(row, "decode_kernel_seconds", on ? t->decode_kernel : NAN);
    gcb_row_real(row, "decode_kernel_seconds_low", on ? t->decode_kernel_low : NAN);
    gcb_row_real(row, "decode_kernel_seconds_high", on ? t->decode_kernel_high : NAN);
    gcb_row_real(row, "decode_transfer_seconds", on ? t->decode_transfer : NAN);
    put_count(row, "encode_launches", on, t->encode_launches);
    put_count(row, "decode_launches", on, t->decode_launches);
    put_count(row, "device_bytes", on, device_bytes(t));
    put_count(row, "gpu_clock_mhz", t->clock_mhz > 0, t->clock_mhz);
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
    const struct timing encode = {"encode",
                                  t->encode_seconds,
                                  t->encode_min,
                                  times->encode_mad,
                                  t->encode_low,
                                  t->encode_high,
                                  s->without_samples ? NULL : times->encode,
                                  times->encode_count};
    const struct timing decode = {"decode",
                                  t->decode_seconds,
                                  t->decode_min,
                                  times->decode_mad,
                                  t->decode_low,
                                  t->decode_high,
                                  s->without_samples ? NULL : times->decode,
                                  times->decode_count};

    put_seconds(row, &encode);
    put_seconds(row, &decode);
    gcb_row_text(row, "stop_reason", gcb_stop_name(t->stop));
    gcb_row_text(row, "cache", s->cache);
    put_stages(row, t);
    put_device(row, t);
    gcb_row_real(row, "encode_gbps", to);
    gcb_row_real(row, "decode_gbps", from);
    if (t->on_device) {
        gcb_row_real(row, "encode_bandwidth_share", device_share(s, t, t->encode_kernel));
        gcb_row_real(row, "decode_bandwidth_share", device_share(s, t, t->decode_kernel));
        return;
    }
    gcb_row_real(row, "encode_bandwidth_share", to / s->read_gbps);
    gcb_row_real(row, "decode_bandwidth_share", from / s->fill_gbps);
}

static void put_case(struct gcb_row *row, const struct gcb_rows_setting *s,
                     const struct gcb_method *method, const char *status, const char *reason)
{
    gcb_row_text(row, "suite", s->suite);
    gcb_rows_put_setting(row, s, method);
    gcb_row_text(row, "status", status);
    gcb_row_text(row, "reason", reason);
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

    gcb_row_init(row, "result");
    gcb_row_text(row, "file", trial->first->file);
    gcb_row_u64(row, "step", trial->plan->step);
    gcb_row_u64(row, "worker", trial->plan->worker);
    gcb_row_text(row, "tensor", trial->name);
    put_case(row, setting, method, cut ? "interrupted" : "ok", NULL);
    put_tally(row, method, &trial->tally);
    put_times(row, setting, &trial->tally, &times);
}

static void begin_summary(struct gcb_row *row, const char *file)
{
    gcb_row_init(row, "summary");
    gcb_row_text(row, "file", file);
    gcb_row_null(row, "step");
    gcb_row_null(row, "worker");
}

/* Figures of nothing would be zeros that nobody measured. */
static void put_nothing(struct gcb_row *row, const struct gcb_rows_setting *setting)
{
    gcb_row_text(row, "cache", setting->cache);
    for (const char *const *name = gcb_result_columns.names; *name; name++)
        if (strcmp(*name, "tensor") != 0 && !json_object_get(row->json, *name))
            gcb_row_null(row, *name);
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
