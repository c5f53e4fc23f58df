#include "src/tool/rows/sink.h"

#include <errno.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/results.h"

struct gcb_sink {
    enum gcb_format format;
    FILE *file;
    const char *name;
    unsigned records; /* the records that csv and tsv show */
    enum gcb_field columns[GCB_FIELDS];
    size_t column_count;
};

/* ---- JSON Lines ---- */

/*
 * Writes any JSON value, with reals in their shortest form. jansson would write all reals with the
 * same number of digits: 0.8 as 0.80000000000000004.
 */
static void write_value(FILE *f, const json_t *value);

static void write_array(FILE *f, const json_t *array)
{
    fputc('[', f);
    for (size_t i = 0; i < json_array_size(array); i++) {
        fputs(i ? ", " : "", f);
        write_value(f, json_array_get(array, i));
    }
    fputc(']', f);
}

static void write_object(FILE *f, const json_t *object)
{
    const char *separator = "";
    json_t *o;

    memcpy(&o, &object, sizeof(o)); /* jansson's iterators take a pointer that is not const */
    fputc('{', f);
    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
        /* `merge` copies rows from files, whose keys may be any text */
        json_t *key = json_string(json_object_iter_key(it));

        if (!key)
            gcb_no_memory();
        fputs(separator, f);
        write_value(f, key);
        fputs(": ", f);
        write_value(f, json_object_iter_value(it));
        json_decref(key);
        separator = ", ";
    }
    fputc('}', f);
}

static void write_value(FILE *f, const json_t *value)
{
    char text[32];

    if (json_is_object(value)) {
        write_object(f, value);
    } else if (json_is_array(value)) {
        write_array(f, value);
    } else if (json_is_real(value)) {
        gcb_real_text(text, json_real_value(value));
        /* 5.0, not 5, so that readers see a real */
        fprintf(f, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
    } else if (json_dumpf(value, f, JSON_ENCODE_ANY) && !ferror(f)) { /* flush reports f's errors */
        gcb_no_memory();
    }
}

/* ---- csv and tsv ---- */

/* Writes a text as csv or tsv. Escapes the text again, because `merge` copies rows from files,
 * whose texts may hold newlines and tabs. A text that begins like a formula gets an apostrophe in
 * front, because spreadsheets would run the formula. */
static void write_text(FILE *f, const char *value, char separator)
{
    const size_t size = 4 * strlen(value) + 1;
    char *const text = gcb_escape_again(gcb_must_array(size, 1), size, value);
    const bool quoted = separator == ',' && strpbrk(text, ",\"");

    fputs(quoted ? "\"" : "", f);
    fputs(*text && strchr("=+-@", *text) ? "'" : "", f);
    for (const char *p = text; *p; p++) {
        if (quoted && *p == '"')
            fputc('"', f);
        fputc(*p, f);
    }
    fputs(quoted ? "\"" : "", f);
    gcb_free(text);
}

/* Writes one cell, which is empty for null, a list or an object. */
static void write_cell(FILE *f, const json_t *value, char separator)
{
    char text[32];

    if (json_is_string(value))
        write_text(f, json_string_value(value), separator);
    else if (json_is_integer(value))
        fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fputs(gcb_real_text(text, json_real_value(value)), f);
    else if (json_is_boolean(value))
        fputs(json_boolean_value(value) ? "true" : "false", f);
}

/* Writes one line of cells, or the header if `row` is NULL. Writes nothing for a row whose record
 * is not in s->records. */
static void write_cells(const struct gcb_sink *s, const json_t *row)
{
    const char separator = s->format == GCB_FORMAT_CSV ? ',' : '\t';
    const enum gcb_record record =
        gcb_record_find(row ? gcb_results_text(row, GCB_FIELD_RECORD) : NULL);

    if (row && (record == GCB_RECORDS || !(s->records & GCB_RECORD_BIT(record))))
        return;
    for (size_t i = 0; i < s->column_count; i++) {
        if (i)
            fputc(separator, s->file);
        if (row)
            write_cell(s->file, gcb_results_json(row, s->columns[i]), separator);
        else
            fputs(gcb_field_name(s->columns[i]), s->file);
    }
    fputc('\n', s->file);
}

/* ---- sinks ---- */

/* Flushes the stream. Reports its write errors; errno must have been 0 before the writes. */
static int flush(const struct gcb_sink *s, struct gcb_diag *diag)
{
    if (!ferror(s->file) && fflush(s->file) == 0)
        return 0;
    if (errno == EPIPE)
        return gcb_diag_set(diag, GCB_E_IO, "%s", ""); /* the reader is gone: an empty message */
    return gcb_diag_set(diag, GCB_E_IO, "%s: cannot write: %s", s->name,
                        strerror(errno ? errno : EIO));
}

int gcb_sink_create(struct gcb_sink **out, enum gcb_format format, FILE *file, const char *name,
                    unsigned records, struct gcb_diag *diag)
{
    struct gcb_sink *s = gcb_must_zero(1, sizeof(*s));
    int err = 0;

    *s = (struct gcb_sink){.format = format, .file = file, .name = name, .records = records};
    s->column_count = gcb_field_columns(s->columns, records);
    errno = 0;
    if (format == GCB_FORMAT_CSV || format == GCB_FORMAT_TSV) {
        write_cells(s, NULL);
        err = flush(s, diag);
    }
    if (err)
        gcb_sink_destroy(s);
    else
        *out = s;
    return err;
}

int gcb_sink_put(struct gcb_sink *s, const struct gcb_row *row, struct gcb_diag *diag)
{
    if (s->format == GCB_FORMAT_TABLE)
        return 0;
    errno = 0;
    if (s->format == GCB_FORMAT_JSON) {
        write_object(s->file, row->json);
        fputc('\n', s->file);
    } else {
        write_cells(s, row->json);
    }
    return flush(s, diag);
}

void gcb_sink_destroy(struct gcb_sink *s)
{
    gcb_free(s);
}
