#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"

#define MANY_ROWS 40 /* a table with more rows is folded if it has a text `folds` */

/* Columns that say where a case ran. */
static const struct page_column places[] = {
    {.title = "run", .field = GCB_FIELD_PAGE_RUN},
    {.title = "file", .field = GCB_FIELD_FILE},
    {.title = "scope", .field = GCB_FIELD_SCOPE},
    {.title = "device", .field = GCB_FIELD_DEVICE},
    {.title = "threads", .field = GCB_FIELD_THREADS},
    {.title = "isa", .field = GCB_FIELD_ISA},
    {.title = "cache", .field = GCB_FIELD_CACHE},
    {.title = "status", .field = GCB_FIELD_STATUS},
    {.title = NULL},
};

static enum gcb_field_show show_of(const struct page_column *c)
{
    return gcb_field_info(c->field)->show;
}

static bool is_number(const struct page_column *c)
{
    return show_of(c) >= GCB_SHOW_COUNT;
}

/* Shows any value in a text column. */
static void print_text(FILE *out, const json_t *value)
{
    char number[32];

    if (json_is_string(value))
        gcb_html_text(out, json_string_value(value));
    else if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_number(value))
        fputs(gcb_show_number(number, GCB_SHOW_NUMBER, json_number_value(value)), out);
    else
        fputs(json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "-", out);
}

/* Chooses how the column's number is shown in this row. */
static enum gcb_field_show show_in(const struct page_column *c, const json_t *row)
{
    if (show_of(c) != GCB_SHOW_BY_UNIT)
        return show_of(c);
    return page_says(row, GCB_FIELD_UNIT, "seconds") ? GCB_SHOW_SECONDS
           : page_says(row, GCB_FIELD_UNIT, "bytes") ? GCB_SHOW_SIZE
                                                     : GCB_SHOW_NUMBER;
}

/* Prints " [1.20, 1.31]" after a number, if the row has an interval. */
static void print_interval(FILE *out, const struct page_column *c, const json_t *row, double value)
{
    double low = c->low ? gcb_results_real(row, c->low) : NAN;
    double high = c->high ? gcb_results_real(row, c->high) : NAN;
    char a[32], b[32];

    if (c->seconds) { /* the longest time gives the low end of a rate */
        const double work = value * gcb_results_real(row, c->seconds), longest = high;

        high = work / low;
        low = work / longest;
    }
    if (isfinite(low) && isfinite(high))
        fprintf(out, " <span class=\"i\">[%s, %s]</span>", gcb_show_number(a, show_of(c), low),
                gcb_show_number(b, show_of(c), high));
}

/* Prints a verdict or a status, with the CSS class that colours it. */
static void print_word(FILE *out, const char *word)
{
    fputs("<span class=\"w ", out);
    for (const char *p = word; *p; p++)
        if (isalpha((unsigned char)*p))
            fputc(tolower((unsigned char)*p), out);
    gcb_html_between(out, "\">", word, "</span>");
}

static void print_value(FILE *out, const struct page_column *c, const json_t *row)
{
    const json_t *value = page_value(row, c->field);
    const enum gcb_field_show show = show_of(c);
    char text[32];

    if (show == GCB_SHOW_NAME && value) {
        fputs("<code>", out);
        print_text(out, value);
        fputs("</code>", out);
    } else if (show == GCB_SHOW_WORD && json_is_string(value)) {
        print_word(out, json_string_value(value));
    } else if (show == GCB_SHOW_BELOW && !value) {
        fputs("any", out);
    } else if (show == GCB_SHOW_BELOW && gcb_results_real(row, c->field) == 0.0) {
        fputs("no", out);
    } else if (show == GCB_SHOW_YES) {
        fputs(json_is_true(value) ? "<b>yes</b>" : json_is_false(value) ? "no" : "-", out);
    } else if (is_number(c)) {
        const double number = gcb_results_real(row, c->field);

        fputs(gcb_show_number(text, show_in(c, row), number), out);
        print_interval(out, c, row, number);
    } else {
        print_text(out, value);
    }
}

static void print_row(FILE *out, const struct page_column *const *columns, const json_t *row)
{
    fputs(page_is_baseline(row) ? "<tr class=\"baseline\"" : "<tr", out);
    fputs("><th scope=\"row\"", out);
    gcb_html_between(out, " title=\"", gcb_results_text(row, GCB_FIELD_SPEC), "\"");
    fputs(">", out);
    print_value(out, columns[0], row);
    fputs("</th>", out);
    for (size_t c = 1; columns[c]; c++) {
        fputs(is_number(columns[c])                      ? "<td class=\"n\">"
              : show_of(columns[c]) == GCB_SHOW_SENTENCE ? "<td class=\"t\">"
                                                         : "<td>",
              out);
        print_value(out, columns[c], row);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

/* Prints the places that all rows share, such as "scope tensor, threads 1". */
static void print_common(FILE *out, const struct page_rows *rows)
{
    const char *separator = "<p class=\"common\">";

    for (const struct page_column *c = places; c->title; c++) {
        const json_t *value = page_value(rows->items[0], c->field);

        if (!value || page_differs(rows, c->field) || show_of(c) == GCB_SHOW_WORD ||
            c->field == GCB_FIELD_PAGE_RUN)
            continue;
        fprintf(out, "%s%s ", separator, c->title);
        print_text(out, value);
        separator = ", ";
    }
    if (*separator == ',')
        fputs("</p>\n", out);
}

/* Returns the records (as bits) whose field meanings apply to a table. */
static unsigned records_of(enum page_record record)
{
    if (record == PAGE_PAPER)
        return GCB_RECORD_BIT(GCB_RECORD_FFT) | GCB_RECORD_BIT(GCB_RECORD_REDSYNC);
    return GCB_RECORD_BIT(page_record_kinds[record]) | GCB_RECORD_BIT(GCB_RECORD_PAGE);
}

/* Prints the meaning of a field. Its parts between backticks become <code>. */
static void print_meaning(FILE *out, const char *text)
{
    char part[400];
    bool code = false;

    for (;; code = !code) {
        const size_t length = strcspn(text, "`");

        snprintf(part, sizeof(part), "%.*s", (int)length, text);
        gcb_html_text(out, part);
        text += length;
        if (!*text++)
            return;
        fputs(code ? "</code>" : "<code>", out);
    }
}

static void print_meanings(FILE *out, const struct page_column *const *columns,
                           enum page_record record)
{
    const char *separator = "<p class=\"help\">";

    for (size_t c = 0; columns[c]; c++) {
        if (!columns[c]->explained)
            continue;
        fprintf(out, "%s<b>%s</b>: ", separator, columns[c]->title);
        print_meaning(out, gcb_field_meaning(columns[c]->field, records_of(record)));
        separator = "; ";
    }
    if (*separator == ';')
        fputs(".</p>\n", out);
}

bool page_table_shows(const struct page_table *table, const struct page *page)
{
    const struct page_rows *rows = &page->rows[table->record];

    return table->needs ? page_has(rows, table->needs) : rows->count > 0;
}

static void print_columns(FILE *out, const struct page_column *const *columns)
{
    for (size_t c = 0; columns[c]; c++) {
        const bool number = is_number(columns[c]);

        gcb_html_between(out, number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">",
                         columns[c]->title, "</th>");
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

#define PLACES (sizeof(places) / sizeof(places[0]))

/* Chooses the columns to show: the first, places that differ between rows, and columns with a value in some row. `out`
 * ends with NULL. */
static void choose_columns(const struct page_column *out[PLACES + PAGE_COLUMNS],
                           const struct page_table *table, const struct page_rows *rows)
{
    size_t n = 0;

    out[n++] = &table->columns[0];
    for (const struct page_column *c = places; table->where && c->title; c++)
        if (page_differs(rows, c->field))
            out[n++] = c;
    for (const struct page_column *c = table->columns + 1; c->title; c++)
        if (page_has(rows, c->field))
            out[n++] = c;
    out[n] = NULL;
}

void page_table(FILE *out, const struct page_table *table, const struct page *page)
{
    const struct page_rows *rows = &page->rows[table->record];
    const struct page_column *columns[PLACES + PAGE_COLUMNS];
    const bool folded = table->folds && rows->count > MANY_ROWS;

    if (!page_table_shows(table, page))
        return;
    choose_columns(columns, table, rows);
    fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", table->id, table->title);
    if (table->intro)
        gcb_html_element(out, "p", NULL, table->intro);
    if (table->where)
        print_common(out, rows);
    if (folded)
        fprintf(out, "<details>\n<summary>%zu rows: %s</summary>\n", rows->count, table->folds);
    gcb_html_begin_table(out, table->title, "");
    print_columns(out, columns);
    for (size_t i = 0; i < rows->count; i++)
        print_row(out, columns, rows->items[i]);
    gcb_html_end_table(out);
    print_meanings(out, columns, table->record);
    if (folded)
        fputs("</details>\n", out);
    if (rows->left_out)
        fprintf(out, "<p class=\"note\">%" PRIu64 " more rows are in the files.</p>\n",
                rows->left_out);
    fputs("</section>\n", out);
}
