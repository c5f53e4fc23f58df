#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"
#include "src/tool/plot/plot_series.h"

/* Prints the top of the page: what the commands answered, or what the rows say, and the boxes of the methods. */

/* ---- answers of commands ---- */

/* Returns the command, such as "sweep" or "gcbench-mpi", of the run that a row belongs to; NULL if it is not known. */
static const char *command_of(const struct page *page, const json_t *row)
{
    const json_t *run = page_run_of(page, row);
    const json_t *words = run ? gcb_results_json(run, GCB_FIELD_COMMAND) : NULL;
    const char *program = json_string_value(json_array_get(words, 0));
    const char *first = json_string_value(json_array_get(words, 1));

    if (first && *first != '-')
        return first;
    return program && strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
}

/* An answer, and what was asked. */
struct asked {
    const json_t *row;
    const char *date; /* "": not known */
    char *question;   /* from jansson; NULL: not known */
    size_t order;     /* place in the files */
    bool printed;
};

/* Returns the words of a command that ask something: without the program, the name of the results, and folders, because
 * each run may have its own. Release the text with free. */
static char *question_of(const json_t *run)
{
    const json_t *command = run ? gcb_results_json(run, GCB_FIELD_COMMAND) : NULL, *word;
    json_t *words = json_array();
    char *text = NULL;
    size_t i;

    json_array_foreach(command, i, word)
    {
        const char *at = json_string_value(word), *slash = at ? strrchr(at, '/') : NULL;

        if (at && strcmp(at, "--results") == 0)
            i++;
        else if (i > 0 && at && strncmp(at, "--results=", strlen("--results=")) != 0)
            json_array_append_new(words, json_string(slash ? slash + 1 : at));
    }
    if (json_array_size(words))
        text = json_dumps(words, JSON_COMPACT);
    json_decref(words);
    return text;
}

static bool same_question(const struct asked *a, const struct asked *b)
{
    return a->question && b->question && strcmp(a->question, b->question) == 0;
}

static int later(const void *x, const void *y)
{
    const struct asked *a = x, *b = y;
    const int order = strcmp(b->date, a->date);

    return order ? order : (a->order < b->order) - (a->order > b->order);
}

static void print_text(FILE *out, const struct page *page, const struct asked *a, bool dated)
{
    gcb_html_text(out, gcb_results_text(a->row, GCB_FIELD_ANSWER));
    fputs(".", out);
    if (page->rows[PAGE_ANSWER].count > 1) {
        gcb_html_between(out, " <small>", command_of(page, a->row), ", ");
        gcb_html_text(out, gcb_results_text(a->row, GCB_FIELD_PAGE_RESULTS));
        if (dated && *a->date)
            fprintf(out, ", %.10s", a->date);
        fputs("</small>", out);
    }
}

/* Prints the first of `count` answers, and folds the others to the same question. */
static void print_question(FILE *out, const struct page *page, struct asked *all, size_t count)
{
    const struct asked *oldest = NULL;
    size_t older = 0;

    for (size_t i = 1; i < count; i++)
        if (same_question(&all[0], &all[i])) {
            oldest = &all[i];
            older++;
        }
    fputs("<p class=\"answer\">", out);
    print_text(out, page, &all[0], oldest);
    fputs("</p>\n", out);
    if (!oldest)
        return;
    fprintf(out, "<details>\n<summary>%zu earlier answer%s, since %.10s</summary>\n<ul>\n", older,
            older > 1 ? "s" : "", oldest->date);
    for (size_t i = 1; i < count; i++) {
        if (!same_question(&all[0], &all[i]))
            continue;
        all[i].printed = true;
        fputs("<li>", out);
        print_text(out, page, &all[i], true);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n</details>\n", out);
}

/* Prints the answers, the newest first. */
static void print_answers(FILE *out, const struct page *page)
{
    const struct page_rows *rows = &page->rows[PAGE_ANSWER];
    struct asked *all = gcb_alloc_array(rows->count + 1, sizeof(*all));

    for (size_t i = 0; all && i < rows->count; i++) {
        const json_t *run = page_run_of(page, rows->items[i]);

        all[i] = (struct asked){rows->items[i], page_date_of(run), question_of(run), i, false};
    }
    if (all)
        qsort(all, rows->count, sizeof(*all), later);
    else
        fputs("<p class=\"answer\">Memory ran out: the answers are missing.</p>\n", out);
    for (size_t i = 0; all && i < rows->count; i++)
        if (!all[i].printed)
            print_question(out, page, &all[i], rows->count - i);
    for (size_t i = 0; all && i < rows->count; i++)
        free(all[i].question);
    gcb_free(all);
}

/* ---- what the rows of methods say ---- */

/* Messages whose error is above the last limit keep so little of the gradient that their ratios are not praised. */
static const double limits[] = {0.1, 0.3, 0.5};

static bool same_place(const json_t *a, const json_t *b)
{
    static const enum gcb_field fields[] = {GCB_FIELD_PAGE_RUN, GCB_FIELD_FILE, GCB_FIELD_SCOPE,
                                            GCB_FIELD_DEVICE};

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const json_t *x = page_value(a, fields[i]), *y = page_value(b, fields[i]);

        if (x != y && (!x || !y || !json_equal(x, y)))
            return false;
    }
    return true;
}

/* Returns the row of the place with the largest ratio among errors up to `limit`; NULL if there is none. */
static const json_t *find_shortest(const struct page_rows *rows, const json_t *place, double limit)
{
    const json_t *found = NULL;

    for (size_t i = 0; i < rows->count; i++) {
        const json_t *row = rows->items[i];
        const double ratio = gcb_results_real(row, GCB_FIELD_RATIO);

        if (!same_place(row, place) || !isfinite(ratio) ||
            page_says(row, GCB_FIELD_STATUS, "interrupted") ||
            !(gcb_results_real(row, GCB_FIELD_REL_L2) <= limit))
            continue;
        if (!found || ratio > gcb_results_real(found, GCB_FIELD_RATIO))
            found = row;
    }
    return found;
}

static bool is_first_of_place(const struct page_rows *rows, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_place(rows->items[k], rows->items[i]))
            return false;
    return true;
}

/* Prints, for each limit of the error, the method with the fewest bytes. */
static void print_shortest(FILE *out, const struct page_rows *rows, const json_t *place, bool named)
{
    const json_t *last = NULL;
    const char *separator = "";
    char error[32], ratio[32];

    fputs("<p class=\"answer\">", out);
    if (named) {
        gcb_html_between(out, "", gcb_results_text(place, GCB_FIELD_FILE), ", ");
        gcb_html_between(out, "scope ", gcb_results_text(place, GCB_FIELD_SCOPE), ": ");
    }
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        const json_t *row = find_shortest(rows, place, limits[i]);

        if (!row || row == last)
            continue;
        fprintf(out, "%s error of at most %g the fewest bytes come from <code>",
                *separator ? "; with an" : "With an", limits[i]);
        gcb_html_name(out, gcb_results_text(row, GCB_FIELD_PAGE_LABEL));
        fprintf(out, "</code> (ratio %s, error %s)", page_number(ratio, row, GCB_FIELD_RATIO),
                page_number(error, row, GCB_FIELD_REL_L2));
        separator = "; ";
        last = row;
    }
    fputs(*separator ? ". Times and training were not weighed.</p>\n"
                     : "No method has an error of at most 0.5, so none is recommended.</p>\n",
          out);
}

static bool is_older(const json_t *row)
{
    return gcb_results_bool(row, GCB_FIELD_PAGE_OLDER);
}

#define PLACES 4 /* most places that are summed up */

static void print_methods(FILE *out, const struct page_rows *rows)
{
    size_t places = 0;

    for (size_t i = 0; i < rows->count && places <= PLACES; i++)
        places += !is_older(rows->items[i]) && is_first_of_place(rows, i);
    for (size_t i = 0, n = 0; i < rows->count && n < PLACES; i++) {
        if (is_older(rows->items[i]) || !is_first_of_place(rows, i))
            continue;
        print_shortest(out, rows, rows->items[i], places > 1);
        n++;
    }
    if (places > PLACES)
        fputs("<p class=\"note\">More files and scopes are in the tables.</p>\n", out);
}

/* ---- comparisons and promises ---- */

static size_t count_words(const struct page_rows *rows, enum gcb_field field, const char *word)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->count; i++)
        n += page_says(rows->items[i], field, word);
    return n;
}

static void print_verdicts(FILE *out, const struct page_rows *rows)
{
    const size_t same = count_words(rows, GCB_FIELD_VERDICT, "SAME"),
                 ambiguous = count_words(rows, GCB_FIELD_VERDICT, "AMBIGUOUS"),
                 missing = count_words(rows, GCB_FIELD_VERDICT, "NOT-COMPARED");
    size_t fails = 0;

    if (!rows->count)
        return;
    for (size_t i = 0; i < rows->count; i++)
        fails += gcb_results_bool(rows->items[i], GCB_FIELD_FAILS);
    fprintf(out,
            "<p class=\"answer\"><b class=\"%s\">%zu of %zu comparisons with the base fail</b>; "
            "%zu more changed, %zu are unchanged, %zu are inconclusive and %zu were not "
            "possible.</p>\n",
            fails ? "bad" : "good", fails, rows->count,
            rows->count - fails - same - ambiguous - missing, same, ambiguous, missing);
}

static void print_promises(FILE *out, const struct page_rows *rows)
{
    const size_t broken = count_words(rows, GCB_FIELD_STATUS, "broken");

    if (rows->count)
        fprintf(out,
                "<p class=\"answer\"><b class=\"%s\">%zu of %zu promises checked are "
                "broken</b>.</p>\n",
                broken ? "bad" : "good", broken, rows->count);
}

void page_answer(FILE *out, const struct page *page)
{
    const struct page_table *table;
    const struct page_chart *chart = page_first_chart(&table, page);

    fputs("<section id=\"answer\">\n<h2>Answer</h2>\n", out);
    print_verdicts(out, &page->rows[PAGE_VERDICT]);
    print_promises(out, &page->rows[PAGE_PROMISE]);
    print_answers(out, page);
    if (!page->rows[PAGE_ANSWER].count)
        print_methods(out, &page->rows[PAGE_SUMMARY]);
    if (chart)
        page_chart(out, chart, table);
    fputs("</section>\n", out);
}

/* ---- boxes of the methods ---- */

static void print_box(FILE *out, const char *method, struct gcb_plot_style style)
{
    gcb_html_between(out, "<label data-m=\"", method, "\"");
    fprintf(out, " style=\"--c:%s\" data-p=\"%u\"><input type=\"checkbox\" checked> ",
            gcb_plot_baseline(method) ? "var(--text)" : style.colour, style.point);
    gcb_html_between(out, "", method, "</label>\n");
}

void page_methods(FILE *out, const struct page *page)
{
    struct gcb_plot_set set = {.items = NULL}; /* for a colour of its own for each method */
    json_t *names = json_object();
    const char *name;
    json_t *value;

    for (size_t r = 0; names && r < PAGE_RECORDS; r++)
        for (size_t i = 0; i < page->rows[r].count; i++) {
            const char *method = gcb_results_text(page->rows[r].items[i], GCB_FIELD_METHOD);

            if (method && *method)
                json_object_set_new_nocheck(names, method, json_true());
        }
    if (json_object_size(names) > 1) {
        fputs("<fieldset id=\"shown\" hidden><legend>Methods shown</legend>\n", out);
        json_object_foreach(names, name, value)
        {
            const struct gcb_plot_series *s = gcb_plot_set_name(&set, name, name);

            print_box(out, name, s ? s->style : gcb_plot_style_of(name, 0));
        }
        fputs("<button type=\"button\" value=\"all\">all</button>\n"
              "<button type=\"button\" value=\"none\">none</button></fieldset>\n",
              out);
    }
    json_decref(names);
    gcb_plot_set_fini(&set);
}
