#include "src/tool/run/rows.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/lib/exchange/exchange.h"
#include "src/tool/rows/results.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/sums.h"

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

/* A member of struct gcb_tally that rows have as a field. */
struct member {
    enum gcb_field field;
    size_t offset;
    bool real; /* a double, not a uint64_t */
};

#define COUNT(field, name) GCB_FIELD_##field, offsetof(struct gcb_tally, name), false
#define REAL(field, name) GCB_FIELD_##field, offsetof(struct gcb_tally, name), true
#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

/* The members that gcb_rows_put_bytes writes. */
static const struct member bytes[] = {
    {COUNT(WIRE_BYTES, wire_bytes)},
    {COUNT(HEADER_BYTES, header_bytes)},
    {COUNT(SCALE_BYTES, scale_bytes)},
    {COUNT(VALUE_BYTES, value_bytes)},
    {COUNT(INDEX_BYTES, index_bytes)},
    {COUNT(STORED, stored)},
    {COUNT(DENSE, dense)},
};

/* The members in the field `sums`, which is an object. */
static const struct member sums[] = {
    {REAL(INPUT_SQUARES, fidelity.xx)},
    {REAL(DECODED_SQUARES, fidelity.yy)},
    {REAL(PRODUCTS, fidelity.xy)},
    {REAL(ERROR_SQUARES, fidelity.dd)},
    {REAL(ERRORS, fidelity.d)},
    {COUNT(SAME_SIGNS, fidelity.same_sign)},
    {COUNT(ZEROS, fidelity.zeros)},
    {COUNT(ZEROS_KEPT, fidelity.zeros_kept)},
    {COUNT(ELEMENTS, fidelity.elements)},
    {COUNT(NONFINITE, fidelity.nonfinite)},
    {COUNT(NONFINITE_KEPT, fidelity.nonfinite_kept)},
    {REAL(SCALE_SQUARES, fidelity.split.scale)},
    {REAL(DEAD_ZONE_SQUARES, fidelity.split.dead_zone)},
    {REAL(GRID_SQUARES, fidelity.split.grid)},
    {COUNT(KEPT, kept)},
    {COUNT(POSITIONS, positions)},
    {COUNT(CLAMPED, clamped)},
    {REAL(NOMINAL_BITS, nominal_bits)},
    {REAL(ENTROPY0_BITS, entropy0_bits)},
    {REAL(KEPT_ASKED, asked)},
    {COUNT(SPARSE_ELEMENTS, asked_of)},
};

/* More members that gcb_rows_tally reads. Null counts as 0, because some of these fields are null
 * without sums or a device. */
static const struct member counts[] = {
    {COUNT(MESSAGES, messages)},         {COUNT(ELEMENTS, elements)},
    {COUNT(INPUT_BYTES, input_bytes)},   {COUNT(NONFINITE, nonfinite)},
    {COUNT(SUM_MESSAGES, sum_messages)}, {COUNT(GROUP_MESSAGES, group)},
    {COUNT(GPU_CLOCK_MHZ, clock_mhz)},
};

/* Writes the members of the tally that `table` lists. */
static void put_members(struct gcb_row *row, const struct gcb_tally *t, const struct member *table,
                        size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const void *at = (const char *)t + table[i].offset;

        if (table[i].real)
            gcb_row_real(row, table[i].field, *(const double *)at);
        else
            gcb_row_u64(row, table[i].field, *(const uint64_t *)at);
    }
}

void gcb_rows_put_bytes(struct gcb_row *row, const struct gcb_tally *t)
{
    put_members(row, t, bytes, LENGTH(bytes));
}

static void put_sizes(struct gcb_row *row, const struct gcb_tally *t)
{
    gcb_row_u64(row, GCB_FIELD_MESSAGES, t->messages);
    /* only totals count exchanges; a single message belongs to one exchange */
    gcb_row_u64(row, GCB_FIELD_EXCHANGES, t->exchanges ? t->exchanges : 1);
    gcb_row_bool(row, GCB_FIELD_FIXED_LENGTH, t->varying == 0);
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

/* Writes ratios, sizes per element, and how many elements were kept or clamped. */
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
    gcb_row_known_u64(row, GCB_FIELD_KEPT, t->asked_of, t->kept);
    gcb_row_known_u64(row, GCB_FIELD_CLAMPED, method->codec->ops->clamps, t->clamped);
}

static void put_fidelity(struct gcb_row *row, const struct gcb_tally *t)
{
    const struct gcb_fidelity_figures figures = gcb_tally_figures(t);

    for (enum gcb_field field = 0; field < GCB_FIELDS; field++) {
        const double *figure = gcb_fidelity_figure(&figures, field);

        if (figure)
            gcb_row_real(row, field, *figure);
    }
}

const struct gcb_times_fields *const gcb_rows_times[GCB_TIMED] = {
    &gcb_encode_fields, &gcb_decode_fields, &gcb_sum_fields, &gcb_sum16_fields};

/* Writes the median of times, their minimum, spread and samples, and the median's interval. */
static void put_seconds(struct gcb_row *row, const struct gcb_rows_setting *s,
                        const struct gcb_times_fields *fields, const struct gcb_times *t,
                        const struct gcb_sample_sums *samples)
{
    gcb_row_real(row, fields->seconds, t->seconds);
    gcb_row_real(row, fields->min, t->min);
    gcb_row_real(row, fields->mad, gcb_sample_sums_mad(samples));
    gcb_row_real(row, fields->low, t->low);
    gcb_row_real(row, fields->high, t->high);
    gcb_row_reals(row, fields->samples,
                  s->without_samples || !samples->count ? NULL : samples->seconds, samples->count);
}

/* Returns the least bytes that encoding or decoding moves in memory: each element once, and the
 * message once. */
static uint64_t device_bytes(const struct gcb_tally *t)
{
    return sizeof(float) * t->elements + t->wire_bytes;
}

/* Returns the throughput as a share of the CPU's bandwidth `gbps`, or on a device of its copy
 * bandwidth. */
static double bandwidth_share(const struct gcb_rows_setting *s, const struct gcb_tally *t,
                              const struct gcb_times *times, double gbps)
{
    if (t->on_device)
        return (double)device_bytes(t) / times->kernel / 1e9 / s->device_copy_gbps;
    return gcb_tally_gbps(t, times) / gbps;
}

/* Writes the throughput, and what only encoding and decoding have: stages, times by the device's
 * events, share of the bandwidth. `gbps`: bandwidth of the CPU. */
static void put_coding(struct gcb_row *row, const struct gcb_rows_setting *s,
                       const struct gcb_times_fields *fields, const struct gcb_tally *tally,
                       const struct gcb_times *t, double gbps)
{
    const bool on_device = tally->on_device > 0;

    for (int k = 0; k < GCB_STAGES; k++)
        gcb_row_real(row, fields->stages[k], t->staged ? t->stage[k] : NAN);
    gcb_row_real(row, fields->kernel, on_device ? t->kernel : NAN);
    gcb_row_real(row, fields->kernel_low, on_device ? t->kernel_low : NAN);
    gcb_row_real(row, fields->kernel_high, on_device ? t->kernel_high : NAN);
    gcb_row_real(row, fields->transfer, on_device ? t->transfer : NAN);
    gcb_row_known_u64(row, fields->launches, on_device, t->launches);
    gcb_row_real(row, fields->gbps, gcb_tally_gbps(tally, t));
    gcb_row_real(row, fields->bandwidth_share, bandwidth_share(s, tally, t, gbps));
}

static void put_times(struct gcb_row *row, const struct gcb_rows_setting *s,
                      const struct gcb_tally *t, const struct gcb_sample_sums samples[GCB_TIMED])
{
    const struct gcb_times sum = gcb_tally_sum(t, GCB_TIMED_SUM);
    const struct gcb_times sum16 = gcb_tally_sum(t, GCB_TIMED_SUM16);
    const struct gcb_times *const times[] = {&t->encode, &t->decode, &sum, &sum16};
    const bool on_device = t->on_device > 0;

    for (int i = 0; i < GCB_TIMED; i++)
        put_seconds(row, s, gcb_rows_times[i], times[i], &samples[i]);
    gcb_row_text(row, GCB_FIELD_SUM_STOP_REASON, gcb_stop_name(t->sum_stop));
    gcb_row_known_u64(row, GCB_FIELD_SUM_MESSAGES, t->sum_messages, t->sum_messages);
    gcb_row_real(row, gcb_sum_fields.gbps, gcb_tally_gbps(t, &sum));
    gcb_row_real(row, gcb_sum16_fields.gbps, GCB_SUMS_MESSAGES * gcb_tally_gbps(t, &sum16));
    gcb_row_text(row, GCB_FIELD_STOP_REASON, gcb_stop_name(t->stop));
    gcb_row_text(row, GCB_FIELD_CACHE, s->cache);
    put_coding(row, s, &gcb_encode_fields, t, &t->encode, s->read_gbps);
    gcb_row_real(row, GCB_FIELD_GAIN_THROUGHPUT,
                 gcb_tally_gbps(t, &t->encode) * gcb_tally_figures(t).compression_gain);
    put_coding(row, s, &gcb_decode_fields, t, &t->decode, s->fill_gbps);
    gcb_row_known_u64(row, GCB_FIELD_GROUP_MESSAGES, on_device, t->group);
    gcb_row_known_u64(row, GCB_FIELD_DEVICE_BYTES, on_device, device_bytes(t));
    gcb_row_known_u64(row, GCB_FIELD_GPU_CLOCK_MHZ, t->clock_mhz > 0, t->clock_mhz);
}

/* Writes the collectives that may carry the method's messages, the collective that carries them,
 * and its number of rounds. If the user chose a collective, it is the only one that may. */
static void put_collectives(struct gcb_row *row, const struct gcb_method *method)
{
    const unsigned can = gcb_method_collectives(method), rounds = gcb_exchange_rounds(method);
    const enum gcb_collective own = gcb_method_collective(method);
    const unsigned may = gcb_method_gives_collective(method) ? GCB_COLLECTIVE_BIT(own) : can;
    json_t *names = json_array();

    for (unsigned i = 0; gcb_collective_names[i]; i++)
        if (may & GCB_COLLECTIVE_BIT(i))
            gcb_json_append(names, json_string(gcb_collective_names[i]));
    gcb_row_json(row, GCB_FIELD_COLLECTIVES, names);
    gcb_row_text(row, GCB_FIELD_COLLECTIVE, gcb_collective_names[own]);
    gcb_row_known_u64(row, GCB_FIELD_ROUNDS, rounds > 0, rounds);
}

/* Writes the fields that say what was measured, and whether that succeeded. */
static void put_case(struct gcb_row *row, const struct gcb_rows_setting *s,
                     const struct gcb_method *method, const char *status, const char *reason)
{
    gcb_row_text(row, GCB_FIELD_SUITE, s->suite);
    gcb_row_text(row, GCB_FIELD_SHUFFLE, s->shuffle);
    gcb_rows_put_setting(row, s, method);
    put_collectives(row, method);
    gcb_row_text(row, GCB_FIELD_STATUS, status);
    gcb_row_words(row, GCB_FIELD_REASON, reason);
    gcb_row_text(row, GCB_FIELD_TIMED, method->codec->timed);
}

static void put_tally(struct gcb_row *row, const struct gcb_method *method,
                      const struct gcb_tally *t)
{
    put_sizes(row, t);
    put_rates(row, method, t);
    put_fidelity(row, t);
}

/* Writes the field `policy`: the options that give the policy, or in a result the rule for its
 * tensor; null if no policy chose the method. `trial` is NULL in a summary. */
static void put_policy(struct gcb_row *row, const struct gcb_rows_setting *s,
                       const struct gcb_method *method, const struct gcb_run_trial *trial)
{
    const bool applies = s->policy && gcb_policy_is(method);
    char rule[2048];

    if (!applies || (trial && trial->plan->dense))
        gcb_row_null(row, GCB_FIELD_POLICY);
    else if (!trial)
        gcb_row_text(row, GCB_FIELD_POLICY, s->policy->text);
    else
        gcb_row_text(row, GCB_FIELD_POLICY,
                     gcb_policy_rule_text(rule, sizeof(rule),
                                          gcb_policy_rule(s->policy, trial->first->path)));
}

/* Writes the field `sums`, which gcb_rows_tally needs. */
static void put_sums(struct gcb_row *row, const struct gcb_tally *t)
{
    struct gcb_row object = {.json = json_object()};

    put_members(&object, t, sums, LENGTH(sums));
    gcb_row_u64(&object, GCB_FIELD_FOLLOWS, t->follows);
    gcb_row_json(row, GCB_FIELD_SUMS, object.json);
}

void gcb_rows_result(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_run_trial *trial)
{
    const bool cut = trial->tally.stop == GCB_STOP_INTERRUPTED;
    struct gcb_sample_sums samples[GCB_TIMED];

    for (int i = 0; i < GCB_TIMED; i++)
        samples[i] = (struct gcb_sample_sums){trial->samples[i].seconds, trial->samples[i].count};
    gcb_row_init(row, GCB_RECORD_RESULT);
    gcb_row_text(row, GCB_FIELD_FILE, trial->first->file);
    gcb_row_u64(row, GCB_FIELD_STEP, trial->plan->step);
    gcb_row_u64(row, GCB_FIELD_WORKER, trial->plan->worker);
    gcb_row_text(row, GCB_FIELD_TENSOR, trial->name);
    put_case(row, setting, method, cut ? "interrupted" : "ok", NULL);
    put_tally(row, method, &trial->tally);
    put_times(row, setting, &trial->tally, samples);
    put_policy(row, setting, method, trial);
    gcb_row_u64(row, GCB_FIELD_MESSAGE, trial->plan->number);
    put_sums(row, &trial->tally);
}

/* For a method without messages, and so without figures: writes the field `cache`, and null to
 * `sums` and to all columns of csv that the row does not have yet, except `tensor`. */
static void put_nulls(struct gcb_row *row, const struct gcb_rows_setting *setting)
{
    enum gcb_field columns[GCB_FIELDS];
    size_t count;

    gcb_row_text(row, GCB_FIELD_CACHE, setting->cache);
    count = gcb_field_columns(columns, GCB_RESULT_RECORDS);
    for (size_t i = 0; i < count; i++)
        if (columns[i] != GCB_FIELD_TENSOR && !gcb_results_json(row->json, columns[i]))
            gcb_row_null(row, columns[i]);
    gcb_row_null(row, GCB_FIELD_SUMS);
}

static const char *status_of(const struct gcb_run_total *total, bool interrupted)
{
    if (gcb_run_unsupported(total))
        return "unsupported";
    if (total->failure.status)
        return "failed";
    return interrupted ? "interrupted" : "ok";
}

void gcb_rows_summary(struct gcb_row *row, const struct gcb_rows_setting *setting,
                      const struct gcb_method *method, const struct gcb_run_total *total,
                      const char *file, bool interrupted)
{
    gcb_row_init(row, GCB_RECORD_SUMMARY);
    gcb_row_text(row, GCB_FIELD_FILE, file);
    gcb_row_null(row, GCB_FIELD_STEP); /* messages of several steps and workers */
    gcb_row_null(row, GCB_FIELD_WORKER);
    put_case(row, setting, method, status_of(total, interrupted),
             total->failure.status ? total->failure.text : NULL);
    if (total->tally.messages == 0) {
        put_nulls(row, setting);
        return;
    }
    put_tally(row, method, &total->tally);
    put_times(row, setting, &total->tally, total->samples);
    put_policy(row, setting, method, NULL);
    put_sums(row, &total->tally);
}

void gcb_rows_unsupported(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const char *file, const char *reason)
{
    struct gcb_run_total total = {.tally = {.messages = 0}};

    gcb_diag_set(&total.failure, GCB_E_UNSUPPORTED, "%s", reason);
    gcb_rows_summary(row, setting, method, &total, file, false);
}

/* Reads the members of the tally that `table` lists from a JSON object. A real that is null becomes
 * NAN. If a count is null, stores its field in *missing; `missing` may be NULL. */
static void take_members(struct gcb_tally *t, const json_t *object, const struct member *table,
                         size_t length, enum gcb_field *missing)
{
    for (size_t i = 0; i < length; i++) {
        void *at = (char *)t + table[i].offset;

        if (table[i].real)
            *(double *)at = gcb_results_real(object, table[i].field);
        else
            *(uint64_t *)at = gcb_results_u64(object, table[i].field);
        if (missing && !table[i].real && !json_is_number(gcb_results_json(object, table[i].field)))
            *missing = table[i].field;
    }
}

/* Reads the times of an operation. Times that were not measured stay 0. */
static void take_times(struct gcb_times *t, const json_t *row, const struct gcb_times_fields *f,
                       bool on_device)
{
    t->measured = json_is_number(gcb_results_json(row, f->seconds));
    if (!t->measured)
        return;
    t->seconds = gcb_results_real(row, f->seconds);
    t->min = gcb_results_real(row, f->min);
    t->low = gcb_results_real(row, f->low);
    t->high = gcb_results_real(row, f->high);
    /* gcb_tally_gbps gives no speed for a message that was timed only once */
    t->single = t->seconds > 0.0 && json_is_null(gcb_results_json(row, f->gbps));
    t->staged = f->stages[0] && json_is_number(gcb_results_json(row, f->stages[0]));
    for (int i = 0; t->staged && i < GCB_STAGES; i++)
        t->stage[i] = gcb_results_real(row, f->stages[i]);
    if (!on_device || !f->kernel)
        return;
    t->kernel = gcb_results_real(row, f->kernel);
    t->kernel_low = gcb_results_real(row, f->kernel_low);
    t->kernel_high = gcb_results_real(row, f->kernel_high);
    t->transfer = gcb_results_real(row, f->transfer);
    t->launches = gcb_results_u64(row, f->launches);
}

static enum gcb_stop stop_of(const json_t *row, enum gcb_field field)
{
    const char *text = gcb_results_text(row, field);

    for (enum gcb_stop s = GCB_STOP_PRECISION; text && s <= GCB_STOP_INTERRUPTED; s++)
        if (strcmp(gcb_stop_name(s), text) == 0)
            return s;
    return GCB_STOP_NONE;
}

int gcb_rows_tally(struct gcb_tally *t, const json_t *row, struct gcb_diag *diag)
{
    const json_t *object = gcb_results_json(row, GCB_FIELD_SUMS);
    const char *dtype = gcb_results_text(row, GCB_FIELD_INPUT_DTYPE);
    enum gcb_field missing = GCB_FIELD_NONE;

    memset(t, 0, sizeof(*t));
    if (!json_is_object(object) || !dtype || gcb_dtype_parse(&t->dtype, dtype))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the row has no sums: it comes from another version of gcbench");
    take_members(t, row, bytes, LENGTH(bytes), &missing);
    take_members(t, row, counts, LENGTH(counts), NULL);
    take_members(t, object, sums, LENGTH(sums), &missing);
    if (missing)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "the row has no `%s`", gcb_field_name(missing));
    t->follows = gcb_results_u64(object, GCB_FIELD_FOLLOWS) > 0;
    t->varying = !gcb_results_bool(row, GCB_FIELD_FIXED_LENGTH);
    t->on_device = json_is_number(gcb_results_json(row, GCB_FIELD_DEVICE_BYTES));
    /* the largest error is never a NaN, so null stands for an infinity */
    t->fidelity.max_abs = gcb_results_real(row, GCB_FIELD_MAX_ABS_ERROR);
    if (isnan(t->fidelity.max_abs))
        t->fidelity.max_abs = INFINITY;
    for (int i = 0; i < GCB_TIMED; i++)
        take_times(&t->times[i], row, gcb_rows_times[i], t->on_device);
    t->stop = stop_of(row, GCB_FIELD_STOP_REASON);
    t->sum_stop = stop_of(row, GCB_FIELD_SUM_STOP_REASON);
    return 0;
}
