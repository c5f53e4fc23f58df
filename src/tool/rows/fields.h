#ifndef SRC_TOOL_ROWS_FIELDS_H
#define SRC_TOOL_ROWS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/codec/probe.h"

/* The records (kinds of rows) of a stream of results. GCB_RECORD_SWEEP and later ones are only
 * parts of the table of fields. */
enum gcb_record {
#define RECORD(id, name) GCB_RECORD_##id,
#include "src/tool/rows/fields.def"
    GCB_RECORD_PARTS,
    GCB_RECORDS = GCB_RECORD_SWEEP
};
/* The set that has only this record. Join sets with |. */
#define GCB_RECORD_BIT(record) (1u << (record))

/* All fields of all rows (src/tool/rows/fields.def). */
enum gcb_field {
    GCB_FIELD_NONE,
#define JUDGED(id, ...) GCB_FIELD_##id,
#include "src/tool/rows/fields.def"
    GCB_FIELDS
};

enum gcb_field_type {
    GCB_TYPE_TEXT,
    GCB_TYPE_INTEGER,
    GCB_TYPE_REAL,
    GCB_TYPE_BOOL,
    GCB_TYPE_LIST,
    GCB_TYPE_OBJECT
};

/* How tables show a field. */
enum gcb_field_show {
    GCB_SHOW_TEXT,
    GCB_SHOW_SENTENCE,
    GCB_SHOW_NAME, /* as code, such as a path or a method's parameters */
    GCB_SHOW_WORD, /* a verdict or a status */
    GCB_SHOW_YES,  /* a mark if it is true */
    GCB_SHOW_COUNT,
    GCB_SHOW_NUMBER, /* three significant digits */
    GCB_SHOW_ERROR,  /* four significant digits, two below 0.001 */
    GCB_SHOW_COSINE, /* four significant digits */
    GCB_SHOW_PERCENT,
    GCB_SHOW_SIZE, /* bytes */
    GCB_SHOW_SECONDS,
    GCB_SHOW_BY_UNIT, /* in the unit of the row's field `unit` */
};

/* How `regress` judges a field. */
enum gcb_field_gate {
    GCB_GATE_NONE,
    GCB_GATE_SIZE, /* larger is worse, even by one byte */
    /* `better` tells what is worse; differences below a tolerance may count as equal */
    GCB_GATE_ERROR,
    GCB_GATE_TIME,  /* larger is worse, if the confidence interval of the ratio says so */
    GCB_GATE_PLACE, /* times are compared only if the field is equal in both environments */
};

enum gcb_field_better { GCB_BETTER_NEITHER, GCB_BETTER_LESS, GCB_BETTER_MORE };

struct gcb_field_info {
    const char *name;
    enum gcb_field_gate gate;
    enum gcb_field_better better;
    enum gcb_field_type type;
    const char *unit; /* "" if the field has no unit */
    enum gcb_field_show show;
    bool negative; /* of a number: it may be below 0 */
};
const struct gcb_field_info *gcb_field_info(enum gcb_field field);

/* A row of the table of fields, in the order of fields.def: records that have the field, and its
 * meaning there. */
struct gcb_field_row {
    enum gcb_field field;
    unsigned records;
    bool csv; /* a column of csv and tsv */
    const char *meaning;
};
const struct gcb_field_row *gcb_field_row(size_t i); /* NULL past the end */
/* The meaning of a field in any of these records; "" if none of them has the field. */
const char *gcb_field_meaning(enum gcb_field field, unsigned records);

const char *gcb_record_name(enum gcb_record record); /* also of a part */
/* Finds the record with this name, which may be NULL. Returns GCB_RECORDS if no record has it. */
enum gcb_record gcb_record_find(const char *name);
const char *gcb_field_name(enum gcb_field field);
/* Finds the first field with this name. Returns GCB_FIELD_NONE if no field has it. */
enum gcb_field gcb_field_find(const char *name);

/* Writes the fields with this gate, in the order of the table. Returns how many. */
size_t gcb_field_gated(enum gcb_field out[GCB_FIELDS], enum gcb_field_gate gate);
/* Writes the columns of csv and tsv for a set of records, in their order. Returns how many. */
size_t gcb_field_columns(enum gcb_field out[GCB_FIELDS], unsigned records);

/* Writes a number as tables show it to `out` (32 bytes). Drops digits if it is longer than `width`
 * (0: no limit). */
char *gcb_field_number(char *out, enum gcb_field field, double value, size_t width);
/* Writes a number as gcb_field_number does for a field whose display is `show`. Drops no digits. */
char *gcb_show_number(char *out, enum gcb_field_show show, double value);

/* The fields for the times of encoding, of decoding, of sums, or of a kernel. Fields that only
 * some of them have are 0: the device fields, the stages by enum gcb_stage, and the share of
 * bandwidth. */
struct gcb_times_fields {
    enum gcb_field seconds, min, mad, low, high, samples;
    enum gcb_field kernel, kernel_low, kernel_high, transfer, launches;
    enum gcb_field gbps, bandwidth_share;
    enum gcb_field stages[GCB_STAGES];
};
extern const struct gcb_times_fields gcb_encode_fields, gcb_decode_fields, gcb_sum_fields,
    gcb_sum16_fields, gcb_kernel_fields;

#endif
