#include "src/tool/rows/fields.h"

#include <math.h>
#include <string.h>

#include "src/tool/rows/number.h"

/* The sets of records that fields.def uses: one for each record, and unions of several records. */
enum {
#define RECORD(id, name) id = GCB_RECORD_BIT(GCB_RECORD_##id),
#include "src/tool/rows/fields.def"
    ALL = GCB_RECORD_BIT(GCB_RECORDS) - 1,
    RESULTS = RESULT | SUMMARY,
    REPLAYS = REPLAY_STEP | REPLAY,
    PREDICTIONS = PAYOFF | PREDICTED,
    MEASUREMENTS = PAYOFF | MEASURED,
};

/* The kinds of fields.def: type, unit, how tables show the field, and whether a number may be
 * negative. */
#define KIND_TEXT GCB_TYPE_TEXT, "", GCB_SHOW_TEXT, false
#define KIND_NAME GCB_TYPE_TEXT, "", GCB_SHOW_NAME, false
#define KIND_WORD GCB_TYPE_TEXT, "", GCB_SHOW_WORD, false
#define KIND_SENTENCE GCB_TYPE_TEXT, "", GCB_SHOW_SENTENCE, false
#define KIND_YES GCB_TYPE_BOOL, "", GCB_SHOW_YES, false
#define KIND_COUNT GCB_TYPE_INTEGER, "", GCB_SHOW_COUNT, false
#define KIND_SIZE GCB_TYPE_INTEGER, "bytes", GCB_SHOW_SIZE, false
#define KIND_MHZ GCB_TYPE_INTEGER, "MHz", GCB_SHOW_COUNT, false
#define KIND_REAL_COUNT GCB_TYPE_REAL, "", GCB_SHOW_COUNT, false
#define KIND_REAL_SIZE GCB_TYPE_REAL, "bytes", GCB_SHOW_SIZE, false
#define KIND_NUMBER GCB_TYPE_REAL, "", GCB_SHOW_NUMBER, false
#define KIND_ERROR GCB_TYPE_REAL, "", GCB_SHOW_ERROR, false
#define KIND_COSINE GCB_TYPE_REAL, "", GCB_SHOW_COSINE, true
#define KIND_SIGNED GCB_TYPE_REAL, "", GCB_SHOW_NUMBER, true
#define KIND_SIGNED_ERROR GCB_TYPE_REAL, "", GCB_SHOW_ERROR, true
#define KIND_SIGNED_BITS GCB_TYPE_REAL, "bits", GCB_SHOW_NUMBER, true
#define KIND_PERCENT GCB_TYPE_REAL, "", GCB_SHOW_PERCENT, false
#define KIND_BY_UNIT GCB_TYPE_REAL, "", GCB_SHOW_BY_UNIT, false
#define KIND_SECONDS GCB_TYPE_REAL, "s", GCB_SHOW_SECONDS, false
#define KIND_GBPS GCB_TYPE_REAL, "GB/s", GCB_SHOW_NUMBER, false
#define KIND_GBIT GCB_TYPE_REAL, "Gb/s", GCB_SHOW_NUMBER, false
#define KIND_BITS GCB_TYPE_REAL, "bits", GCB_SHOW_NUMBER, false
#define KIND_DB GCB_TYPE_REAL, "dB", GCB_SHOW_NUMBER, true
#define KIND_LIST GCB_TYPE_LIST, "", GCB_SHOW_TEXT, false
#define KIND_LIST_NAMES GCB_TYPE_LIST, "", GCB_SHOW_NAME, false
#define KIND_LIST_SIZES GCB_TYPE_LIST, "bytes", GCB_SHOW_SIZE, false
#define KIND_LIST_SECONDS GCB_TYPE_LIST, "s", GCB_SHOW_SECONDS, false
#define KIND_OBJECT GCB_TYPE_OBJECT, "", GCB_SHOW_TEXT, false

static const struct gcb_field_info infos[GCB_FIELDS] = {
#define JUDGED(id, name, records, place, kind, gate, better, meaning) \
    [GCB_FIELD_##id] = {name, GCB_GATE_##gate, GCB_BETTER_##better, KIND_##kind},
#include "src/tool/rows/fields.def"
};

#define PLACE_JSON false
#define PLACE_CSV true

#define JUDGED(id, name, records, place, kind, gate, better, meaning) \
    static const char meaning_##id[] = meaning;
#include "src/tool/rows/fields.def"

static const struct gcb_field_row rows[] = {
#define AGAIN(id, records, place, meaning) {GCB_FIELD_##id, records, PLACE_##place, meaning},
#define SAME(id, records, place) AGAIN(id, records, place, meaning_##id)
#define JUDGED(id, name, records, place, kind, gate, better, meaning) SAME(id, records, place)
#include "src/tool/rows/fields.def"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Initialisers of struct gcb_times_fields, with the fields whose ids begin with WAY. All times have
 * the fields of TIMES; only encoding and decoding have all those of CODING and STAGES. */
#define TIMES(WAY) \
    .seconds = GCB_FIELD_##WAY##SECONDS, .min = GCB_FIELD_##WAY##SECONDS_MIN, \
    .mad = GCB_FIELD_##WAY##SECONDS_MAD, .low = GCB_FIELD_##WAY##SECONDS_LOW, \
    .high = GCB_FIELD_##WAY##SECONDS_HIGH, .samples = GCB_FIELD_##WAY##SECONDS_SAMPLES, \
    .gbps = GCB_FIELD_##WAY##GBPS
#define CODING(WAY) \
    .kernel = GCB_FIELD_##WAY##KERNEL_SECONDS, .kernel_low = GCB_FIELD_##WAY##KERNEL_SECONDS_LOW, \
    .kernel_high = GCB_FIELD_##WAY##KERNEL_SECONDS_HIGH, \
    .transfer = GCB_FIELD_##WAY##TRANSFER_SECONDS, .launches = GCB_FIELD_##WAY##LAUNCHES, \
    .bandwidth_share = GCB_FIELD_##WAY##BANDWIDTH_SHARE
/* The fields of the stages, in the order of enum gcb_stage. */
#define STAGES(WAY) \
    .stages = {GCB_FIELD_##WAY##TRANSFORM_SECONDS, GCB_FIELD_##WAY##SELECT_SECONDS, \
               GCB_FIELD_##WAY##QUANTISE_SECONDS, GCB_FIELD_##WAY##INDEX_SECONDS}

const struct gcb_times_fields gcb_encode_fields = {TIMES(ENCODE_), CODING(ENCODE_), STAGES()};
const struct gcb_times_fields gcb_decode_fields = {TIMES(DECODE_), CODING(DECODE_),
                                                   STAGES(DECODE_)};
const struct gcb_times_fields gcb_sum_fields = {TIMES(SUM_)};
const struct gcb_times_fields gcb_sum16_fields = {TIMES(SUM16_)};
const struct gcb_times_fields gcb_kernel_fields = {TIMES(),
                                                   .bandwidth_share = GCB_FIELD_BANDWIDTH_SHARE};

const char *gcb_record_name(enum gcb_record record)
{
    static const char *const names[] = {
#define RECORD(id, name) [GCB_RECORD_##id] = name,
#include "src/tool/rows/fields.def"
    };

    return names[record];
}

enum gcb_record gcb_record_find(const char *name)
{
    enum gcb_record r = 0;

    while (r < GCB_RECORDS && (!name || strcmp(gcb_record_name(r), name) != 0))
        r++;
    return r;
}

const struct gcb_field_info *gcb_field_info(enum gcb_field field)
{
    return &infos[field];
}

const char *gcb_field_name(enum gcb_field field)
{
    return infos[field].name;
}

enum gcb_field gcb_field_find(const char *name)
{
    for (enum gcb_field f = GCB_FIELD_NONE + 1; f < GCB_FIELDS; f++)
        if (strcmp(infos[f].name, name) == 0)
            return f;
    return GCB_FIELD_NONE;
}

const struct gcb_field_row *gcb_field_row(size_t i)
{
    return i < ROWS ? &rows[i] : NULL;
}

size_t gcb_field_columns(enum gcb_field out[GCB_FIELDS], unsigned records)
{
    bool seen[GCB_FIELDS] = {false};
    size_t n = 0;

    for (size_t i = 0; i < ROWS; i++) {
        if (!rows[i].csv || !(rows[i].records & records) || seen[rows[i].field])
            continue;
        seen[rows[i].field] = true;
        out[n++] = rows[i].field;
    }
    return n;
}

size_t gcb_field_gated(enum gcb_field out[GCB_FIELDS], enum gcb_field_gate gate)
{
    size_t n = 0;

    for (enum gcb_field f = GCB_FIELD_NONE + 1; f < GCB_FIELDS; f++)
        if (infos[f].gate == gate)
            out[n++] = f;
    return n;
}

static char *show_count(char *out, double value)
{
    if (!(value >= 0.0 && value < 1e18)) /* NAN, or not surely within a uint64_t */
        return gcb_number(out, value, 3);
    return gcb_count(out, (uint64_t)value);
}

char *gcb_show_number(char *out, enum gcb_field_show show, double value)
{
    const double size = fabs(value);

    switch (show) {
    case GCB_SHOW_COUNT:
        return show_count(out, value);
    case GCB_SHOW_ERROR:
        return value == 0.0 ? strcpy(out, "0") : gcb_number(out, value, size < 1e-3 ? 2 : 4);
    case GCB_SHOW_COSINE:
        /* rounding may give a little more than 1, but 10 or more is no cosine */
        return gcb_number(out, size < 10.0 ? value : (double)NAN, 4);
    case GCB_SHOW_PERCENT:
        return gcb_percent(out, value);
    case GCB_SHOW_SIZE:
        return gcb_bytes(out, value);
    case GCB_SHOW_SECONDS:
        return gcb_seconds(out, value);
    default:
        /* the fourth decimal is the third significant digit of a number such as 0.0123 */
        return value == 0.0 ? strcpy(out, "0")
                            : gcb_number(out, value, size < 0.1 && size >= 1e-3 ? 4 : 3);
    }
}

char *gcb_field_number(char *out, enum gcb_field field, double value, size_t width)
{
    gcb_show_number(out, infos[field].show, value);
    return width && strlen(out) > width ? gcb_number_within(out, value, 3, width) : out;
}
