#include "src/tool/plot/plot_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/base/memory.h"

void gcb_plot_page_open(struct gcb_plot_page *page)
{
    page->script = open_memstream(&page->script_text, &page->script_size);
    page->csv = open_memstream(&page->csv_text, &page->csv_size);
    if (!page->script || !page->csv)
        gcb_no_memory();
}

void gcb_plot_page_close(struct gcb_plot_page *page)
{
    bool failed = ferror(page->script) || ferror(page->csv);

    failed |= fclose(page->script) != 0;
    failed |= fclose(page->csv) != 0;
    page->script = page->csv = NULL;
    if (failed)
        gcb_no_memory();
}

void gcb_plot_page_fini(struct gcb_plot_page *page)
{
    if (page->script)
        fclose(page->script);
    if (page->csv)
        fclose(page->csv);
    gcb_plot_set_fini(&page->set);
    free(page->script_text); /* open_memstream allocates with malloc */
    free(page->csv_text);
    *page = (struct gcb_plot_page){.script = NULL};
}

/* Writes a text in single quotes. UTF-8 is written as it is: the script tells gnuplot the encoding,
 * and invalid bytes in rows were escaped when the rows were read. */
static void put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (const unsigned char *p = (const unsigned char *)(text ? text : ""); *p; p++) {
        if (*p == '\'')
            fputc('\'', out);
        fputc(*p < 0x20 || *p == 0x7f ? '?' : *p, out);
    }
    fputc('\'', out);
}

static void put_real(FILE *out, double value)
{
    char text[32];

    fputs(isfinite(value) ? gcb_real_text(text, value) : "NaN", out);
}

void gcb_plot_var_text(struct gcb_plot_page *page, const char *name, const char *text)
{
    fprintf(page->script, "%s = ", name);
    put_quoted(page->script, text);
    fputc('\n', page->script);
}

void gcb_plot_var_real(struct gcb_plot_page *page, const char *name, double value)
{
    fprintf(page->script, "%s = ", name);
    put_real(page->script, value);
    fputc('\n', page->script);
}

void gcb_plot_columns(struct gcb_plot_page *page, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        fprintf(page->csv, "%s%s", i ? "," : "", names[i]);
    fputc('\n', page->csv);
}

void gcb_plot_break(struct gcb_plot_page *page)
{
    page->gap = page->rows > 0;
}

/* Writes a text in double quotes, as a cell of the data. gnuplot reads "\\" as one backslash. */
static void put_cell(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"')
            fputs("''", out);
        else if (*p == '\\')
            fputs("\\\\", out);
        else
            fputc(*p < 0x20 || *p == 0x7f ? '?' : *p, out);
    }
    fputc('"', out);
}

void gcb_plot_row(struct gcb_plot_page *page, const char *text, const double *values, size_t count)
{
    if (page->gap)
        fputc('\n', page->csv);
    page->gap = false;
    page->rows++;
    if (text)
        put_cell(page->csv, text);
    for (size_t i = 0; i < count; i++) {
        fputs(i || text ? "," : "", page->csv);
        put_real(page->csv, values[i]);
    }
    fputc('\n', page->csv);
}

void gcb_plot_cases_of(struct gcb_plot_cases *cases, const struct gcb_plot_page *page,
                       int (*compare)(const void *a, const void *b))
{
    const struct gcb_plot_record *row = NULL;

    *cases = (struct gcb_plot_cases){.items = NULL};
    while ((row = gcb_plot_next(page->plot, page->data, page->first, row)) != NULL)
        gcb_plot_cases_add(cases, row);
    if (cases->count)
        qsort(cases->items, cases->count, sizeof(*cases->items), compare);
}

/* ---- the heading of a page ---- */

/* Most columns of texts. A longer text would be wider than the picture, or than its place in it. */
enum { LINE_COLUMNS = 110, FILE_COLUMNS = 48, LABEL_COLUMNS = 60 };

/* Writes a variable with a line that stands above the picture. */
static void put_line(struct gcb_plot_page *page, const char *name, const char *text)
{
    char cut[256];

    gcb_plot_var_text(page, name, gcb_text_shorten(cut, sizeof(cut), text, LINE_COLUMNS));
}

/* Returns the name of the processor or GPU that a row was measured on. */
static const char *machine_of(const struct gcb_plot_record *row, const struct gcb_plot_record *env)
{
    if (*row->device && strcmp(row->device, "cpu") != 0 && *env->gpu)
        return env->gpu;
    return *env->cpu_model ? env->cpu_model : "unknown machine";
}

void gcb_plot_heading(struct gcb_plot_page *page, const char *title, const char *input)
{
    const struct gcb_plot_record *row = page->first, *env = gcb_plot_env_of(page->data, row->env);
    char file[128], text[256] = "";

    gcb_plot_var_text(page, "plot_title", title);
    if (!input) {
        gcb_text_shorten(file, sizeof(file), gcb_plot_base_name(*row->file ? row->file : env->file),
                         FILE_COLUMNS);
        snprintf(text, sizeof(text), "%s%s%s", *file ? file : "unnamed input",
                 *row->scope ? ", scope " : "", row->scope);
        if (*row->cache)
            gcb_append(text, sizeof(text), ", %s cache", row->cache);
    }
    put_line(page, "plot_input", input ? input : text);
    snprintf(text, sizeof(text), "%s", machine_of(row, env));
    if (row->threads > 0.0)
        gcb_append(text, sizeof(text), ", %.0f thread%s", row->threads,
                   row->threads == 1.0 ? "" : "s");
    if (*row->isa && page->plot->record != GCB_RECORD_KERNEL)
        gcb_append(text, sizeof(text), ", %s", row->isa);
    gcb_append(text, sizeof(text), "%s%s", *env->version ? ", gcbench " : "", env->version);
    put_line(page, "plot_machine", text);
}

/* ---- series and rows ---- */

/* The arrays of the script, which have an item for each series: first those of texts, then those of
 * numbers. */
static const char *const arrays[] = {"label", "colour", "ink", "point", "dash", "members"};
#define ARRAYS (sizeof(arrays) / sizeof(arrays[0]))
#define TEXTS 3

/* Writes the item of a series in arrays[which]. */
static void put_item(FILE *out, const struct gcb_plot_series *s, size_t which)
{
    char cut[GCB_PLOT_LABEL];
    const char *const texts[TEXTS] = {gcb_text_shorten(cut, sizeof(cut), s->label, LABEL_COLUMNS),
                                      s->style.colour, s->style.ink};
    const size_t numbers[ARRAYS - TEXTS] = {s->style.point, s->style.dash, s->count};

    if (which < TEXTS)
        put_quoted(out, texts[which]);
    else
        fprintf(out, "%zu", numbers[which - TEXTS]);
}

/* Writes the number of series, the number of series that have names, and the arrays. */
static void put_series(struct gcb_plot_page *page)
{
    const size_t count = page->set.count;

    gcb_plot_var_real(page, "series", (double)count);
    gcb_plot_var_real(page, "named", (double)page->set.named);
    for (size_t a = 0; a < ARRAYS; a++) {
        fprintf(page->script, "array %s[%zu] = [", arrays[a], count ? count : 1);
        for (size_t i = 0; i < count; i++) {
            fputs(i ? ", \\\n    " : "\\\n    ", page->script);
            put_item(page->script, &page->set.items[i], a);
        }
        fputs(count ? "]\n" : "'']\n", page->script); /* gnuplot has no empty arrays */
    }
}

/* Writes the data of a plot with `columns`: a line for each case, by series. */
static void put_rows(struct gcb_plot_page *page)
{
    fputs("label,series,baseline", page->csv);
    for (const enum gcb_field *f = page->plot->columns; *f; f++)
        fprintf(page->csv, ",%s", gcb_field_name(*f));
    fputc('\n', page->csv);
    for (size_t s = 0; s < page->set.count; s++) {
        if (s)
            fputc('\n', page->csv);
        for (size_t i = 0; i < page->set.items[s].count; i++) {
            const struct gcb_plot_record *row = page->set.cases.items[page->set.items[s].first + i];

            put_cell(page->csv, page->set.items[s].label);
            fprintf(page->csv, ",%zu,%d", s + 1, gcb_plot_baseline(row->method) != 0);
            for (const enum gcb_field *f = page->plot->columns; *f; f++) {
                const char *text = gcb_plot_text(row, *f);

                fputc(',', page->csv);
                if (text)
                    put_cell(page->csv, text);
                else
                    put_real(page->csv, gcb_plot_real(row, *f));
            }
            fputc('\n', page->csv);
        }
    }
}

void gcb_plot_page_fill(struct gcb_plot_page *page)
{
    const struct gcb_plot *plot = page->plot;

    if (plot->series)
        gcb_plot_set_collect(&page->set, page->data, plot, page->first);
    if (plot->heading)
        gcb_plot_heading(page, plot->heading, NULL);
    if (plot->add)
        plot->add(page);
    if (plot->columns[0])
        put_rows(page);
    put_series(page);
}
