#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"

#define MANY_ROWS 40 /* a table with more rows is folded if it has a text `folds` */

/* Columns that say where a case ran, and the target that it met. */
static const struct page_column places[] = {
    {.title = "run", .field = GCB_FIELD_PAGE_RUN},
    {.title = "file", .field = GCB_FIELD_FILE},
    {.title = "scope", .field = GCB_FIELD_SCOPE},
    {.title = "device", .field = GCB_FIELD_DEVICE},
    {.title = "threads", .field = GCB_FIELD_THREADS},
    {.title = "isa", .field = GCB_FIELD_ISA},
    {.title = "cache", .field = GCB_FIELD_CACHE},
    {.title = "target", .field = GCB_FIELD_MATCH_FIELD},
    {.title = "at", .field = GCB_FIELD_MATCH_TARGET},
    {.title = "status", .field = GCB_FIELD_STATUS},
    {.title = NULL},
};

static enum gcb_field_show show_of(const struct page_column *c)
{
    return gcb_field_info(c->field)->show;
}

static bool is_number(const struct page_column *c)
{
    return show_of(c) >= GCB_SHOW_COUNT || c->field == GCB_FIELD_DATE;
}

/* The unit of a chart's axis; "" if there is none. */
static const char *unit_of(const struct page_column *c)
{
    if (c->field == GCB_FIELD_DATE)
        return "date";
    switch (show_of(c)) {
    case GCB_SHOW_SECONDS:
        return "s";
    case GCB_SHOW_SIZE:
        return "B";
    default:
        return "";
    }
}

/* Returns a date such as "2026-11-23T12:47:04Z" in seconds since 1970; NAN if it is no date. */
static double date_of(const json_t *row)
{
    const char *text = gcb_results_text(row, GCB_FIELD_DATE);
    struct tm tm = {.tm_sec = 0};
    const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;

    return end ? (double)timegm(&tm) : NAN;
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

/* Cuts the unit of a number if it is that of `shown`. */
static char *cut_unit(char *number, const char *shown)
{
    const char *unit = strrchr(shown, ' ');
    char *own = strrchr(number, ' ');

    if (unit && own && strcmp(unit, own) == 0)
        *own = '\0';
    return number;
}

/* Prints " [1.20, 1.31]" after a number, which was printed as `shown`, if the row has an interval. */
static void print_interval(FILE *out, const struct page_column *c, const json_t *row, double value,
                           const char *shown)
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
        fprintf(out, " <i>[%s, %s]</i>", cut_unit(gcb_show_number(a, show_of(c), low), shown),
                cut_unit(gcb_show_number(b, show_of(c), high), shown));
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

/* Is the text a sentence, which needs several lines? */
static bool is_sentence(const struct page_column *c, const json_t *row)
{
    const char *text = gcb_results_text(row, c->field);

    return show_of(c) == GCB_SHOW_SENTENCE ||
           (text && show_of(c) == GCB_SHOW_WORD && strchr(text, ' '));
}

static void print_value(FILE *out, const struct page_column *c, const json_t *row)
{
    const json_t *value = page_value(row, c->field);
    const enum gcb_field_show show = show_of(c);
    char text[32];

    if (c->field == GCB_FIELD_GIT_REVISION && json_is_string(value)) {
        snprintf(text, sizeof(text), "%.8s", json_string_value(value));
        gcb_html_between(out, "<code>", text, "</code>");
    } else if (show == GCB_SHOW_NAME && value) {
        fputs("<code>", out);
        print_text(out, value);
        fputs("</code>", out);
    } else if (show == GCB_SHOW_WORD && json_is_string(value) && !is_sentence(c, row)) {
        print_word(out, json_string_value(value));
    } else if (show == GCB_SHOW_BELOW && !value) {
        fputs("any", out);
    } else if (show == GCB_SHOW_BELOW && gcb_results_real(row, c->field) == 0.0) {
        fputs("no", out);
    } else if (show == GCB_SHOW_YES) {
        fputs(json_is_true(value) ? "<b>yes</b>" : json_is_false(value) ? "no" : "-", out);
    } else if (is_number(c) && show >= GCB_SHOW_COUNT) {
        const double number = gcb_results_real(row, c->field);

        fputs(gcb_show_number(text, show_in(c, row), number), out);
        print_interval(out, c, row, number, text);
    } else {
        print_text(out, value);
    }
}

/* Begins a cell after the first. data-v is the number of a date. */
static void begin_cell(FILE *out, const struct page_column *c, const json_t *row)
{
    if (c->field == GCB_FIELD_DATE && isfinite(date_of(row)))
        fprintf(out, "<td data-v=\"%.0f\">", date_of(row));
    else if (is_number(c))
        fputs("<td>", out);
    else
        fputs(is_sentence(c, row) ? "<td class=x>" : "<td class=t>", out);
}

/* A name needs no quotes, which makes a page of many rows smaller. */
static void print_method(FILE *out, const char *name)
{
    const bool plain =
        name && *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")];

    gcb_html_between(out, plain ? " data-m=" : " data-m=\"", name, plain ? "" : "\"");
}

/* Prints row i. The setting is printed once: in the table of settings, which has the same data-i, or as the title. */
static void print_row(FILE *out, const struct page_table *table,
                      const struct page_column *const *columns, const json_t *row, size_t i)
{
    fputs(page_is_baseline(row) ? "<tr class=\"baseline\"" : "<tr", out);
    print_method(out, gcb_results_text(row, GCB_FIELD_METHOD));
    if (table->record != PAGE_SUMMARY)
        gcb_html_between(out, " title=\"", gcb_results_text(row, GCB_FIELD_SPEC), "\"");
    else if (table->charts->caption || table->needs == GCB_FIELD_SPEC)
        fprintf(out, " data-i=%zu", i);
    fputs("><th scope=row>", out);
    print_value(out, columns[0], row);
    fputs("</th>", out);
    for (size_t c = 1; columns[c]; c++) {
        begin_cell(out, columns[c], row);
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

/* Prints the heads. data-f names the field, data-u its unit, for charts. */
static void print_columns(FILE *out, const struct page_column *const *columns,
                          enum page_record record)
{
    for (size_t c = 0; columns[c]; c++) {
        const struct page_column *at = columns[c];
        const char *meaning = gcb_field_meaning(at->field, records_of(record));

        fprintf(out, "<th scope=\"col\" data-f=\"%s\"", gcb_field_name(at->field));
        if (*unit_of(at))
            fprintf(out, " data-u=\"%s\"", unit_of(at));
        gcb_html_between(out, " title=\"", *meaning ? meaning : NULL, "\"");
        gcb_html_between(out, is_number(at) ? " class=\"n\">" : ">", at->title, "</th>");
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

#define PLACES (sizeof(places) / sizeof(places[0]))

/* Do all rows that have this text have the same one, at least three times? Then it is said once above the table. */
static bool is_repeated(const struct page_rows *rows, const struct page_column *c)
{
    const json_t *seen = NULL;
    size_t n = 0;

    for (size_t i = 0; show_of(c) == GCB_SHOW_SENTENCE && i < rows->count; i++) {
        const json_t *value = page_value(rows->items[i], c->field);

        if (value && seen && !json_equal(value, seen))
            return false;
        seen = value ? value : seen;
        n += value != NULL;
    }
    return n >= 3;
}

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
        if (page_has(rows, c->field) && !is_repeated(rows, c))
            out[n++] = c;
    out[n] = NULL;
}

/* Prints the sentences that rows share, such as "reason, 13 rows: too few samples". */
static void print_repeated(FILE *out, const struct page_table *table, const struct page_rows *rows)
{
    for (const struct page_column *c = table->columns + 1; c->title; c++) {
        const json_t *text = NULL;
        size_t n = 0;

        if (!is_repeated(rows, c))
            continue;
        for (size_t i = 0; i < rows->count; i++)
            if (page_value(rows->items[i], c->field)) {
                text = page_value(rows->items[i], c->field);
                n++;
            }
        fprintf(out, "<p class=\"common\">%s, %s%zu rows: ", c->title,
                n == rows->count ? "all " : "", n);
        print_text(out, text);
        fputs("</p>\n", out);
    }
}

/* ---- charts ---- */

static bool has_chart(const struct page_chart *chart, const struct page_table *table,
                      const struct page *page)
{
    const struct page_rows *rows = &page->rows[table->record];

    return chart->caption && page_table_shows(table, page) && page_has(rows, chart->y) &&
           page_differs(rows, chart->x);
}

const struct page_chart *page_first_chart(const struct page_table **table, const struct page *page)
{
    for (const struct page_table *t = page_tables; t->title; t++)
        for (size_t i = 0; i < PAGE_CHARTS; i++)
            if (has_chart(&t->charts[i], t, page)) {
                *table = t;
                return &t->charts[i];
            }
    return NULL;
}

void page_chart(FILE *out, const struct page_chart *chart, const struct page_table *table)
{
    fprintf(out,
            "<figure class=\"chart\" data-of=\"%s-rows\" data-x=\"%s\" data-y=\"%s\" "
            "data-hold=\"%s\"%s><figcaption>%s</figcaption></figure>\n",
            table->id, gcb_field_name(chart->x), gcb_field_name(chart->y), chart->hold,
            chart->lines ? " data-lines=\"\"" : "", chart->caption);
}

/* ---- the section ---- */

/* Prints the rows from `first` to before `end` as a table. */
static void print_rows(FILE *out, const struct page_table *table, const struct page_rows *rows,
                       size_t first, size_t end, const char *part)
{
    const struct page_rows shown = {.items = rows->items + first, .count = end - first};
    const struct page_column *columns[PLACES + PAGE_COLUMNS];
    char attributes[96];

    choose_columns(columns, table, &shown);
    snprintf(attributes, sizeof(attributes), " id=\"%s-%s\" data-rows=\"\"", table->id, part);
    gcb_html_begin_table(out, table->title, attributes);
    print_columns(out, columns, table->record);
    for (size_t i = first; i < end; i++)
        if (!table->needs || page_value(rows->items[i], table->needs))
            print_row(out, table, columns, rows->items[i], i);
    gcb_html_end_table(out);
}

static size_t count_shown(const struct page_table *table, const struct page_rows *rows,
                          size_t first, size_t end)
{
    size_t n = 0;

    for (size_t i = first; i < end; i++)
        n += !table->needs || page_value(rows->items[i], table->needs);
    return n;
}

void page_table(FILE *out, const struct page_table *table, const struct page *page,
                const struct page_chart *first)
{
    const struct page_rows *rows = &page->rows[table->record];
    const struct page_column *columns[PLACES + PAGE_COLUMNS];
    const size_t shown = count_shown(table, rows, 0, rows->count);
    const bool folded = table->folds && (table->folded || shown > MANY_ROWS);
    size_t loud = rows->count; /* the rest is quiet: page_sort put it last */

    if (!page_table_shows(table, page))
        return;
    choose_columns(columns, table, rows);
    while (table->quiet && loud > 0 && page_row_rank(rows->items[loud - 1]) == 2)
        loud--;
    fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", table->id, table->title);
    if (table->intro)
        gcb_html_element(out, "p", NULL, table->intro);
    if (table->where)
        print_common(out, rows);
    print_repeated(out, table, rows);
    for (size_t i = 0; i < PAGE_CHARTS; i++)
        if (&table->charts[i] != first && has_chart(&table->charts[i], table, page))
            page_chart(out, &table->charts[i], table);
    if (folded)
        fprintf(out, "<details>\n<summary>%zu rows: %s</summary>\n", shown, table->folds);
    if (count_shown(table, rows, 0, loud))
        print_rows(out, table, rows, 0, loud, "rows");
    if (count_shown(table, rows, loud, rows->count)) {
        fprintf(out, "<details>\n<summary>%zu %s</summary>\n",
                count_shown(table, rows, loud, rows->count), table->quiet);
        print_rows(out, table, rows, loud, rows->count, "quiet");
        fputs("</details>\n", out);
    }
    print_meanings(out, columns, table->record);
    if (folded)
        fputs("</details>\n", out);
    if (rows->left_out)
        fprintf(out, "<p class=\"note\">%" PRIu64 " more rows are in the files.</p>\n",
                rows->left_out);
    fputs("</section>\n", out);
}
