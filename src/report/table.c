#include "src/report/table.h"

#include <stdint.h>
#include <string.h>

#include "src/base/alloc.h"

#define GAP 2
#define MAX_COLUMNS 32
#define LEAST 8 /* an elastic column is not cut below this */

struct gcb_table {
    const struct gcb_table_column *columns;
    size_t count;
    char **cells; /* rows * count */
    size_t used, cap;
};

static const struct {
    uint32_t first, last;
} wide[] = {
    {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
};

/* The code point at *s, which moves behind it. A stray byte stands for itself. */
static uint32_t next_point(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    const unsigned more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : p[0] >= 0xc0 ? 1 : 0;
    uint32_t point = more ? p[0] & (0x3fu >> more) : p[0];
    unsigned i = 1;

    for (; i <= more && (p[i] & 0xc0) == 0x80; i++)
        point = point << 6 | (p[i] & 0x3f);
    *s += i;
    return point;
}

static size_t point_width(uint32_t point)
{
    if (point >= 0x300 && point <= 0x36f)
        return 0;
    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
        if (point >= wide[i].first && point <= wide[i].last)
            return 2;
    return 1;
}

size_t gcb_table_text_width(const char *text)
{
    size_t width = 0;

    while (*text)
        width += point_width(next_point(&text));
    return width;
}

int gcb_table_create(struct gcb_table **out, const struct gcb_table_column *columns, size_t count,
                     struct gcb_diag *diag)
{
    struct gcb_table *t;

    if (count > MAX_COLUMNS)
        return gcb_diag_set(diag, GCB_E_INTERNAL, "a table of too many columns");
    t = gcb_alloc_zero(1, sizeof(*t));
    if (!t)
        return gcb_diag_nomem(diag, sizeof(*t), "a table");
    t->columns = columns;
    t->count = count;
    *out = t;
    return 0;
}

void gcb_table_destroy(struct gcb_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->used; i++)
        gcb_free(t->cells[i]);
    gcb_free(t->cells);
    gcb_free(t);
}

static int add_cell(struct gcb_table *t, const char *text)
{
    char *copy = gcb_strdup(text ? text : "-");

    if (!copy || gcb_grow(&t->cells, &t->cap, t->used, sizeof(*t->cells))) {
        gcb_free(copy);
        return GCB_E_NOMEM;
    }
    t->cells[t->used++] = copy;
    return 0;
}

int gcb_table_add(struct gcb_table *t, const char *const *cells, struct gcb_diag *diag)
{
    const size_t start = t->used;

    for (size_t i = 0; i < t->count; i++) {
        if (!add_cell(t, cells[i]))
            continue;
        while (t->used > start)
            gcb_free(t->cells[--t->used]);
        return gcb_diag_nomem(diag, 0, "a row of a table");
    }
    return 0;
}

size_t gcb_table_rows(const struct gcb_table *t)
{
    return t->count ? t->used / t->count : 0;
}

static size_t natural_width(const struct gcb_table *t, size_t column)
{
    size_t width = gcb_table_text_width(t->columns[column].title);

    for (size_t i = column; i < t->used; i += t->count) {
        const size_t w = gcb_table_text_width(t->cells[i]);

        width = w > width ? w : width;
    }
    return width;
}

/* Width of a column once `excess` is taken from it, as far as it gives way. */
static size_t shrink(const struct gcb_table_column *column, size_t width, size_t *excess)
{
    const size_t spare = column->elastic && width > LEAST ? width - LEAST : 0;
    const size_t cut = *excess < spare ? *excess : spare;

    *excess -= cut;
    return width - cut;
}

static void spaces(FILE *out, size_t n)
{
    fprintf(out, "%*s", (int)n, "");
}

/* The end of the first part and the start of the last part of a text cut to `width` with ".." between. */
static void cut_points(const char *text, size_t width, const char **head, const char **tail)
{
    const size_t total = gcb_table_text_width(text), keep = width - 2, front = keep / 2;
    size_t at = 0, left = total;
    const char *p = text;

    while (*p) { /* as many characters as fit in front */
        const char *q = p;
        const size_t w = point_width(next_point(&q));

        if (at + w > front)
            break;
        at += w;
        left -= w;
        p = q;
    }
    *head = p;
    while (*p && left > keep - at)
        left -= point_width(next_point(&p));
    *tail = p;
}

static void print_cell(FILE *out, const char *text, size_t width, bool right, bool last)
{
    const size_t own = gcb_table_text_width(text);
    const char *head, *tail;

    if (own > width) {
        cut_points(text, width, &head, &tail);
        fprintf(out, "%.*s..%s", (int)(head - text), text, tail);
        if (!last)
            spaces(out,
                   width - 2 - gcb_table_text_width(tail) - (own - gcb_table_text_width(head)));
        return;
    }
    if (right)
        spaces(out, width - own);
    fputs(text, out);
    if (!right && !last)
        spaces(out, width - own);
}

/* Width of column i after the table was made to fit. */
static size_t final_width(const struct gcb_table *t, unsigned limit, size_t column)
{
    size_t total = t->count ? GAP * (t->count - 1) : 0, excess, width = 0;

    for (size_t i = 0; i < t->count; i++)
        total += natural_width(t, i);
    excess = limit && total > limit ? total - limit : 0;
    for (size_t i = 0; i <= column; i++)
        width = shrink(&t->columns[i], natural_width(t, i), &excess);
    return width;
}

static void print_line(const struct gcb_table *t, FILE *out, const size_t *widths,
                       char *const *cells)
{
    for (size_t i = 0; i < t->count; i++) {
        const char *text = cells ? cells[i] : t->columns[i].title;

        if (i == 0 && t->count > 1 && gcb_table_text_width(text) > widths[0]) {
            fprintf(out, "%s\n", text); /* what a row is of is never cut */
            text = "";
        }
        if (i)
            spaces(out, GAP);
        print_cell(out, text, widths[i], t->columns[i].number, i + 1 == t->count);
    }
}

void gcb_table_print(const struct gcb_table *t, FILE *out, unsigned width, bool color)
{
    size_t widths[MAX_COLUMNS];

    for (size_t i = 0; i < t->count; i++)
        widths[i] = final_width(t, width, i);
    fputs(color ? "\033[1m" : "", out);
    print_line(t, out, widths, NULL);
    fputs(color ? "\033[0m\n" : "\n", out);
    for (size_t i = 0; i < t->used; i += t->count) {
        print_line(t, out, widths, t->cells + i);
        fputc('\n', out);
    }
}
