#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/tool/rows/results.h"
#include "src/tool/run/rows.h"

/* A member of struct gcb_tally that rows have as a field. */
struct member {
    enum gcb_field field;
    size_t offset;
    bool real; /* a double, not a uint64_t */
};

#define COUNT(field, name) \
    { \
        GCB_FIELD_##field, offsetof(struct gcb_tally, name), false \
    }
#define REAL(field, name) \
    { \
        GCB_FIELD_##field, offsetof(struct gcb_tally, name), true \
    }

/* The members of the object `sums`. */
static const struct member sums[] = {
    REAL(INPUT_SQUARES, fidelity.xx),
    REAL(DECODED_SQUARES, fidelity.yy),
    REAL(PRODUCTS, fidelity.xy),
    REAL(ERROR_SQUARES, fidelity.dd),
    REAL(ERRORS, fidelity.d),
    COUNT(SAME_SIGNS, fidelity.same_sign),
    COUNT(ZEROS, fidelity.zeros),
    COUNT(ZEROS_KEPT, fidelity.zeros_kept),
    COUNT(ELEMENTS, fidelity.elements),
    COUNT(NONFINITE, fidelity.nonfinite),
    COUNT(NONFINITE_KEPT, fidelity.nonfinite_kept),
    COUNT(COMPARED, fidelity.compared),
    COUNT(NEARER, fidelity.nearer),
    COUNT(FARTHER, fidelity.farther),
    COUNT(KEPT, kept),
    COUNT(POSITIONS, positions),
    COUNT(CLAMPED, clamped),
    REAL(NOMINAL_BITS, nominal_bits),
    REAL(ENTROPY0_BITS, entropy0_bits),
    REAL(KEPT_ASKED, asked),
    COUNT(SPARSE_ELEMENTS, asked_of),
};

/* Other fields of a result. */
static const struct member counts[] = {
    COUNT(MESSAGES, messages),
    COUNT(ELEMENTS, elements),
    COUNT(INPUT_BYTES, input_bytes),
    COUNT(WIRE_BYTES, wire_bytes),
    COUNT(HEADER_BYTES, header_bytes),
    COUNT(SCALE_BYTES, scale_bytes),
    COUNT(VALUE_BYTES, value_bytes),
    COUNT(INDEX_BYTES, index_bytes),
    COUNT(STORED, stored),
    COUNT(DENSE, dense),
    COUNT(NONFINITE, nonfinite),
    COUNT(SUM_MESSAGES, sum_messages),
    COUNT(GROUP_MESSAGES, group),
    COUNT(GPU_CLOCK_MHZ, clock_mhz),
};

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

void gcb_rows_put_sums(struct gcb_row *row, const struct gcb_tally *t)
{
    struct gcb_row object = {.json = json_object()};

    for (size_t i = 0; i < LENGTH(sums); i++) {
        const void *at = (const char *)t + sums[i].offset;

        if (sums[i].real)
            gcb_row_real(&object, sums[i].field, *(const double *)at);
        else
            gcb_row_u64(&object, sums[i].field, *(const uint64_t *)at);
    }
    gcb_row_u64(&object, GCB_FIELD_FOLLOWS, t->follows);
    row->failed |= object.failed;
    gcb_row_json(row, GCB_FIELD_SUMS, object.json);
}

/* Reads the members of a table from a JSON object. A real that is null was not finite. */
static void take_members(struct gcb_tally *t, const json_t *object, const struct member *table,
                         size_t length)
{
    for (size_t i = 0; i < length; i++) {
        void *at = (char *)t + table[i].offset;

        if (table[i].real)
            *(double *)at = gcb_results_real(object, table[i].field);
        else
            *(uint64_t *)at = gcb_results_u64(object, table[i].field);
    }
}

/* Returns the number, or 0 if it is null. */
static double or_zero(const json_t *row, enum gcb_field field)
{
    return json_is_null(gcb_results_json(row, field)) ? 0.0 : gcb_results_real(row, field);
}

/* Reads times. Returns whether they were measured. */
static bool take_times(struct gcb_times *t, const json_t *row, const struct gcb_times_fields *f)
{
    if (!json_is_number(gcb_results_json(row, f->seconds)))
        return false;
    t->seconds = gcb_results_real(row, f->seconds);
    t->min = gcb_results_real(row, f->min);
    t->low = gcb_results_real(row, f->low);
    t->high = gcb_results_real(row, f->high);
    /* a message that was timed only once has no speed */
    t->single = t->seconds > 0.0 && json_is_null(gcb_results_json(row, f->gbps));
    return true;
}

/* Reads the times of stages, and those that only a device has. */
static void take_parts(struct gcb_times *t, const json_t *row, const struct gcb_times_fields *f,
                       const enum gcb_field stages[GCB_STAGES], bool on_device)
{
    t->staged = json_is_number(gcb_results_json(row, stages[0]));
    for (int i = 0; i < GCB_STAGES; i++)
        t->stage[i] = or_zero(row, stages[i]);
    if (!on_device)
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

static int take_dtype(struct gcb_tally *t, const json_t *row)
{
    const char *text = gcb_results_text(row, GCB_FIELD_INPUT_DTYPE);

    return text ? gcb_dtype_parse(&t->dtype, text) : GCB_E_CORRUPT;
}

int gcb_rows_tally(struct gcb_tally *out, const json_t *row, struct gcb_diag *diag)
{
    const json_t *object = gcb_results_json(row, GCB_FIELD_SUMS);
    struct gcb_tally *t = out;

    memset(t, 0, sizeof(*t));
    if (!json_is_object(object) || take_dtype(t, row))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the row has no sums: it comes from another version of gcbench");
    take_members(t, row, counts, LENGTH(counts));
    take_members(t, object, sums, LENGTH(sums));
    t->follows = gcb_results_u64(object, GCB_FIELD_FOLLOWS) > 0;
    t->varying = !gcb_results_bool(row, GCB_FIELD_FIXED_LENGTH);
    t->on_device = json_is_number(gcb_results_json(row, GCB_FIELD_DEVICE_BYTES));
    /* null was an infinity: the largest error is never a NaN */
    t->fidelity.max_abs = gcb_results_real(row, GCB_FIELD_MAX_ABS_ERROR);
    if (isnan(t->fidelity.max_abs))
        t->fidelity.max_abs = INFINITY;
    take_times(&t->encode, row, &gcb_encode_fields);
    take_times(&t->decode, row, &gcb_decode_fields);
    take_parts(&t->encode, row, &gcb_encode_fields, gcb_rows_encode_stages, t->on_device);
    take_parts(&t->decode, row, &gcb_decode_fields, gcb_rows_decode_stages, t->on_device);
    t->summed = take_times(&t->sum, row, &gcb_sum_fields);
    t->summed16 = take_times(&t->sum16, row, &gcb_sum16_fields);
    t->stop = stop_of(row, GCB_FIELD_STOP_REASON);
    t->sum_stop = stop_of(row, GCB_FIELD_SUM_STOP_REASON);
    return 0;
}
