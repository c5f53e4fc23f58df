#include "src/tool/rows/table.h"

#include <string.h>

#include "src/tool/base/columns.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/strings.h"

#define GAP 2          /* spaces between columns */
#define LEAST 8        /* elastic columns do not shrink below this width */
#define LEAST_CUT 4    /* other columns do not shrink below this ("a..b"), or below their title */
#define NAME_LINE 1200 /* bytes for a line of a name; the end of a longer line is lost */
#define NAME_INDENT 4  /* spaces before the second line of a name, and before later ones */

struct gcb_table {
    const struct gcb_table_column *columns;
    size_t count;
    const char **cells; /* row after row; the texts are in `strings` */
    struct gcb_strings strings;
    size_t used, cap; /* number of cells; cells that `cells` has room for */
};

/* A table that is being printed. */
struct print {
    const struct gcb_table *table;
    FILE *out;
    size_t widths[GCB_TABLE_COLUMNS];
    size_t limit;  /* columns of a line; 0: no limit */
    bool left_out; /* a number did not fit */
};

struct gcb_table *gcb_table_create(const struct gcb_table_column *columns, size_t count)
{
    struct gcb_table *t = gcb_must_zero(1, sizeof(*t));

    *t = (struct gcb_table){.columns = columns, .count = count};
    return t;
}

void gcb_table_destroy(struct gcb_table *t)
{
    if (!t)
        return;
    gcb_strings_fini(&t->strings);
    gcb_free(t->cells);
    gcb_free(t);
}

void gcb_table_cell(struct gcb_table *t, const char *text)
{
    if (!t)
        return;
    gcb_must_grow(&t->cells, &t->cap, t->used, sizeof(*t->cells));
    t->cells[t->used++] = gcb_strings_keep(&t->strings, text ? text : "-");
}

void gcb_table_title(struct gcb_table *t, const char *text)
{
    gcb_table_cell(t, text);
    for (size_t i = 1; t && i < t->count; i++)
        gcb_table_cell(t, "");
}

/* True if the row that begins at this cell has a text in no other cell, as gcb_table_title makes
 * it. False in a table of one column. */
static bool is_title(const struct gcb_table *t, size_t first)
{
    for (size_t i = 1; i < t->count; i++)
        if (*t->cells[first + i])
            return false;
    return t->count > 1;
}

size_t gcb_table_rows(const struct gcb_table *t)
{
    return t ? t->used / t->count : 0;
}

/* Returns the width that the title and the cells of a column need. Rows of gcb_table_title do not
 * count. */
static size_t natural_width(const struct gcb_table *t, size_t column)
{
    size_t width = gcb_text_columns(t->columns[column].title);

    for (size_t i = column; i < t->used; i += t->count) {
        const size_t w = is_title(t, i - column) ? 0 : gcb_text_columns(t->cells[i]);

        width = w > width ? w : width;
    }
    return width;
}

static void print_spaces(FILE *out, size_t n)
{
    fprintf(out, "%*s", (int)n, "");
}

/* Prints a number. If it does not fit, prints "?", because some of its digits would mislead. */
static void print_number(struct print *p, const char *text, size_t width)
{
    if (gcb_text_columns(text) > width) {
        p->left_out = true;
        text = "?";
    }
    print_spaces(p->out, width - gcb_text_columns(text));
    fputs(text, p->out);
}

/* Prints a text, and cuts its middle if it does not fit. Returns the number of columns. */
static size_t print_text(FILE *out, const char *text, size_t width)
{
    const size_t columns = gcb_text_columns(text), keep = width - strlen("..");
    const char *head, *tail;

    if (columns <= width) {
        fputs(text, out);
        return columns;
    }
    gcb_text_cut(text, keep, keep / 2, &head, &tail);
    fprintf(out, "%.*s..%s", (int)(head - text), text, tail);
    return columns - gcb_text_columns(head) + strlen("..") + gcb_text_columns(tail);
}

/* Prints a cell of column i. A text that is not the last of its line is padded. */
static void print_cell(struct print *p, const char *text, size_t i, bool last)
{
    const struct gcb_table_column *column = &p->table->columns[i];
    const size_t width = p->widths[i];

    if (!column->text && !column->elastic) {
        print_number(p, text, width);
    } else {
        const size_t shown = print_text(p->out, text, width);

        print_spaces(p->out, last ? 0 : width - shown);
    }
}

/* Returns the widest column that is not elastic and can still shrink, or GCB_TABLE_COLUMNS if no
 * column can. */
static size_t find_widest(const struct print *p)
{
    size_t found = GCB_TABLE_COLUMNS;

    for (size_t i = 0; i < p->table->count; i++) {
        const struct gcb_table_column *c = &p->table->columns[i];
        const size_t title = gcb_text_columns(c->title);

        if (!c->elastic && p->widths[i] > (title > LEAST_CUT ? title : LEAST_CUT) &&
            (found == GCB_TABLE_COLUMNS || p->widths[i] > p->widths[found]))
            found = i;
    }
    return found;
}

/* Chooses the widths. To fit the limit (0: none), elastic columns shrink first, from left to right;
 * then always the widest other column. */
static void find_widths(struct print *p, unsigned limit)
{
    const struct gcb_table *t = p->table;
    size_t total = t->count ? GAP * (t->count - 1) : 0;

    for (size_t i = 0; i < t->count; i++) {
        p->widths[i] = natural_width(t, i);
        total += p->widths[i];
    }
    for (size_t i = 0; limit && i < t->count; i++)
        for (; t->columns[i].elastic && total > limit && p->widths[i] > LEAST; total--)
            p->widths[i]--;
    for (size_t i; limit && total > limit && (i = find_widest(p)) < GCB_TABLE_COLUMNS; total--)
        p->widths[i]--;
}

/* Prints the name of a row on lines of its own, broken after commas. A part that is longer than a
 * line loses its middle. */
static void print_name(const struct print *p, const char *text)
{
    size_t left = strlen(text), indent = 0;

    while (left) {
        const size_t room = p->limit - indent, n = gcb_text_break(text, left, room);
        char part[NAME_LINE], cut[NAME_LINE];

        snprintf(part, sizeof(part), "%.*s", (int)n, text);
        print_spaces(p->out, indent);
        fprintf(p->out, "%s\n", gcb_text_shorten(cut, sizeof(cut), part, room));
        text += n;
        left -= n;
        indent = NAME_INDENT;
    }
}

/* Prints a row of the table, or the header if `cells` is NULL, without a newline. */
static void print_line(struct print *p, const char *const *cells)
{
    const struct gcb_table *t = p->table;
    size_t count = t->count;

    while (cells && count > 1 && !*cells[count - 1]) /* no blanks at the end of a line */
        count--;
    for (size_t i = 0; i < count; i++) {
        const char *text = cells ? cells[i] : t->columns[i].title;

        if (i == 0 && t->count > 1 && t->columns[0].elastic &&
            gcb_text_columns(text) > p->widths[0]) {
            print_name(p, text);
            text = "";
        }
        if (i)
            print_spaces(p->out, GAP);
        print_cell(p, text, i, i + 1 == count);
    }
}

void gcb_table_print(const struct gcb_table *t, FILE *out, unsigned width, bool color)
{
    struct print p = {.table = t, .out = out, .limit = width};

    find_widths(&p, width);
    fputs(color ? "\033[1m" : "", out);
    print_line(&p, NULL);
    fputs(color ? "\033[0m\n" : "\n", out);
    for (size_t i = 0; i < t->used; i += t->count) {
        if (is_title(t, i))
            fputs(t->cells[i], out);
        else
            print_line(&p, t->cells + i);
        fputc('\n', out);
    }
    if (p.left_out)
        fputs("?: too long for the table; --format json shows it\n", out);
}
