#ifndef SRC_TOOL_ROWS_FIELDS_H
#define SRC_TOOL_ROWS_FIELDS_H

#include <stddef.h>

/* The records of a stream of results. */
enum gcb_record {
    GCB_RECORD_ENVIRONMENT,
    GCB_RECORD_RESULT,
    GCB_RECORD_SUMMARY,
    GCB_RECORD_KERNEL,
    GCB_RECORD_TENSOR,
    GCB_RECORD_HISTOGRAM,
    GCB_RECORD_SPECTRUM,
    GCB_RECORD_METHOD,
    GCB_RECORD_REPLAY_STEP,
    GCB_RECORD_REPLAY,
    GCB_RECORD_VERDICT,
    GCB_RECORD_REGRESS,
    GCB_RECORD_PAYOFF,
    GCB_RECORD_PROMISE,
    GCB_RECORDS,
    /* parts of the table that are no records of their own: a `summary` of sweep, and objects inside a row */
    GCB_RECORD_SWEEP = GCB_RECORDS,
    GCB_RECORD_INPUT,
    GCB_RECORD_BANDWIDTH,
    GCB_RECORD_PARAMETER,
    GCB_RECORD_PARTS
};

/* Every field that a row may have (src/tool/rows/fields.def). */
enum gcb_field {
    GCB_FIELD_NONE,
#define FIELD(id, ...) GCB_FIELD_##id,
#define AGAIN(...)
#include "src/tool/rows/fields.def"
#undef FIELD
#undef AGAIN
    GCB_FIELDS
};

const char *gcb_record_name(enum gcb_record record);
const char *gcb_field_name(enum gcb_field field);
/* The field of this name; GCB_FIELD_NONE: there is none. */
enum gcb_field gcb_field_find(const char *name);

/* A set of records. */
#define GCB_RECORD_BIT(record) (1u << (record))

/* The columns of csv and tsv for a set of records, in their order. Returns how many. */
size_t gcb_field_columns(enum gcb_field out[GCB_FIELDS], unsigned records);

/* The fields of the times of one direction, or of a kernel, which lacks those of a device. */
struct gcb_times_fields {
    enum gcb_field seconds, min, mad, low, high, samples;
    enum gcb_field kernel, kernel_low, kernel_high, transfer, launches;
    enum gcb_field gbps, bandwidth_share;
};
extern const struct gcb_times_fields gcb_encode_fields, gcb_decode_fields, gcb_kernel_fields;

#endif
