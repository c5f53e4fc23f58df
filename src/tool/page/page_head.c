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

static void print_remarks(FILE *out, const struct page *page)
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

/* Returns the first run that has times. If no run has times, returns the first run; NULL if there is no run. */
static const json_t *find_main_run(const struct page *page)
{
    const struct page_rows *runs = &page->rows[PAGE_ENVIRONMENT];

    for (size_t i = 0; i < runs->count; i++)
        if (has_times(page, runs->items[i]))
            return runs->items[i];
    return runs->count ? runs->items[0] : NULL;
}

void page_head(FILE *out, const struct page *page, const char *title)
{
    const json_t *env = find_main_run(page);
    char text[400];

    make_title(text, sizeof(text), page, title);
    gcb_html_begin(out, text, page_style);
    fputs("<header>\n", out);
    gcb_html_element(out, "h1", NULL, text);
    if (env)
        print_machine(out, env);
    print_remarks(out, page);
    fputs("</header>\n", out);
}

/* Returns the row with the largest value of sign * field, among methods that are not baselines and whose ratio is
 * above 1. Returns NULL if there is no such row. */
static const json_t *find_best(const struct page_rows *rows, enum gcb_field field, double sign)
{
    const json_t *found = NULL;

    for (size_t i = 0; i < rows->count; i++) {
        const double value = gcb_results_real(rows->items[i], field);

        if (!isfinite(value) || page_is_baseline(rows->items[i]) ||
            !(gcb_results_real(rows->items[i], GCB_FIELD_RATIO) > 1.0))
            continue;
        if (!found || sign * value > sign * gcb_results_real(found, field))
            found = rows->items[i];
    }
    return found;
}

/* Prints a card with the best value of a field, the field's meaning and the method that has this value. */
static void print_best(FILE *out, const struct page_rows *rows, enum gcb_field field, double sign,
                       const char *words)
{
    const json_t *row = find_best(rows, field, sign);
    char number[32], ratio[32], error[32], text[96];

    if (!row)
        return;
    fputs("<li>", out);
    gcb_html_element(out, "b", NULL, page_number(number, row, field));
    gcb_html_element(out, "span", NULL, words);
    fputs("<code>", out);
    gcb_html_name(out, gcb_results_text(row, GCB_FIELD_PAGE_LABEL));
    fputs("</code>\n", out);
    snprintf(text, sizeof(text), "ratio %s, relative L2 error %s",
             page_number(ratio, row, GCB_FIELD_RATIO), page_number(error, row, GCB_FIELD_REL_L2));
    gcb_html_element(out, "span", NULL, text);
    fputs("</li>\n", out);
}

/* Prints a card "2 of 18 WORDS"; nothing if `count` is 0. `attributes` is markup for the card's element. */
static void print_share(FILE *out, const char *attributes, size_t part, size_t count,
                        const char *words)
{
    char text[96];

    if (!count)
        return;
    fprintf(out, "<li%s><b>%zu</b>\n", attributes, part);
    snprintf(text, sizeof(text), "of %zu %s", count, words);
    gcb_html_element(out, "span", NULL, text);
    fputs("</li>\n", out);
}

static const char *colour_of(size_t failures)
{
    return failures ? " class=\"bad\"" : " class=\"good\"";
}

static void print_payoffs(FILE *out, const struct page_rows *rows)
{
    size_t pays = 0, count = 0;

    for (size_t i = 0; i < rows->count; i++)
        if (!gcb_results_bool(rows->items[i], GCB_FIELD_BASELINE)) {
            count++;
            pays += gcb_results_bool(rows->items[i], GCB_FIELD_PAYS);
        }
    print_share(out, "", pays, count, "cases are faster than fp32, fp16 and bf16");
}

void page_cards(FILE *out, const struct page *page)
{
    const struct page_rows *summaries = &page->rows[PAGE_SUMMARY],
                           *verdicts = &page->rows[PAGE_VERDICT],
                           *promises = &page->rows[PAGE_PROMISE];
    const size_t fails = count_rows(verdicts, GCB_FIELD_FAILS, NULL),
                 broken = count_rows(promises, GCB_FIELD_STATUS, "broken");

    fputs("<ul class=\"cards\">\n", out);
    print_share(out, colour_of(fails), fails, verdicts->count, "comparisons with the base fail");
    print_share(out, colour_of(broken), broken, promises->count, "promises checked are broken");
    print_payoffs(out, &page->rows[PAGE_PAYOFF]);
    print_best(out, summaries, GCB_FIELD_RATIO, 1.0, "times smaller: the shortest messages");
    print_best(out, summaries, GCB_FIELD_REL_L2, -1.0, "relative error: the smallest");
    print_best(out, summaries, GCB_FIELD_ENCODE_GBPS, 1.0, "GB/s: the fastest to encode");
    print_best(out, summaries, GCB_FIELD_DECODE_GBPS, 1.0, "GB/s: the fastest to decode");
    fputs("</ul>\n", out);
}
