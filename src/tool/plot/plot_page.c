#include "src/tool/plot/plot_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"

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
    gcb_plot_set_fini(&page->set);
    free(page->vars_text); /* open_memstream allocates with malloc */
    free(page->data_text);
    *page = (struct gcb_plot_page){.vars = NULL};
}

/* Writes a text in single quotes. UTF-8 is written as it is: the script tells gnuplot the encoding, and invalid bytes
 * in rows were escaped when the rows were read. */
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

/* Places of an axis. */
#define MOST_TICS 24
struct tics {
    double at[MOST_TICS];
    size_t count;
};

static void add_tic(struct tics *t, double at)
{
    if (t->count < MOST_TICS)
        t->at[t->count++] = at;
}

/* Some multiples of the powers of ten from `low` to `high`: the powers alone, or also those by 3, or more. */
static struct tics choose_decades(double low, double high, const char *digits)
{
    const double decades = log10(high / low);
    const int every = decades > 7.0 ? (int)ceil(decades / 6.0) : 1;
    struct tics t = {.count = 0};

    for (int e = (int)floor(log10(low) / every) * every; e <= log10(high); e += every)
        for (const char *d = digits; *d; d++) {
            const double tic = (*d - '0') * pow(10.0, e);

            if (tic >= low && tic <= high)
                add_tic(&t, tic);
        }
    return t;
}

/* Chooses places for a logarithmic axis, about `most` at most; for a linear one if it begins at 0. */
static struct tics choose_tics(double low, double high, size_t most)
{
    static const char *const digits[] = {"12357", "125", "13", "1"};
    const double decades = low > 0.0 ? log10(high / low) : 0.0;
    const double step = pow(10.0, floor(log10((high - low) / 2.0)));
    struct tics t = {.count = 0};

    if (low == 0.0 && high > 0.0) {
        const double least = high / (double)most, power = pow(10.0, floor(log10(least)));
        const double by = least <= power         ? power
                          : least <= 2.0 * power ? 2.0 * power
                          : least <= 5.0 * power ? 5.0 * power
                                                 : 10.0 * power;

        for (double i = 0.0; i * by <= high * (1.0 + 1e-9); i++)
            add_tic(&t, i * by);
    } else if (low <= 0.0 ||
               high < low * (1.0 + 1e-6)) { /* steps in a very short range could vanish */
        add_tic(&t, low);
    } else if (high / low > 3.0) {
        size_t i = (decades > 1.0) + (decades > 2.1) + (decades > 3.6);

        do
            t = choose_decades(low, high, digits[i]);
        while (t.count > most && ++i < sizeof(digits) / sizeof(digits[0]));
    } else {
        const double by = (high - low) / step > 5.0 ? 2.0 * step : step;

        for (double i = ceil(low / by); i * by <= high * (1.0 + 1e-9); i++)
            add_tic(&t, i * by);
    }
    return t;
}

/* Writes a tic as a number, or as a number with the largest unit that is not above it: "30 ms" 0.03. */
static void put_tic(FILE *out, double at, const struct gcb_plot_unit *units)
{
    const struct gcb_plot_unit *unit = units;

    if (!units || at == 0.0) {
        fprintf(out, "%.6g", at);
        return;
    }
    while (unit[1].name && at < 0.9999 * unit->size)
        unit++;
    fprintf(out, "\"%.4g %s\" %.6g", at / unit->size, unit->name, at);
}

static void put_range(struct gcb_plot_page *page, const char *name,
                      const struct gcb_plot_range *range, const struct gcb_plot_unit *units,
                      size_t most)
{
    const bool empty = range->low > range->high;
    const double least = -1e60, largest = 1e60; /* larger numbers could overflow sums in a script */
    const double low = empty ? 1.0 : fmin(fmax(range->low, least), largest),
                 high = empty ? 1.0 : fmin(fmax(range->high, least), largest);
    const struct tics t = choose_tics(low, high, most);

    fprintf(page->vars, "%s_low = ", name);
    put_real(page->vars, low);
    fprintf(page->vars, "\n%s_high = ", name);
    put_real(page->vars, high);
    fprintf(page->vars, "\n%s_tics = '", name);
    for (size_t i = 0; i < t.count; i++) {
        fputs(i ? ", " : "", page->vars);
        put_tic(page->vars, t.at[i], units);
    }
    fputs("'\n", page->vars);
}

void gcb_plot_var_range(struct gcb_plot_page *page, const char *name,
                        const struct gcb_plot_range *range)
{
    put_range(page, name, range, NULL, MOST_TICS);
}

void gcb_plot_var_units(struct gcb_plot_page *page, const char *name,
                        const struct gcb_plot_range *range, const struct gcb_plot_unit *units,
                        size_t most)
{
    put_range(page, name, range, units, most);
}

const struct gcb_plot_unit gcb_plot_seconds[] = {
    {1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}, {0.0, NULL}};

char *gcb_plot_error(char out[GCB_PLOT_ERROR], double error)
{
    if (!(error >= 0.0))
        snprintf(out, GCB_PLOT_ERROR, "?");
    else if (error < 0.0005)
        snprintf(out, GCB_PLOT_ERROR, "0");
    else
        snprintf(out, GCB_PLOT_ERROR, error < 0.1 ? "%.3f" : error < 99.0 ? "%.2f" : "%.2g", error);
    return out;
}

const char *gcb_plot_kind(const char *kind)
{
    return strcmp(kind, "exact") == 0 ? "nearly exact" : strcmp(kind, "loud") == 0 ? "noise" : kind;
}

void gcb_plot_array_begin(struct gcb_plot_page *page, const char *name, size_t count)
{
    fprintf(page->vars, "array %s[%zu] = [%s", name, count ? count : 1, count ? "" : "1]\n");
    page->items_left = count;
}

static void end_item(struct gcb_plot_page *page)
{
    fputs(--page->items_left ? ", " : "]\n", page->vars);
}

void gcb_plot_array_text(struct gcb_plot_page *page, const char *text, size_t width)
{
    char cut[256];

    fputs("\\\n    ", page->vars);
    put_quoted(page->vars, gcb_text_shorten(cut, sizeof(cut), text, width));
    end_item(page);
}

void gcb_plot_array_real(struct gcb_plot_page *page, double value)
{
    fputs("\\\n    ", page->vars);
    put_real(page->vars, value);
    end_item(page);
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

void gcb_plot_row(struct gcb_plot_page *page, const double *values, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (page->cells++)
            fputc(' ', page->data);
        put_real(page->data, values[i]);
    }
    if (text)
        gcb_plot_cell_text(page, text);
    fputc('\n', page->data);
    page->cells = 0;
}

/* Writes a variable with a line that stands above the picture, shortened to 100 columns. */
static void put_line(struct gcb_plot_page *page, const char *name, const char *text)
{
    char cut[256];

    gcb_plot_var_text(page, name, gcb_text_shorten(cut, sizeof(cut), text, 100));
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* Sets plot_machine, for example to "Xeon, 2 threads, avx512, gcbench 0.1.0". `threads` is NAN if unknown. */
static void name_machine(struct gcb_plot_page *page, const struct gcb_plot_record *env,
                         const char *device, const char *isa, double threads)
{
    const char *machine =
        *device && strcmp(device, "cpu") != 0 && *env->gpu ? env->gpu : env->cpu_model;
    char text[256], more[64] = "";

    if (threads > 0)
        snprintf(more, sizeof(more), ", %.0f thread%s", threads, threads == 1 ? "" : "s");
    snprintf(text, sizeof(text), "%s%s%s%s%s%s", *machine ? machine : "unknown machine", more,
             *isa ? ", " : "", isa, *env->version ? ", gcbench " : "", env->version);
    put_line(page, "plot_machine", text);
}

void gcb_plot_heading(struct gcb_plot_page *page, const char *title,
                      const struct gcb_plot_data *data, const struct gcb_plot_record *like,
                      enum gcb_plot_by by)
{
    const bool cache = by == GCB_PLOT_BY_TIME && *like->cache;
    char file[128], text[256];

    gcb_plot_var_text(page, "plot_title", title);
    gcb_text_shorten(file, sizeof(file), name_of(like->file), 48);
    snprintf(text, sizeof(text), "%s%s%s%s%s%s", file, *like->scope ? ", scope " : "", like->scope,
             cache ? ", " : "", cache ? like->cache : "", cache ? " cache" : "");
    put_line(page, "plot_file", text);
    name_machine(page, gcb_plot_env_of(data, like->env), like->device, like->isa,
                 by == GCB_PLOT_BY_TIME ? like->threads : NAN);
}

void gcb_plot_heading_of(struct gcb_plot_page *page, const char *title, const char *file,
                         const char *scope, const struct gcb_plot_record *env)
{
    char text[256];

    gcb_plot_var_text(page, "plot_title", title);
    snprintf(text, sizeof(text), "%s%s%s", *file ? name_of(file) : "unnamed input",
             *scope ? ", scope " : "", scope);
    put_line(page, "plot_file", text);
    name_machine(page, env, env->device, env->isa, env->threads);
}

static void put_styles(struct gcb_plot_page *page, const struct gcb_plot_set *set)
{
    gcb_plot_array_begin(page, "colour", set->count);
    for (size_t i = 0; i < set->count; i++)
        gcb_plot_array_text(page, set->items[i].style.colour, 7);
    gcb_plot_array_begin(page, "ink", set->count);
    for (size_t i = 0; i < set->count; i++)
        gcb_plot_array_text(page, set->items[i].style.ink, 7);
    gcb_plot_array_begin(page, "point", set->count);
    for (size_t i = 0; i < set->count; i++)
        gcb_plot_array_real(page, set->items[i].style.point);
    gcb_plot_array_begin(page, "dash", set->count);
    for (size_t i = 0; i < set->count; i++)
        gcb_plot_array_real(page, set->items[i].style.dash);
}

double gcb_plot_legend(struct gcb_plot_page *page, const struct gcb_plot_set *set)
{
    size_t widest = 0;

    gcb_plot_var_real(page, "series", (double)set->count);
    gcb_plot_array_begin(page, "label", set->count ? set->count : 1);
    for (size_t i = 0; i < set->count; i++) {
        const size_t width = gcb_text_columns(set->items[i].label);

        gcb_plot_array_text(page, set->items[i].label, GCB_PLOT_LABEL_WIDTH);
        widest = width > widest ? width : widest;
    }
    if (set->count == 0) /* scripts always read the first label, and expect a text */
        gcb_plot_array_text(page, "", 1);
    put_styles(page, set);
    gcb_plot_array_begin(page, "members", set->count);
    for (size_t i = 0; i < set->count; i++)
        gcb_plot_array_real(page, (double)set->items[i].count);
    /* 70 pixels for the mark, and 8.5 for each letter */
    return 70.0 + 8.5 * fmin((double)widest, GCB_PLOT_LABEL_WIDTH);
}

/* Gives the legend one column: 23 pixels for a label, and 160 above and below it. More columns would take the curves' room. */
static void put_size(struct gcb_plot_page *page, double width)
{
    gcb_plot_var_real(page, "plot_width", width);
    gcb_plot_var_real(page, "plot_height", fmax(560.0, 160.0 + 23.0 * (double)page->set.count));
}

void gcb_plot_one_panel(struct gcb_plot_page *page, double legend)
{
    put_size(page, fmax(900.0, 590.0 + legend));
}

void gcb_plot_two_panels(struct gcb_plot_page *page, double legend)
{
    put_size(page, 790.0 + fmax(legend, 170.0));
}

#define MAX_BARS 40

int gcb_plot_bars(struct gcb_plot_bar **out, size_t *shown, struct gcb_plot_page *page,
                  int (*compare)(const void *a, const void *b), struct gcb_diag *diag)
{
    const struct gcb_plot_set *set = &page->set;
    struct gcb_plot_bar *bars = gcb_alloc_array(set->count, sizeof(*bars));

    *out = bars;
    if (!bars)
        return gcb_diag_nomem(diag, 0, "a plot");
    for (size_t i = 0; i < set->count; i++)
        bars[i] = (struct gcb_plot_bar){set->cases.items[i], set->items[i].label};
    qsort(bars, set->count, sizeof(*bars), compare);
    *shown = set->count < MAX_BARS ? set->count : MAX_BARS;
    gcb_plot_var_real(page, "rows", (double)*shown);
    gcb_plot_var_real(page, "rows_left_out", (double)(set->count - *shown));
    return 0;
}

int gcb_plot_bar_rows(struct gcb_plot_page *page, double around, double each,
                      int (*compare)(const void *a, const void *b),
                      void (*put)(struct gcb_plot_page *out, const struct gcb_plot_bar *bars,
                                  size_t count),
                      struct gcb_diag *diag)
{
    struct gcb_plot_bar *bars;
    size_t shown;
    const int err = gcb_plot_bars(&bars, &shown, page, compare, diag);

    if (err)
        return err;
    gcb_plot_var_real(page, "plot_height", around + each * (double)shown);
    put(page, bars, shown);
    gcb_free(bars);
    return 0;
}

void gcb_plot_bar_labels(struct gcb_plot_page *page, const struct gcb_plot_bar *bars, size_t count)
{
    gcb_plot_array_begin(page, "label", count);
    for (size_t i = 0; i < count; i++)
        gcb_plot_array_text(page, bars[i].label, 60);
}
