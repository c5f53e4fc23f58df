#include "src/tool/rows/results.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/text.h"

struct reading {
    FILE *file;
    char name[256]; /* escaped */
    char *buffer;   /* `cap` bytes and a terminator: the current line, and what was read ahead */
    size_t cap;
    char *line;        /* the current line, in the buffer */
    size_t next, held; /* where the next line begins, and where the buffer's contents end */
    uint64_t dropped;  /* bytes of the file in front of the buffer */
    uint64_t number;
    const struct gcb_results_needs *needs;
    struct gcb_members members;
};

static int fail(const struct reading *r, int status, const char *what, struct gcb_diag *diag)
{
    return r->number
               ? gcb_diag_set(diag, status, "%s: line %" PRIu64 ": %s", r->name, r->number, what)
               : gcb_diag_set(diag, status, "%s: %s", r->name, what);
}

/* Moves what was read ahead to the begin of the buffer, and reads more. Sets *end at the end of the file. */
static int read_more(struct reading *r, bool *end, struct gcb_diag *diag)
{
    size_t n;

    if (r->next) {
        r->held -= r->next;
        r->dropped += r->next;
        memmove(r->buffer, r->buffer + r->next, r->held);
        r->next = 0;
    }
    if (r->held == r->cap) {
        const size_t cap = r->cap ? 2 * r->cap : 64 << 10;
        char *grown = realloc(r->buffer, cap + 1);

        if (!grown)
            return gcb_diag_nomem(diag, cap, "a line of results");
        r->buffer = grown;
        r->cap = cap;
    }
    n = fread(r->buffer + r->held, 1, r->cap - r->held, r->file);
    if (n == 0 && ferror(r->file))
        return fail(r, GCB_E_IO, strerror(errno), diag);
    *end = n == 0;
    r->held += n;
    return 0;
}

/* Reads the next line, without its newline; *length is 0 after the last line. Does not use getline, which has no
 * limit. */
static int next_line(struct reading *r, size_t *length, struct gcb_diag *diag)
{
    size_t looked = 0; /* bytes of the line without a newline */
    char *newline = NULL;
    bool end = false;
    int err = 0;

    for (;;) {
        if (r->held > r->next + looked)
            newline = memchr(r->buffer + r->next + looked, '\n', r->held - r->next - looked);
        looked = newline ? (size_t)(newline - r->buffer) - r->next : r->held - r->next;
        if (looked > GCB_RESULTS_LINE) {
            r->number++;
            return fail(r, GCB_E_CORRUPT, "longer than any row of results", diag);
        }
        if (newline || end)
            break;
        err = read_more(r, &end, diag);
        if (err)
            return err;
    }
    r->number += looked || newline;
    *length = looked;
    if (looked && !newline)
        return fail(r, GCB_E_CORRUPT, "incomplete line: no newline at its end", diag);
    if (looked == 0 && newline)
        return fail(r, GCB_E_CORRUPT, "empty", diag);
    r->line = r->buffer + r->next;
    r->line[looked] = '\0'; /* the newline, or the byte after the buffer's contents */
    r->next += looked + (newline != NULL);
    return 0;
}

static int check_schema(const struct reading *r, uint64_t schema, struct gcb_diag *diag)
{
    if (schema == 1)
        return 0;
    return fail(r, GCB_E_CORRUPT,
                "its \"schema\" is not 1, the only version that this gcbench reads", diag);
}

static int check(const struct reading *r, const json_t *json, const json_error_t *why,
                 struct gcb_diag *diag)
{
    char words[2 * JSON_ERROR_TEXT_LENGTH + 16] = "not JSON: ";

    /* the first line of HDF5's signature */
    if (r->number == 1 && strcmp(r->line, "\x89"
                                          "HDF\r") == 0)
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
    return check_schema(r, gcb_results_u64(json, GCB_FIELD_SCHEMA), diag);
}

/* The record of a line that begins as this program writes it, without parsing it, which takes most of the time. GCB_RECORDS:
 * not known. */
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

/* Takes only the needed fields of a line. Returns false if the line must be parsed. */
static bool take_members(struct reading *r, size_t length, enum gcb_record kind,
                         struct gcb_results_row *out)
{
    struct gcb_members *m = &r->members;

    if (kind == GCB_RECORDS || !(r->needs->field_records & GCB_RECORD_BIT(kind)) ||
        !gcb_members_read(m, r->line, length))
        return false;
    *out = (struct gcb_results_row){
        .members = m, .record = gcb_record_name(kind), .kind = kind, .line = r->number};
    return true;
}

/* Where the current line begins in the file. */
static uint64_t offset_of(const struct reading *r)
{
    return r->dropped + (uint64_t)(r->line - r->buffer);
}

static int parse_line(const struct reading *r, size_t length, const char *path,
                      gcb_results_visit_fn *visit, void *ctx, struct gcb_diag *diag)
{
    json_error_t why;
    json_t *json = json_loadb(r->line, length, JSON_REJECT_DUPLICATES, &why);
    int err = check(r, json, &why, diag);

    if (!err) {
        const char *record = gcb_results_text(json, GCB_FIELD_RECORD);
        const struct gcb_results_row row = {
            .json = json,
            .record = record,
            .kind = gcb_record_find(record),
            .path = path,
            .line = r->number,
            .offset = offset_of(r),
            .length = length,
        };

        if (row.kind == GCB_RECORDS || r->needs->records & GCB_RECORD_BIT(row.kind))
            err = visit(ctx, &row, diag);
    }
    json_decref(json);
    return err;
}

static int take_line(struct reading *r, size_t length, const char *path,
                     gcb_results_visit_fn *visit, void *ctx, struct gcb_diag *diag)
{
    const enum gcb_record kind = record_of(r, length);
    struct gcb_results_row row;
    int err;

    if (kind != GCB_RECORDS && !(r->needs->records & GCB_RECORD_BIT(kind)))
        return 0;
    if (!take_members(r, length, kind, &row))
        return parse_line(r, length, path, visit, ctx, diag);
    row.path = path;
    row.offset = offset_of(r);
    row.length = length;
    err = check_schema(r, gcb_results_row_u64(&row, GCB_FIELD_SCHEMA), diag);
    return err ? err : visit(ctx, &row, diag);
}

static int read_stream(struct reading *r, const char *path, gcb_results_visit_fn *visit, void *ctx,
                       struct gcb_diag *diag)
{
    size_t length = 0;
    int err = 0;

    gcb_escape(r->name, sizeof(r->name), strcmp(path, "-") == 0 ? "standard input" : path);
    for (size_t i = 0; i < r->needs->field_count; i++)
        r->members.wanted[r->needs->fields[i]] = true;
    r->members.wanted[GCB_FIELD_SCHEMA] = true;
    do {
        err = next_line(r, &length, diag);
        if (!err && length)
            err = take_line(r, length, path, visit, ctx, diag);
    } while (!err && length);
    if (!err && r->number == 0)
        err = fail(r, GCB_E_CORRUPT, "no results in the file", diag);
    free(r->buffer);
    return err;
}

int gcb_results_read_fields(FILE *file, const char *path, const struct gcb_results_needs *needs,
                            gcb_results_visit_fn *visit, void *ctx, struct gcb_diag *diag)
{
    const bool standard = !file && strcmp(path, "-") == 0;
    struct reading r = {.needs = needs};
    char shown[256];
    int err;

    if (!file && !*path)
        return gcb_diag_set(diag, GCB_E_IO, "'' is not the name of a result file");
    r.file = file ? file : standard ? stdin : fopen(path, "re");
    if (!r.file)
        return gcb_diag_set(diag, GCB_E_IO, "%s: %s", gcb_escape(shown, sizeof(shown), path),
                            strerror(errno));
    err = read_stream(&r, path, visit, ctx, diag);
    if (!file && !standard)
        fclose(r.file);
    return err;
}

int gcb_results_read(const char *path, unsigned records, gcb_results_visit_fn *visit, void *ctx,
                     struct gcb_diag *diag)
{
    const struct gcb_results_needs needs = {.records = records};

    return gcb_results_read_fields(NULL, path, &needs, visit, ctx, diag);
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

    return fabs(value) < 1e-30 ? 0.0 : fabs(value) <= 1e30 ? value : (double)NAN;
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

const char *gcb_results_row_text(const struct gcb_results_row *row, enum gcb_field field)
{
    if (!row->members)
        return gcb_results_text(row->json, field);
    return row->members->member[field].kind == GCB_MEMBER_TEXT ? row->members->member[field].text
                                                               : NULL;
}

double gcb_results_row_real(const struct gcb_results_row *row, enum gcb_field field)
{
    double value = NAN;

    if (!row->members)
        return gcb_results_real(row->json, field);
    if (row->members->member[field].kind == GCB_MEMBER_NUMBER)
        gcb_parse_real(row->members->member[field].text, &value);
    return value;
}

uint64_t gcb_results_row_u64(const struct gcb_results_row *row, enum gcb_field field)
{
    uint64_t value = 0;

    if (!row->members)
        return gcb_results_u64(row->json, field);
    if (row->members->member[field].kind == GCB_MEMBER_NUMBER)
        gcb_parse_u64(row->members->member[field].text, &value); /* refuses signs and points */
    return value;
}
