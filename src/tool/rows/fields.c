#include "src/tool/rows/fields.h"

#include <math.h>
#include <string.h>

#include "src/tool/print/number.h"

/* The sets of records that fields.def names. */
enum {
    ENVIRONMENT = GCB_RECORD_BIT(GCB_RECORD_ENVIRONMENT),
    RESULT = GCB_RECORD_BIT(GCB_RECORD_RESULT),
    SUMMARY = GCB_RECORD_BIT(GCB_RECORD_SUMMARY),
    KERNEL = GCB_RECORD_BIT(GCB_RECORD_KERNEL),
    TENSOR = GCB_RECORD_BIT(GCB_RECORD_TENSOR),
    HISTOGRAM = GCB_RECORD_BIT(GCB_RECORD_HISTOGRAM),
    SPECTRUM = GCB_RECORD_BIT(GCB_RECORD_SPECTRUM),
    METHOD = GCB_RECORD_BIT(GCB_RECORD_METHOD),
    REPLAY_STEP = GCB_RECORD_BIT(GCB_RECORD_REPLAY_STEP),
    REPLAY = GCB_RECORD_BIT(GCB_RECORD_REPLAY),
    VERDICT = GCB_RECORD_BIT(GCB_RECORD_VERDICT),
    REGRESS = GCB_RECORD_BIT(GCB_RECORD_REGRESS),
    PROMISE = GCB_RECORD_BIT(GCB_RECORD_PROMISE),
    ALL = GCB_RECORD_BIT(GCB_RECORDS) - 1,
    SWEEP = GCB_RECORD_BIT(GCB_RECORD_SWEEP),
    INPUT = GCB_RECORD_BIT(GCB_RECORD_INPUT),
    BANDWIDTH = GCB_RECORD_BIT(GCB_RECORD_BANDWIDTH),
    PARAMETER = GCB_RECORD_BIT(GCB_RECORD_PARAMETER),
    EXCHANGE = GCB_RECORD_BIT(GCB_RECORD_PAYOFF) | GCB_RECORD_BIT(GCB_RECORD_EXCHANGE),
    FFT = GCB_RECORD_BIT(GCB_RECORD_PAYOFF) | GCB_RECORD_BIT(GCB_RECORD_FFT),
    REDSYNC = GCB_RECORD_BIT(GCB_RECORD_PAYOFF) | GCB_RECORD_BIT(GCB_RECORD_REDSYNC),
    PAGE = GCB_RECORD_BIT(GCB_RECORD_PAGE),
};

#define PLACE_JSON false
#define PLACE_CSV true

static const struct gcb_field_info infos[GCB_FIELDS] = {
#define FIELD(id, name, records, place, type, unit, show, gate, better, meaning) \
    [GCB_FIELD_##id] = { \
        name, GCB_TYPE_##type, unit, GCB_SHOW_##show, GCB_GATE_##gate, GCB_BETTER_##better},
#define AGAIN(...)
#include "src/tool/rows/fields.def"
#undef FIELD
#undef AGAIN
};

static const struct gcb_field_row rows[] = {
#define FIELD(id, name, records, place, type, unit, show, gate, better, meaning) \
    {GCB_FIELD_##id, records, PLACE_##place, meaning},
#define AGAIN(id, records, place, meaning) {GCB_FIELD_##id, records, PLACE_##place, meaning},
#include "src/tool/rows/fields.def"
#undef FIELD
#undef AGAIN
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

const struct gcb_times_fields gcb_encode_fields = {
    .seconds = GCB_FIELD_ENCODE_SECONDS,
    .min = GCB_FIELD_ENCODE_SECONDS_MIN,
    .mad = GCB_FIELD_ENCODE_SECONDS_MAD,
    .low = GCB_FIELD_ENCODE_SECONDS_LOW,
    .high = GCB_FIELD_ENCODE_SECONDS_HIGH,
    .samples = GCB_FIELD_ENCODE_SECONDS_SAMPLES,
    .kernel = GCB_FIELD_ENCODE_KERNEL_SECONDS,
    .kernel_low = GCB_FIELD_ENCODE_KERNEL_SECONDS_LOW,
    .kernel_high = GCB_FIELD_ENCODE_KERNEL_SECONDS_HIGH,
    .transfer = GCB_FIELD_ENCODE_TRANSFER_SECONDS,
    .launches = GCB_FIELD_ENCODE_LAUNCHES,
    .gbps = GCB_FIELD_ENCODE_GBPS,
    .bandwidth_share = GCB_FIELD_ENCODE_BANDWIDTH_SHARE,
};
const struct gcb_times_fields gcb_decode_fields = {
    .seconds = GCB_FIELD_DECODE_SECONDS,
    .min = GCB_FIELD_DECODE_SECONDS_MIN,
    .mad = GCB_FIELD_DECODE_SECONDS_MAD,
    .low = GCB_FIELD_DECODE_SECONDS_LOW,
    .high = GCB_FIELD_DECODE_SECONDS_HIGH,
    .samples = GCB_FIELD_DECODE_SECONDS_SAMPLES,
    .kernel = GCB_FIELD_DECODE_KERNEL_SECONDS,
    .kernel_low = GCB_FIELD_DECODE_KERNEL_SECONDS_LOW,
    .kernel_high = GCB_FIELD_DECODE_KERNEL_SECONDS_HIGH,
    .transfer = GCB_FIELD_DECODE_TRANSFER_SECONDS,
    .launches = GCB_FIELD_DECODE_LAUNCHES,
    .gbps = GCB_FIELD_DECODE_GBPS,
    .bandwidth_share = GCB_FIELD_DECODE_BANDWIDTH_SHARE,
};
const struct gcb_times_fields gcb_kernel_fields = {
    .seconds = GCB_FIELD_SECONDS,
    .min = GCB_FIELD_SECONDS_MIN,
    .mad = GCB_FIELD_SECONDS_MAD,
    .low = GCB_FIELD_SECONDS_LOW,
    .high = GCB_FIELD_SECONDS_HIGH,
    .samples = GCB_FIELD_SECONDS_SAMPLES,
    .gbps = GCB_FIELD_GBPS,
    .bandwidth_share = GCB_FIELD_BANDWIDTH_SHARE,
};

const char *gcb_record_name(enum gcb_record record)
{
    static const char *const record_names[GCB_RECORD_PARTS] = {
        [GCB_RECORD_ENVIRONMENT] = "environment",
        [GCB_RECORD_RESULT] = "result",
        [GCB_RECORD_SUMMARY] = "summary",
        [GCB_RECORD_KERNEL] = "kernel",
        [GCB_RECORD_TENSOR] = "tensor",
        [GCB_RECORD_HISTOGRAM] = "histogram",
        [GCB_RECORD_SPECTRUM] = "spectrum",
        [GCB_RECORD_METHOD] = "method",
        [GCB_RECORD_REPLAY_STEP] = "replay_step",
        [GCB_RECORD_REPLAY] = "replay",
        [GCB_RECORD_VERDICT] = "verdict",
        [GCB_RECORD_REGRESS] = "regress",
        [GCB_RECORD_PAYOFF] = "payoff",
        [GCB_RECORD_PROMISE] = "promise",
        [GCB_RECORD_SWEEP] = "sweep",
        [GCB_RECORD_INPUT] = "input_xxh3",
        [GCB_RECORD_BANDWIDTH] = "bandwidths",
        [GCB_RECORD_PARAMETER] = "parameters",
        [GCB_RECORD_EXCHANGE] = "exchange",
        [GCB_RECORD_FFT] = "fft",
        [GCB_RECORD_REDSYNC] = "redsync",
        [GCB_RECORD_PAGE] = "page",
    };

    return record_names[record];
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

const char *gcb_field_meaning(enum gcb_field field, unsigned records)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].field == field && rows[i].records & records)
            return rows[i].meaning;
    return "";
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
    if (!(value >= 0.0 && value < 1e18))
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
        return gcb_number(out, size < 10.0 ? value : (double)NAN, 4);
    case GCB_SHOW_PERCENT:
        return gcb_percent(out, value);
    case GCB_SHOW_SIZE:
        return gcb_bytes(out, value);
    case GCB_SHOW_SECONDS:
        return gcb_seconds(out, value);
    default:
        return value == 0.0 ? strcpy(out, "0")
                            : gcb_number(out, value, size < 0.1 && size >= 1e-3 ? 4 : 3);
    }
}

char *gcb_field_number(char *out, enum gcb_field field, double value, size_t width)
{
    gcb_show_number(out, infos[field].show, value);
    return width && strlen(out) > width ? gcb_number_within(out, value, 3, width) : out;
}
