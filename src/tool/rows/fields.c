#include "src/tool/rows/fields.h"

#include <stdbool.h>
#include <string.h>

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
    PAYOFF = GCB_RECORD_BIT(GCB_RECORD_PAYOFF),
    PROMISE = GCB_RECORD_BIT(GCB_RECORD_PROMISE),
    ALL = GCB_RECORD_BIT(GCB_RECORDS) - 1,
    SWEEP = GCB_RECORD_BIT(GCB_RECORD_SWEEP),
    INPUT = GCB_RECORD_BIT(GCB_RECORD_INPUT),
    BANDWIDTH = GCB_RECORD_BIT(GCB_RECORD_BANDWIDTH),
    PARAMETER = GCB_RECORD_BIT(GCB_RECORD_PARAMETER),
};

enum place { JSON, CSV };

static const char *const names[GCB_FIELDS] = {
#define FIELD(id, name, ...) [GCB_FIELD_##id] = (name),
#define AGAIN(...)
#include "src/tool/rows/fields.def"
#undef FIELD
#undef AGAIN
};

/* The rows of the table, in its order. */
static const struct {
    enum gcb_field field;
    unsigned records;
    enum place place;
} rows[] = {
#define FIELD(id, name, records, place) {GCB_FIELD_##id, records, place},
#define AGAIN(id, records, place) {GCB_FIELD_##id, records, place},
#include "src/tool/rows/fields.def"
#undef FIELD
#undef AGAIN
};

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
    static const char *const record_names[GCB_RECORDS] = {
        [GCB_RECORD_ENVIRONMENT] = "environment", [GCB_RECORD_RESULT] = "result",
        [GCB_RECORD_SUMMARY] = "summary",         [GCB_RECORD_KERNEL] = "kernel",
        [GCB_RECORD_TENSOR] = "tensor",           [GCB_RECORD_HISTOGRAM] = "histogram",
        [GCB_RECORD_SPECTRUM] = "spectrum",       [GCB_RECORD_METHOD] = "method",
        [GCB_RECORD_REPLAY_STEP] = "replay_step", [GCB_RECORD_REPLAY] = "replay",
        [GCB_RECORD_VERDICT] = "verdict",         [GCB_RECORD_REGRESS] = "regress",
        [GCB_RECORD_PAYOFF] = "payoff",           [GCB_RECORD_PROMISE] = "promise",
    };

    return record_names[record];
}

const char *gcb_field_name(enum gcb_field field)
{
    return names[field];
}

enum gcb_field gcb_field_find(const char *name)
{
    for (enum gcb_field f = GCB_FIELD_NONE + 1; f < GCB_FIELDS; f++)
        if (strcmp(names[f], name) == 0)
            return f;
    return GCB_FIELD_NONE;
}

size_t gcb_field_columns(enum gcb_field out[GCB_FIELDS], unsigned records)
{
    bool seen[GCB_FIELDS] = {false};
    size_t n = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].place != CSV || !(rows[i].records & records) || seen[rows[i].field])
            continue;
        seen[rows[i].field] = true;
        out[n++] = rows[i].field;
    }
    return n;
}
