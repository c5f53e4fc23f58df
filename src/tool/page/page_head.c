#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"
#include "src/tool/print/number.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* "Gradient compression: a.h5, b.h5" unless the user has a better title. */
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
        snprintf(out + strlen(out), size - strlen(out), "%s%s", n ? ", " : ": ",
                 n == 3 ? "..." : base_name(name));
        if (n++ == 3)
            break;
    }
}

/* " on Xeon with 2 cpus" of a run; what is not known is left away. */
static void print_machine(FILE *out, const json_t *env)
{
    const char *cpu = gcb_results_text(env, GCB_FIELD_CPU_MODEL),
               *gpu = gcb_results_text(env, GCB_FIELD_GPU);
    const char *date = gcb_results_text(env, GCB_FIELD_DATE),
               *revision = gcb_results_text(env, GCB_FIELD_GIT_REVISION);
    char brief[8];

    fputs("<p class=\"lede\">gcbench ", out);
    gcb_html_text(out, gcb_results_text(env, GCB_FIELD_VERSION));
    if (revision) {
        snprintf(brief, sizeof(brief), "%s", revision);
        fputs(" (", out);
        gcb_html_text(out, brief);
        fputs(gcb_results_bool(env, GCB_FIELD_GIT_DIRTY) ? ", changed)" : ")", out);
    }
    fputs(cpu ? ", " : "", out);
    gcb_html_text(out, cpu);
    fputs(gpu ? ", " : "", out);
    gcb_html_text(out, gpu);
    fputs(date ? ", " : "", out);
    gcb_html_text(out, date);
    fputs("</p>\n", out);
}

/* What a reader has to know before believing a number, as far as it is so of the runs that timed something. */
struct remarks {
    size_t runs, debug, sanitized, changed, busy;
};

static bool timed(const struct page *page, const json_t *env)
{
    static const enum page_record of[] = {PAGE_SUMMARY, PAGE_KERNEL};
    const uint64_t run = gcb_results_u64(env, GCB_FIELD_PAGE_RUN);

    for (size_t r = 0; r < sizeof(of) / sizeof(of[0]); r++)
        for (size_t i = 0; i < page->rows[of[r]].count; i++)
            if (gcb_results_u64(page->rows[of[r]].items[i], GCB_FIELD_PAGE_RUN) == run)
                return true;
    return false;
}

static void look(struct remarks *r, const json_t *env)
{
    const char *type = gcb_results_text(env, GCB_FIELD_BUILD_TYPE);
    const char *sanitize = gcb_results_text(env, GCB_FIELD_SANITIZE);

    r->runs++;
    r->debug += type && strcmp(type, "release") != 0;
    r->sanitized += sanitize && strcmp(sanitize, "none") != 0;
    r->changed += gcb_results_bool(env, GCB_FIELD_GIT_DIRTY);
    r->busy += gcb_results_real(env, GCB_FIELD_LOAD1) > gcb_results_real(env, GCB_FIELD_CPUS) / 2;
}

/* "2 of 3 runs: words", or the words alone where it is so of all. */
static void remark(FILE *out, size_t count, size_t runs, const char *words)
{
    if (!count)
        return;
    fputs("<li>", out);
    if (count < runs)
        fprintf(out, "%zu of %zu runs: ", count, runs);
    gcb_html_text(out, words);
    fputs("</li>\n", out);
}

static void print_remarks(FILE *out, const struct page *page)
{
    const struct page_rows *summaries = &page->rows[PAGE_SUMMARY];
    const struct page_rows *runs = &page->rows[PAGE_ENVIRONMENT];
    const bool several = page_differs(summaries, GCB_FIELD_PAGE_RUN);
    struct remarks r = {.runs = 0};
    size_t cut = 0;

    for (size_t i = 0; i < summaries->count; i++) {
        const char *status = gcb_results_text(summaries->items[i], GCB_FIELD_STATUS);

        cut += status && strcmp(status, "interrupted") == 0;
    }
    for (size_t i = 0; i < runs->count; i++)
        if (timed(page, runs->items[i]))
            look(&r, runs->items[i]);
    if (!cut && !several && !r.debug && !r.sanitized && !r.changed && !r.busy)
        return;
    fputs("<ul class=\"remarks\">\n", out);
    remark(out, cut, cut, "Interrupted: rows that say so cover what was done until then.");
    remark(out, r.sanitized, r.runs, "Built with sanitizers: times mean nothing.");
    remark(out, r.debug, r.runs, "Not a release build: times mean little.");
    remark(out, r.busy, r.runs,
           "The machine was busy when it began, with a load of more than half its processors: "
           "times may be longer.");
    remark(out, r.changed, r.runs, "Built from changed files: the revision does not say which.");
    remark(out, several, several,
           "Times of different runs may be compared where machine, threads and load are alike.");
    fputs("</ul>\n", out);
}

/* The first run that timed something, or the first of all; NULL: there is none. */
static const json_t *main_run(const struct page *page)
{
    const struct page_rows *runs = &page->rows[PAGE_ENVIRONMENT];

    for (size_t i = 0; i < runs->count; i++)
        if (timed(page, runs->items[i]))
            return runs->items[i];
    return runs->count ? runs->items[0] : NULL;
}

void page_head(FILE *out, const struct page *page, const char *title)
{
    const json_t *env = main_run(page);
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

static void print_card(FILE *out, const char *number, const char *what, const json_t *of)
{
    char ratio[32], error[32], text[96];

    fputs("<li>", out);
    gcb_html_element(out, "b", NULL, number);
    gcb_html_element(out, "span", NULL, what);
    if (of) {
        snprintf(text, sizeof(text), "ratio %s, relative L2 error %s",
                 page_number(ratio, gcb_results_real(of, GCB_FIELD_RATIO)),
                 page_number(error, gcb_results_real(of, GCB_FIELD_REL_L2)));
        fputs("<code>", out);
        gcb_html_name(out, gcb_results_text(of, GCB_FIELD_PAGE_LABEL));
        fputs("</code>\n", out);
        gcb_html_element(out, "span", NULL, text);
    }
    fputs("</li>\n", out);
}

/* The row whose `field` is largest (times `sign`) among methods that are no baseline and do send less; NULL: there
 * is none. */
static const json_t *best(const struct page_rows *rows, enum gcb_field field, double sign)
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

static void card_of_best(FILE *out, const struct page_rows *rows, enum gcb_field field, double sign,
                         const char *what)
{
    const json_t *row = best(rows, field, sign);
    char number[32];

    if (row)
        print_card(out, page_number(number, gcb_results_real(row, field)), what, row);
}

/* "0 of 18 WHAT": red if there are any. */
static void card_of_failures(FILE *out, size_t fails, size_t count, const char *what)
{
    char text[96];

    if (!count)
        return;
    fprintf(out, "<li class=\"%s\"><b>%zu</b>\n", fails ? "bad" : "good", fails);
    snprintf(text, sizeof(text), "of %zu %s", count, what);
    gcb_html_element(out, "span", NULL, text);
    fputs("</li>\n", out);
}

static void cards_of_checks(FILE *out, const struct page *page)
{
    const struct page_rows *verdicts = &page->rows[PAGE_VERDICT];
    const struct page_rows *promises = &page->rows[PAGE_PROMISE];
    size_t fails = 0, broken = 0;

    for (size_t i = 0; i < verdicts->count; i++)
        fails += gcb_results_bool(verdicts->items[i], GCB_FIELD_FAILS);
    for (size_t i = 0; i < promises->count; i++) {
        const char *status = gcb_results_text(promises->items[i], GCB_FIELD_STATUS);

        broken += status && strcmp(status, "broken") == 0;
    }
    card_of_failures(out, fails, verdicts->count, "comparisons with the base fail");
    card_of_failures(out, broken, promises->count, "promises checked are broken");
}

static void cards_of_payoffs(FILE *out, const struct page_rows *rows)
{
    size_t pays = 0, of = 0;
    char number[64], text[64];

    for (size_t i = 0; i < rows->count; i++) {
        if (gcb_results_bool(rows->items[i], GCB_FIELD_BASELINE))
            continue;
        of++;
        pays += gcb_results_bool(rows->items[i], GCB_FIELD_PAYS);
    }
    if (!of)
        return;
    snprintf(number, sizeof(number), "%zu", pays);
    snprintf(text, sizeof(text), "of %zu cases pay over float32", of);
    print_card(out, number, text, NULL);
}

void page_cards(FILE *out, const struct page *page)
{
    const struct page_rows *summaries = &page->rows[PAGE_SUMMARY];

    fputs("<ul class=\"cards\">\n", out);
    cards_of_checks(out, page);
    cards_of_payoffs(out, &page->rows[PAGE_PAYOFF]);
    card_of_best(out, summaries, GCB_FIELD_RATIO, 1.0, "times smaller: the shortest messages");
    card_of_best(out, summaries, GCB_FIELD_REL_L2, -1.0, "relative error: the least");
    card_of_best(out, summaries, GCB_FIELD_ENCODE_GBPS, 1.0, "GB/s: the fastest to encode");
    card_of_best(out, summaries, GCB_FIELD_DECODE_GBPS, 1.0, "GB/s: the fastest to decode");
    fputs("</ul>\n", out);
}
