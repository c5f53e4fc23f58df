#include "src/bench/rows.h"

#include <math.h>

/* Timings of one operation, as a row shows them. */
struct timing {
    const char *name; /* "encode" */
    double seconds, min, mad, gbps;
    double bandwidth; /* what it is a share of */
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
    gcb_row_json(row, key(k, t->name, "_seconds_samples"), array_of(t->samples, t->count));
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

static void put_times(struct gcb_row *row, const struct gcb_tally *t, const struct timing *encode,
                      const struct timing *decode)
{
    put_seconds(row, encode);
    put_seconds(row, decode);
    gcb_row_null(row, "stop_reason");
    gcb_row_null(row, "cache");
    put_stages(row, t);
    gcb_row_null(row, "encode_kernel_seconds");
    gcb_row_null(row, "encode_transfer_seconds");
    gcb_row_real(row, "encode_gbps", encode->gbps);
    gcb_row_real(row, "decode_gbps", decode->gbps);
    gcb_row_real(row, "encode_bandwidth_share", encode->gbps / encode->bandwidth);
    gcb_row_real(row, "decode_bandwidth_share", decode->gbps / decode->bandwidth);
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
    const struct gcb_tally *t = &trial->tally;
    const struct gcb_samples *e = trial->encode, *d = trial->decode;
    const struct timing encode = {"encode",
                                  t->encode_seconds,
                                  t->encode_min,
                                  e->stats.mad,
                                  gcb_tally_encode_gbps(t),
                                  setting->read_gbps,
                                  e->seconds,
                                  e->count};
    const struct timing decode = {"decode",
                                  t->decode_seconds,
                                  t->decode_min,
                                  d->stats.mad,
                                  gcb_tally_decode_gbps(t),
                                  setting->fill_gbps,
                                  d->seconds,
                                  d->count};

    gcb_row_init(row, "result");
    gcb_row_text(row, "file", trial->first->file);
    gcb_row_u64(row, "step", trial->plan->step);
    gcb_row_u64(row, "worker", trial->plan->worker);
    gcb_row_text(row, "tensor", trial->name);
    gcb_rows_put_setting(row, setting, method);
    gcb_row_text(row, "status", "ok");
    put_tally(row, method, t);
    put_times(row, t, &encode, &decode);
}

void gcb_rows_summary(struct gcb_row *row, const struct gcb_rows_setting *setting,
                      const struct gcb_method *method, const struct gcb_run_total *total,
                      const char *file, const char *status)
{
    const struct gcb_tally *t = &total->tally;
    const struct gcb_sample_sums *e = &total->encode, *d = &total->decode;
    const struct timing encode = {"encode",
                                  t->encode_seconds,
                                  t->encode_min,
                                  gcb_sample_sums_mad(e),
                                  gcb_tally_encode_gbps(t),
                                  setting->read_gbps,
                                  e->seconds,
                                  e->count};
    const struct timing decode = {"decode",
                                  t->decode_seconds,
                                  t->decode_min,
                                  gcb_sample_sums_mad(d),
                                  gcb_tally_decode_gbps(t),
                                  setting->fill_gbps,
                                  d->seconds,
                                  d->count};

    gcb_row_init(row, "summary");
    gcb_row_text(row, "file", file);
    gcb_row_null(row, "step");
    gcb_row_null(row, "worker");
    gcb_rows_put_setting(row, setting, method);
    gcb_row_text(row, "status", status);
    put_tally(row, method, t);
    put_times(row, t, &encode, &decode);
}
