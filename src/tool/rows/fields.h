#ifndef SRC_TOOL_ROWS_FIELDS_H
#define SRC_TOOL_ROWS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

/* The records of a stream of results. From GCB_RECORD_SWEEP on: parts of the table of fields that are not records. */
enum gcb_record {
#define RECORD(id, name) GCB_RECORD_##id,
#include "src/tool/rows/fields.def"
    GCB_RECORD_PARTS,
    GCB_RECORDS = GCB_RECORD_SWEEP
};
/* The set of one record; sets are joined with |. */
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
    GCB_SHOW_NAME, /* as code: a path, a method's parameters */
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
    GCB_SHOW_BELOW,   /* a limit: null is "any", 0 is "no" */
};

/* How `regress` judges a field. */
enum gcb_field_gate {
    GCB_GATE_NONE,
    GCB_GATE_SIZE,  /* larger is worse, even by one byte */
    GCB_GATE_ERROR, /* `better` says what is worse; with a tolerance for arithmetic of libraries */
    GCB_GATE_TIME,  /* larger is worse, if the confidence interval of the ratio says so */
    GCB_GATE_PLACE, /* times are compared only if the field is equal in both environments */
};

enum gcb_field_better { GCB_BETTER_NEITHER, GCB_BETTER_LESS, GCB_BETTER_MORE };

struct gcb_field_info {
    const char *name;
    enum gcb_field_type type;
    const char *unit; /* "" if it has none */
    enum gcb_field_show show;
    enum gcb_field_gate gate;
    enum gcb_field_better better;
};
const struct gcb_field_info *gcb_field_info(enum gcb_field field);

/* The rows of the table in their order: the records that have a field, and its meaning there. */
struct gcb_field_row {
    enum gcb_field field;
    unsigned records;
    bool csv; /* a column of csv and tsv */
    const char *meaning;
};
const struct gcb_field_row *gcb_field_row(size_t i); /* NULL past the end */
/* The meaning of a field in one of these records; "" if none has it. */
const char *gcb_field_meaning(enum gcb_field field, unsigned records);

const char *gcb_record_name(enum gcb_record record); /* of a part too */
/* The record with this name, which may be NULL; GCB_RECORDS if there is none. */
enum gcb_record gcb_record_find(const char *name);
const char *gcb_field_name(enum gcb_field field);
/* The first field with this name; GCB_FIELD_NONE if there is none. */
enum gcb_field gcb_field_find(const char *name);

/* Writes the fields that `regress` judges in this way, in the order of the table. Returns how many. */
size_t gcb_field_gated(enum gcb_field out[GCB_FIELDS], enum gcb_field_gate gate);
/* Writes the columns of csv and tsv for a set of records, in their order. Returns how many. */
size_t gcb_field_columns(enum gcb_field out[GCB_FIELDS], unsigned records);

/* Writes a number as tables show it, to 32 bytes. If it is longer than `width` columns (0: no limit), digits are dropped. */
char *gcb_field_number(char *out, enum gcb_field field, double value, size_t width);
/* The same, without a limit, for a way of showing numbers. */
char *gcb_show_number(char *out, enum gcb_field_show show, double value);

/* The fields for the times of encoding, of decoding, or of a kernel. A kernel has no device fields: they are 0. */
struct gcb_times_fields {
    enum gcb_field seconds, min, mad, low, high, samples;
    enum gcb_field kernel, kernel_low, kernel_high, transfer, launches;
    enum gcb_field gbps, bandwidth_share;
};
extern const struct gcb_times_fields gcb_encode_fields, gcb_decode_fields, gcb_kernel_fields;

#endif
