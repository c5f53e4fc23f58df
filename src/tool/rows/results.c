#include "src/tool/rows/results.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

/* A result file that is being read. */
struct reading {
    FILE *file;
    char name[256]; /* escaped */
    char *line;     /* the current line, without its newline; `cap` bytes */
    size_t cap;
    uint64_t offset;  /* where the current line begins in the file */
    uint64_t number;  /* of the current line, from 1; 0: no line was read */
    unsigned records; /* the records to visit */
};

/* Sets a message with the name of the file and the number of the current line, if there is one.
 * Returns `status`. */
static int fail(const struct reading *r, int status, const char *what, struct gcb_diag *diag)
{
    return r->number
               ? gcb_diag_set(diag, status, "%s: line %" PRIu64 ": %s", r->name, r->number, what)
               : gcb_diag_set(diag, status, "%s: %s", r->name, what);
}

/* Reads the next line; *length is 0 after the last line. An empty line is an error. getline would
 * set no limit on the length. */
static int next_line(struct reading *r, size_t *length, struct gcb_diag *diag)
{
    size_t n = 0;
    int c = 0;

    for (; n <= GCB_RESULTS_LINE; n++) {
        if (n == r->cap)
            gcb_must_grow(&r->line, &r->cap, n, 1);
        c = getc_unlocked(r->file);
        r->line[n] = '\0';
        if (c == EOF || c == '\n')
            break;
        r->line[n] = (char)c;
    }
    if (c == EOF && ferror(r->file))
        return fail(r, GCB_E_IO, strerror(errno), diag);
    *length = n;
    if (n == 0 && c == EOF)
        return 0;
    r->number++;
    if (n > GCB_RESULTS_LINE)
        return fail(r, GCB_E_CORRUPT, "longer than 64 MiB, the limit of a row", diag);
    if (c == EOF)
        return fail(r, GCB_E_CORRUPT, "incomplete line: no newline at its end", diag);
    if (n == 0)
        return fail(r, GCB_E_CORRUPT, "empty", diag);
    return 0;
}

/* Checks that the current line is a row of results. `json` is NULL if the line is not JSON, for the
 * reason `why`. A file of another kind that users pass by mistake gets a message of its own. */
static int check_row(const struct reading *r, const json_t *json, const json_error_t *why,
                     struct gcb_diag *diag)
{
    char words[2 * JSON_ERROR_TEXT_LENGTH + 16] = "not JSON: ";

    /* the first line of HDF5's signature, "\x89HDF\r" */
    if (r->number == 1 && strcmp(r->line, "\211HDF\r") == 0)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "%s: an HDF5 file, not results; `gcbench bench FILE --results r.json` "
                            "makes results",
                            r->name);
    if (!json && r->number == 1 && strncmp(r->line, "record", 6) == 0)
        return fail(r, GCB_E_CORRUPT,
                    "not JSON but csv or tsv; use the file that --results r.json saves", diag);
    if (!json) {
        gcb_escape(words + strlen(words), sizeof(words) - strlen(words), why->text);
        return fail(r, GCB_E_CORRUPT, words, diag);
    }
    if (!json_is_object(json) || !gcb_results_text(json, GCB_FIELD_RECORD))
        return fail(r, GCB_E_CORRUPT, "not a row of results (it has no \"record\")", diag);
    if (gcb_results_u64(json, GCB_FIELD_SCHEMA) != 1)
        return fail(r, GCB_E_CORRUPT,
                    "its \"schema\" is not 1, the only version that this gcbench reads", diag);
    return 0;
}

/* True if an integer field may have this value in a row of one of `records`. */
static bool is_possible_integer(unsigned records, const json_t *value)
{
    const double number = json_number_value(value);

    if (!(number >= 0.0 && number <= 0x1p64))
        return false;
    /* gcb_row_u64 writes a number from 2^63 on as a real */
    if (json_is_integer(value) || number >= 0x1p63)
        return true;
    /* the bytes of a training are shares of messages, added up, so they may have fractions */
    return json_is_number(value) && records & GCB_RECORD_BIT(GCB_RECORD_TRAINING);
}

/* True if a field may have this value in a row of one of `records`. */
static bool is_possible(const struct gcb_field_info *info, unsigned records, const json_t *value)
{
    bool possible = true;

    switch (info->type) {
    case GCB_TYPE_TEXT:
        return json_is_string(value);
    case GCB_TYPE_BOOL:
        return json_is_boolean(value);
    case GCB_TYPE_OBJECT:
        return json_is_object(value);
    case GCB_TYPE_LIST: /* in a list with a unit, no number is negative; null stands for a NaN */
        for (size_t i = 0; *info->unit && i < json_array_size(value); i++)
            possible &= json_number_value(json_array_get(value, i)) >= 0.0;
        return possible && json_is_array(value);
    case GCB_TYPE_INTEGER:
        return is_possible_integer(records, value);
    case GCB_TYPE_REAL:
        return json_is_number(value) && (info->negative || json_number_value(value) >= 0.0);
    }
    return false;
}

/* Checks the fields of `records` in an object, and in the object `sums` inside it. A sum above
 * 1e100 is impossible, because no sum over floats reaches that. */
static int check_values(const struct reading *r, const json_t *object, unsigned records,
                        struct gcb_diag *diag)
{
    const struct gcb_field_row *row;
    char words[160];
    int err = 0;

    for (size_t i = 0; !err && (row = gcb_field_row(i)) != NULL; i++) {
        const json_t *value = row->records & records ? gcb_results_json(object, row->field) : NULL;

        if (!value || json_is_null(value))
            continue;
        if (!is_possible(gcb_field_info(row->field), records, value) ||
            (records == GCB_RECORD_BIT(GCB_RECORD_SUMS) &&
             fabs(json_number_value(value)) > 1e100)) {
            snprintf(words, sizeof(words), "its field `%s` has an impossible value",
                     gcb_field_name(row->field));
            err = fail(r, GCB_E_CORRUPT, words, diag);
        } else if (row->field == GCB_FIELD_SUMS) {
            err = check_values(r, value, GCB_RECORD_BIT(GCB_RECORD_SUMS), diag);
        }
    }
    return err;
}

/* Returns the record of the current line without parsing it, because parsing takes most of the
 * time. GCB_RECORDS: a record of another version, or a line that does not begin and end as this
 * program writes lines. */
static enum gcb_record record_of(const struct reading *r, size_t length)
{
    static const char start[] = "{\"record\": \"";
    char name[32];

    if (strncmp(r->line, start, strlen(start)) != 0 || r->line[length - 1] != '}')
        return GCB_RECORDS;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(r->line + strlen(start), "\""),
             r->line + strlen(start));
    return gcb_record_find(name);
}

/* True if the caller wants rows of this record, or if the record is unknown (GCB_RECORDS). */
static bool is_wanted(const struct reading *r, enum gcb_record kind)
{
    return kind == GCB_RECORDS || r->records & GCB_RECORD_BIT(kind);
}

/* Parses, checks and visits the current line, unless the caller does not want its record. */
static int take_line(struct reading *r, size_t length, const char *path,
                     gcb_results_visit_fn *visit, void *ctx, struct gcb_diag *diag)
{
    struct gcb_results_row row = {
        .path = path, .line = r->number, .offset = r->offset, .length = length};
    json_error_t why;
    json_t *json;
    int err;

    if (!is_wanted(r, record_of(r, length)))
        return 0;
    json = json_loadb(r->line, length, JSON_REJECT_DUPLICATES, &why);
    err = check_row(r, json, &why, diag);
    if (err)
        goto out;
    row.json = json;
    row.record = gcb_results_text(json, GCB_FIELD_RECORD);
    row.kind = gcb_record_find(row.record);
    if (!is_wanted(r, row.kind))
        goto out;
    /* sweep adds fields to the rows of other records */
    err = check_values(r, json, GCB_RECORD_BIT(row.kind) | GCB_RECORD_BIT(GCB_RECORD_SWEEP), diag);
    if (!err)
        err = visit(ctx, &row, diag);
out:
    json_decref(json);
    return err;
}

int gcb_results_read(FILE *file, const char *path, unsigned records, gcb_results_visit_fn *visit,
                     void *ctx, struct gcb_diag *diag)
{
    const bool standard = !file && strcmp(path, "-") == 0;
    const bool opens = !file && !standard;
    struct reading r = {.file = standard ? stdin : file, .records = records};
    size_t length = 0;
    int err;

    if (!file && !*path)
        return gcb_diag_set(diag, GCB_E_IO, "'' is not the name of a result file");
    gcb_escape(r.name, sizeof(r.name), standard ? "standard input" : path);
    if (opens)
        r.file = fopen(path, "re");
    if (!r.file)
        return fail(&r, GCB_E_IO, strerror(errno), diag);
    do {
        err = next_line(&r, &length, diag);
        if (!err && length)
            err = take_line(&r, length, path, visit, ctx, diag);
        r.offset += length + 1;
    } while (!err && length);
    if (!err && r.number == 0)
        err = fail(&r, GCB_E_CORRUPT, "no results in the file", diag);
    gcb_free(r.line);
    if (opens)
        fclose(r.file);
    return err;
}

json_t *gcb_results_json(const json_t *row, enum gcb_field field)
{
    return json_object_get(row, gcb_field_name(field));
}

const char *gcb_results_text(const json_t *row, enum gcb_field field)
{
    return json_string_value(gcb_results_json(row, field));
}

double gcb_results_real(const json_t *row, enum gcb_field field)
{
    const json_t *value = gcb_results_json(row, field);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

double gcb_results_amount(const json_t *row, enum gcb_field field)
{
    const double value = gcb_results_real(row, field);

    if (fabs(value) < 1e-30)
        return 0.0;
    return fabs(value) <= 1e30 ? value : (double)NAN;
}

uint64_t gcb_results_u64(const json_t *row, enum gcb_field field)
{
    const json_t *value = gcb_results_json(row, field);

    return json_is_integer(value) && json_integer_value(value) > 0
               ? (uint64_t)json_integer_value(value)
               : 0;
}

bool gcb_results_bool(const json_t *row, enum gcb_field field)
{
    return json_is_true(gcb_results_json(row, field));
}
