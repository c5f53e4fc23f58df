#include "src/tool/plot/plot_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/text.h"

int gcb_plot_page_open(struct gcb_plot_page *page, struct gcb_diag *diag)
{
    *page = (struct gcb_plot_page){.vars = NULL};
    page->vars = open_memstream(&page->vars_text, &page->vars_size);
    page->data = open_memstream(&page->data_text, &page->data_size);
    return page->vars && page->data ? 0 : gcb_diag_nomem(diag, 0, "a plot");
}

int gcb_plot_page_close(struct gcb_plot_page *page, struct gcb_diag *diag)
{
    bool failed = ferror(page->vars) || ferror(page->data);

    failed |= fclose(page->vars) != 0;
    failed |= fclose(page->data) != 0;
    page->vars = page->data = NULL;
    return failed ? gcb_diag_nomem(diag, 0, "a plot") : 0;
}

void gcb_plot_page_fini(struct gcb_plot_page *page)
{
    if (page->vars)
        fclose(page->vars);
    if (page->data)
        fclose(page->data);
    free(page->vars_text); /* of the C library's allocator, as open_memstream has it */
    free(page->data_text);
    *page = (struct gcb_plot_page){.vars = NULL};
}

/* Bytes of UTF-8 pass, for gnuplot is told the encoding; texts of rows were checked when they were read. */
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
    fprintf(page->vars, "%s = ", name);
    put_quoted(page->vars, text);
    fputc('\n', page->vars);
}

void gcb_plot_var_real(struct gcb_plot_page *page, const char *name, double value)
{
    fprintf(page->vars, "%s = ", name);
    put_real(page->vars, value);
    fputc('\n', page->vars);
}

void gcb_plot_range_add(struct gcb_plot_range *range, double value)
{
    if (!isfinite(value))
        return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

void gcb_plot_range_add_positive(struct gcb_plot_range *range, double value)
{
    if (value > 0.0)
        gcb_plot_range_add(range, value);
}

void gcb_plot_var_range(struct gcb_plot_page *page, const char *name,
                        const struct gcb_plot_range *range)
{
    const bool empty = range->low > range->high;
    const double least = -1e60, most = 1e60; /* a hostile file must not overflow a script's sums */

    fprintf(page->vars, "%s_low = ", name);
    put_real(page->vars, empty ? 1.0 : fmin(fmax(range->low, least), most));
    fprintf(page->vars, "\n%s_high = ", name);
    put_real(page->vars, empty ? 1.0 : fmin(fmax(range->high, least), most));
    fputc('\n', page->vars);
}

void gcb_plot_array_begin(struct gcb_plot_page *page, const char *name, size_t count)
{
    fprintf(page->vars, "array %s[%zu] = [", name, count ? count : 1);
    page->cells = 0;
}

static void next_item(struct gcb_plot_page *page)
{
    fputs(page->cells++ ? ", \\\n    " : "\\\n    ", page->vars);
}

void gcb_plot_array_text(struct gcb_plot_page *page, const char *text)
{
    next_item(page);
    put_quoted(page->vars, text);
}

void gcb_plot_array_real(struct gcb_plot_page *page, double value)
{
    next_item(page);
    put_real(page->vars, value);
}

void gcb_plot_array_end(struct gcb_plot_page *page)
{
    fputs(page->cells ? "]\n" : "1]\n", page->vars);
    page->cells = 0;
}

void gcb_plot_block(struct gcb_plot_page *page, const char *const *columns)
{
    if (page->blocks++)
        fputs("\n\n", page->data);
    for (size_t i = 0; columns[i]; i++)
        fprintf(page->data, "%s%s", i ? " " : "", columns[i]);
    fputc('\n', page->data);
    page->cells = 0;
}

void gcb_plot_cell(struct gcb_plot_page *page, double value)
{
    if (page->cells++)
        fputc(' ', page->data);
    put_real(page->data, value);
}

void gcb_plot_cell_text(struct gcb_plot_page *page, const char *text)
{
    if (page->cells++)
        fputc(' ', page->data);
    fputc('"', page->data);
    for (const unsigned char *p = (const unsigned char *)(text ? text : ""); *p; p++) {
        if (*p == '"')
            fputs("''", page->data);
        else if (*p == '\\')
            fputs("\\\\", page->data);
        else
            fputc(*p < 0x20 || *p == 0x7f ? '?' : *p, page->data);
    }
    fputc('"', page->data);
}

void gcb_plot_end_row(struct gcb_plot_page *page)
{
    fputc('\n', page->data);
    page->cells = 0;
}
