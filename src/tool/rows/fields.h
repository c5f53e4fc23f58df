#ifndef SRC_TOOL_ROWS_FIELDS_H
#define SRC_TOOL_ROWS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/codec/probe.h"

/* The records (kinds of rows) of a stream of results, then the parts: from GCB_RECORD_SWEEP on,
 * each item is a group of fields inside rows, not a row. */
enum gcb_record {
#define RECORD(id, name) GCB_RECORD_##id,
#include "src/tool/rows/fields.def"
    GCB_RECORD_PARTS,              /* number of records and parts */
    GCB_RECORDS = GCB_RECORD_SWEEP /* number of records */
};
/* A set with one record or part. Join sets with |. */
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
    GCB_SHOW_NUMBER, /* three digits (gcb_number), but four decimals from 0.001 to 0.1 */
    GCB_SHOW_ERROR,  /* four digits (gcb_number), but two below 0.001 */
    GCB_SHOW_COSINE, /* four digits (gcb_number) */
    GCB_SHOW_PERCENT,
    GCB_SHOW_SIZE, /* bytes */
    GCB_SHOW_SECONDS,
    GCB_SHOW_BY_UNIT, /* in the unit of the row's field `unit` */
};

/* How `regress` judges a field. */
enum gcb_field_gate {
    GCB_GATE_NONE,
    GCB_GATE_SIZE, /* larger is worse, even by one byte; gcb_compare_tolerance has exceptions */
    /* the field's `better` says whether less or more is worse; small differences may be
     * tolerated */
    GCB_GATE_ERROR,
    GCB_GATE_TIME,  /* larger is worse, if the confidence interval of the ratio says so */
    GCB_GATE_PLACE, /* times are compared only if the field is equal in both environments */
};

/* Which values of a field are better. */
enum gcb_field_better { GCB_BETTER_NEITHER, GCB_BETTER_LESS, GCB_BETTER_MORE };

struct gcb_field_info {
    const char *name;
    enum gcb_field_gate gate;
    enum gcb_field_better better;
    enum gcb_field_type type;
    const char *unit; /* "" if the field has no unit */
    enum gcb_field_show show;
    bool negative; /* a number in this field may be below 0 */
};
const struct gcb_field_info *gcb_field_info(enum gcb_field field);

/* A line of fields.def: which records have the field, and what it means in them. */
struct gcb_field_row {
    enum gcb_field field;
    unsigned records; /* a set of GCB_RECORD_BIT */
    bool csv;         /* a column of csv and tsv */
    const char *meaning;
};
/* Returns the i-th line, in the order of the file. NULL: past the end. */
const struct gcb_field_row *gcb_field_row(size_t i);

const char *gcb_record_name(enum gcb_record record); /* of a record or a part */
/* Finds the record with this name, which may be NULL. Returns GCB_RECORDS if no record has it. */
enum gcb_record gcb_record_find(const char *name);
const char *gcb_field_name(enum gcb_field field);
/* Finds the first field with this name. Returns GCB_FIELD_NONE if no field has it. */
enum gcb_field gcb_field_find(const char *name);

/* Writes the fields with this gate to `out`, in the order of fields.def. Returns their number. */
size_t gcb_field_gated(enum gcb_field out[GCB_FIELDS], enum gcb_field_gate gate);
/* Writes the columns of csv and tsv for a set of records to `out`, from left to right. Returns
 * their number. */
size_t gcb_field_columns(enum gcb_field out[GCB_FIELDS], unsigned records);

/* Writes a number to `out` (32 bytes) as tables show it (gcb_show_number). If that is longer than
 * `width` columns (0: no limit), writes the value as rows have it, without a unit, by
 * gcb_number_within. Returns out. */
char *gcb_field_number(char *out, enum gcb_field field, double value, size_t width);
/* Writes a number to `out` (32 bytes) as tables show a field with this `show`, without a limit on
 * its width; "-" if the number is not finite, or is 10 or more for GCB_SHOW_COSINE. A
 * size (GCB_SHOW_SIZE) must be finite. Returns out. */
char *gcb_show_number(char *out, enum gcb_field_show show, double value);

/* The fields for one kind of times: of encoding, decoding, sums, or a kernel. GCB_FIELD_NONE: this
 * kind does not have the field. */
struct gcb_times_fields {
    enum gcb_field seconds, min, mad, low, high, samples;
    enum gcb_field kernel, kernel_low, kernel_high, transfer, launches; /* on a device */
    enum gcb_field gbps, bandwidth_share;
    enum gcb_field stages[GCB_STAGES]; /* by enum gcb_stage */
};
extern const struct gcb_times_fields gcb_encode_fields, gcb_decode_fields, gcb_sum_fields,
    gcb_sum16_fields, gcb_kernel_fields;

#endif
