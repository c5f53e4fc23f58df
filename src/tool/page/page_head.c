#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* Writes the user's title, or a title such as "Gradient compression: a.h5, b.h5" if `title` is NULL. */
static void make_title(char *out, size_t size, const struct page *page, const char *title)
{
    const char *name;
    json_t *value;
    size_t n = 0;

    if (title) {
        snprintf(out, size, "%s", title);
        return;
    }
    snprintf(out, size, "Gradient compression");
    json_object_foreach(page->inputs, name, value)
    {
        gcb_append(out, size, "%s%s", n ? ", " : ": ", n == 3 ? "..." : base_name(name));
        if (n++ == 3)
            break;
    }
}

/* Prints the machine of a run, such as "gcbench 0.1.0 (1a2b3c4), Xeon, 2026-11-22", without unknown parts. */
static void print_machine(FILE *out, const json_t *env)
{
    const char *revision = gcb_results_text(env, GCB_FIELD_GIT_REVISION);
    char brief[8];

    fputs("<p class=\"lede\">gcbench ", out);
    gcb_html_text(out, gcb_results_text(env, GCB_FIELD_VERSION));
    if (revision)
        snprintf(brief, sizeof(brief), "%s", revision);
    gcb_html_between(out, " (", revision ? brief : NULL,
                     gcb_results_bool(env, GCB_FIELD_GIT_DIRTY) ? ", changed)" : ")");
    gcb_html_between(out, ", ", gcb_results_text(env, GCB_FIELD_CPU_MODEL), "");
    gcb_html_between(out, ", ", gcb_results_text(env, GCB_FIELD_GPU), "");
    gcb_html_between(out, ", ", gcb_results_text(env, GCB_FIELD_DATE), "");
    fputs("</p>\n", out);
}

/* Counts the rows that have this word in the field. If `word` is NULL, counts the rows whose field is true. */
static size_t count_rows(const struct page_rows *rows, enum gcb_field field, const char *word)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->count; i++)
        n +=
            word ? page_says(rows->items[i], field, word) : gcb_results_bool(rows->items[i], field);
    return n;
}

static bool has_times(const struct page *page, const json_t *env)
{
    static const enum page_record records[] = {PAGE_SUMMARY, PAGE_KERNEL};
    const uint64_t run = gcb_results_u64(env, GCB_FIELD_PAGE_RUN);

    for (size_t r = 0; r < sizeof(records) / sizeof(records[0]); r++)
        for (size_t i = 0; i < page->rows[records[r]].count; i++)
            if (gcb_results_u64(page->rows[records[r]].items[i], GCB_FIELD_PAGE_RUN) == run)
                return true;
    return false;
}

/* `runs` counts the runs that have times. The other members count the runs among them with a reason to doubt the
 * times. */
struct doubts {
    size_t runs, debug, sanitized, changed, busy;
};

static void add_doubts(struct doubts *d, const json_t *env)
{
    d->runs++;
    d->debug += gcb_results_text(env, GCB_FIELD_BUILD_TYPE) &&
                !page_says(env, GCB_FIELD_BUILD_TYPE, "release");
    d->sanitized +=
        gcb_results_text(env, GCB_FIELD_SANITIZE) && !page_says(env, GCB_FIELD_SANITIZE, "none");
    d->changed += gcb_results_bool(env, GCB_FIELD_GIT_DIRTY);
    d->busy += gcb_results_real(env, GCB_FIELD_LOAD1) > gcb_results_real(env, GCB_FIELD_CPUS) / 2;
}

/* Prints "2 of 3 runs: words", only the words if all runs are affected, and nothing if no run is. */
static void print_remark(FILE *out, size_t count, size_t runs, const char *words)
{
    if (!count)
        return;
    fputs("<li>", out);
    if (count < runs)
        fprintf(out, "%zu of %zu runs: ", count, runs);
    gcb_html_between(out, "", words, "</li>\n");
}

void page_remarks(FILE *out, const struct page *page)
{
    const struct page_rows *runs = &page->rows[PAGE_ENVIRONMENT];
    const size_t interrupted =
        count_rows(&page->rows[PAGE_SUMMARY], GCB_FIELD_STATUS, "interrupted");
    const bool several = page_differs(&page->rows[PAGE_SUMMARY], GCB_FIELD_PAGE_RUN);
    struct doubts d = {.runs = 0};

    for (size_t i = 0; i < runs->count; i++)
        if (has_times(page, runs->items[i]))
            add_doubts(&d, runs->items[i]);
    if (!interrupted && !several && !d.debug && !d.sanitized && !d.changed && !d.busy)
        return;
    fputs("<ul class=\"remarks\">\n", out);
    print_remark(out, interrupted, interrupted,
                 "A run was interrupted: rows with the status interrupted cover only the work done "
                 "before.");
    print_remark(out, d.sanitized, d.runs, "Built with sanitizers: times mean nothing.");
    print_remark(out, d.debug, d.runs, "Not a release build: times mean little.");
    print_remark(out, d.busy, d.runs,
                 "The machine was busy at the start (its load was more than half its processors): "
                 "times may be too long.");
    print_remark(out, d.changed, d.runs,
                 "Built from changed files: the revision does not identify the code.");
    print_remark(out, several, several,
                 "Compare times of different runs only if machine, threads and load are alike.");
    fputs("</ul>\n", out);
}

/* Returns the newest run that has times. If no run has times, returns the first run; NULL if there is no run. */
static const json_t *find_main_run(const struct page *page)
{
    const struct page_rows *runs = &page->rows[PAGE_ENVIRONMENT];
    const json_t *newest = NULL;

    for (size_t i = 0; i < runs->count; i++)
        if (has_times(page, runs->items[i]) &&
            (!newest || strcmp(page_date_of(runs->items[i]), page_date_of(newest)) > 0))
            newest = runs->items[i];
    return newest || !runs->count ? newest : runs->items[0];
}

void page_head(FILE *out, const struct page *page, const char *title)
{
    const json_t *env = find_main_run(page);
    char text[400];

    make_title(text, sizeof(text), page, title);
    gcb_html_begin(out, text, page_style, page_script_hash);
    fputs("<header>\n", out);
    gcb_html_element(out, "h1", NULL, text);
    if (env)
        print_machine(out, env);
    fputs("</header>\n", out);
}
