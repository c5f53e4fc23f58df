#include <inttypes.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/rows/results.h"
#include "src/tool/rows/sink.h"

/* A text as a cell. Spreadsheets run cells that begin like a formula: those get a quote in front. */
static void write_text(FILE *f, const char *text, char separator)
{
    const char *guard = *text && strchr("=+-@", *text) ? "'" : "";

    if (separator == '\t' || !strpbrk(text, ",\"")) {
        fprintf(f, "%s%s", guard, text); /* tabs and newlines are escaped in every row */
        return;
    }
    fprintf(f, "\"%s", guard);
    for (; *text; text++)
        fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', f);
}

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
    /* null, nothing, and what has no cell (an object) stay empty */
}

static bool shown(const struct gcb_columns *columns, const json_t *row)
{
    const enum gcb_record record = gcb_record_find(gcb_results_text(row, GCB_FIELD_RECORD));

    return record < GCB_RECORDS && columns->records & GCB_RECORD_BIT(record);
}

static int write_header(FILE *f, const struct gcb_columns *columns, char separator)
{
    for (size_t i = 0; i < columns->count; i++) {
        if (i)
            fputc(separator, f);
        fputs(gcb_field_name(columns->fields[i]), f);
    }
    fputc('\n', f);
    return ferror(f) ? GCB_E_IO : 0;
}

static int write_row(FILE *f, const json_t *row, const struct gcb_columns *columns, char separator)
{
    if (!shown(columns, row))
        return 0;
    for (size_t i = 0; i < columns->count; i++) {
        if (i)
            fputc(separator, f);
        write_cell(f, gcb_results_json(row, columns->fields[i]), separator);
    }
    fputc('\n', f);
    return ferror(f) ? GCB_E_IO : 0;
}

static int csv_begin(FILE *f, const struct gcb_columns *columns)
{
    return write_header(f, columns, ',');
}

static int csv_put(FILE *f, const json_t *row, const struct gcb_columns *columns)
{
    return write_row(f, row, columns, ',');
}

static int tsv_begin(FILE *f, const struct gcb_columns *columns)
{
    return write_header(f, columns, '\t');
}

static int tsv_put(FILE *f, const json_t *row, const struct gcb_columns *columns)
{
    return write_row(f, row, columns, '\t');
}

const struct gcb_sink_ops gcb_sink_csv = {.begin = csv_begin, .put = csv_put};
const struct gcb_sink_ops gcb_sink_tsv = {.begin = tsv_begin, .put = tsv_put};
