#include "cli/regress/regress.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/number.h"

/* ---- figures ---- */

/* Writes a value as the table shows it: "12.3 us", "13107", "0.1234", "-". Returns out. */
static char *value_text(char out[32], const struct gcb_verdict *v, double value)
{
    if (!isfinite(value)) {
        snprintf(out, 32, "-");
        return out;
    }
    if (gcb_quantities[v->quantity].is_time)
        return gcb_seconds(out, value);
    if (v->quantity == GCB_QUANTITY_ERROR || v->quantity == GCB_QUANTITY_CASE)
        return gcb_number(out, value, 4);
    return gcb_count(out, (uint64_t)value);
}

/* Writes a verdict, such as "SLOW (accepted)"; with `bold`, one that fails as "**SLOW**". Returns
 * out. */
static char *kind_text(char out[48], const struct gcb_verdict *v, bool bold)
{
    const char *stars = bold && gcb_verdict_fails(v) ? "**" : "";

    snprintf(out, 48, "%s%s%s%s", stars, gcb_verdict_names[v->kind], stars,
             v->accepted ? " (accepted)" : "");
    return out;
}

/* True if this verdict is a line of the table: a size or an error only if it changed, all others
 * always. */
static bool is_shown(const struct gcb_verdict *v)
{
    return v->kind != GCB_SAME ||
           (v->quantity != GCB_QUANTITY_SIZE && v->quantity != GCB_QUANTITY_ERROR);
}

/* ---- causes and counts ---- */

#define ADVICES 16 /* more than gcb_verdict_advice has different texts */

#define CAUSES_COMPARED 16

/* Verdicts of one kind that have the same reason. */
struct cause {
    const struct gcb_verdict *first;
    size_t count;
    const char *advice; /* NULL: there is none, or an earlier cause has it */
};

/* Returns the advice on a verdict, and adds it to `given`. NULL: there is none, or `given` has it
 * already. */
static const char *new_advice(const char *given[ADVICES], const struct gcb_verdict *v)
{
    const char *advice = v->accepted ? NULL : gcb_verdict_advice(v);
    size_t i = 0;

    while (given[i] && given[i] != advice)
        i++;
    if (given[i])
        return NULL;
    return given[i] = advice;
}

/* Collects the reasons of all verdicts, in order. Only the last CAUSES_COMPARED causes are searched
 * for an equal one, so that the time does not grow with the square of their number. Release *out
  * with gcb_free. */
static void collect_causes(struct cause **out, size_t *count, const struct gcb_verdicts *verdicts)
{
    struct cause *causes = gcb_must_array(verdicts->count, sizeof(*causes));
    const char *given[ADVICES] = {NULL};

    *count = 0;
    *out = causes;
    for (size_t i = 0; i < verdicts->count; i++) {
        const struct gcb_verdict *v = &verdicts->items[i];
        size_t at = *count > CAUSES_COMPARED ? *count - CAUSES_COMPARED : 0;

        if (!v->reason)
            continue;
        while (at < *count && (causes[at].first->kind != v->kind ||
                               strcmp(causes[at].first->reason, v->reason) != 0))
            at++;
        if (at < *count)
            causes[at].count++;
        else
            causes[(*count)++] =
                (struct cause){.first = v, .count = 1, .advice = new_advice(given, v)};
    }
}

#define LABEL_TEXT 1100 /* room for any label */
#define CAUSE_TEXT (LABEL_TEXT + 800)

/* Writes "SLOW: topk encode and 3 more: REASON; ADVICE", with the label of the case cut to `width`
 * columns. Returns out. */
static char *cause_text(char out[CAUSE_TEXT], const struct cause *c, size_t width)
{
    const struct gcb_verdict *v = c->first;
    char label[LABEL_TEXT], more[48] = "";

    if (c->count > 1)
        snprintf(more, sizeof(more), " and %zu more", c->count - 1);
    snprintf(out, CAUSE_TEXT, "%s: %s %s%s: %s%s%s", gcb_verdict_names[v->kind],
             gcb_text_shorten(label, sizeof(label), gcb_verdict_case(v)->label, width),
             gcb_quantities[v->quantity].name, more, v->reason, c->advice ? "; " : "",
             c->advice ? c->advice : "");
    return out;
}

/* Writes characters that mean something in Markdown or HTML as character references. */
static void put_text(FILE *f, const char *text)
{
    for (; *text; text++)
        if (strchr("\\`*_{}[]()<>#+-!|~&@:/", *text))
            fprintf(f, "&#%d;", *text);
        else
            fputc(*text, f);
}

/* Writes all causes: as a list in Markdown, or as lines for a terminal. */
static void put_causes(FILE *out, const struct gcb_verdicts *verdicts, bool markdown)
{
    struct cause *causes;
    size_t count;
    char line[CAUSE_TEXT];

    collect_causes(&causes, &count, verdicts);
    if (count)
        fputc('\n', out);
    for (size_t i = 0; i < count; i++) {
        if (!markdown) {
            opt_wrap(out, cause_text(line, &causes[i], 74), 0, 2);
            continue;
        }
        fputs("- ", out);
        put_text(out, cause_text(line, &causes[i], LABEL_TEXT));
        fputc('\n', out);
    }
    gcb_free(causes);
}

/* Writes, for example, "36 comparisons: 30 SAME, 1 SLOW, 5 NOT-COMPARED; 1 regression". Returns
 * out. */
static char *total_text(char *out, size_t size, const struct gcb_verdicts *verdicts, bool strict)
{
    struct gcb_verdict_counts n;
    size_t listed = 0;

    gcb_verdicts_count(&n, verdicts);
    snprintf(out, size, "%zu comparison%s:", verdicts->count, verdicts->count == 1 ? "" : "s");
    for (size_t k = 0; k < GCB_VERDICT_KINDS; k++)
        if (n.kinds[k])
            gcb_append(out, size, "%s %zu %s", listed++ ? "," : "", n.kinds[k],
                       gcb_verdict_names[k]);
    if (n.accepted)
        gcb_append(out, size, " (%zu accepted)", n.accepted);
    return gcb_append(out, size, "; %zu regression%s%s", n.fails, n.fails == 1 ? "" : "s",
                      strict && n.unsure ? "; uncertain verdicts fail because of --strict" : "");
}

/* ---- the table ---- */

/* Adds a cell to the line of Markdown or, if `markdown` is NULL, to the table. */
static void put_cell(struct gcb_table *table, FILE *markdown, const char *text)
{
    if (markdown)
        fprintf(markdown, " | %s", text);
    else
        gcb_table_cell(table, text);
}

/* Adds a verdict as a line of Markdown or, if `markdown` is NULL, of the table. */
static void put_line(struct gcb_table *table, FILE *markdown, const struct gcb_verdict *v,
                     const char *label)
{
    char text[48];

    if (markdown) {
        fputs("| ", markdown);
        put_text(markdown, label);
    } else {
        gcb_table_cell(table, label);
    }
    put_cell(table, markdown, gcb_quantities[v->quantity].name);
    put_cell(table, markdown, value_text(text, v, v->base));
    put_cell(table, markdown, value_text(text, v, v->next));
    snprintf(text, sizeof(text), isfinite(v->ratio) ? "%.3f" : "-", v->ratio);
    put_cell(table, markdown, text);
    snprintf(text, sizeof(text), isfinite(v->low) && isfinite(v->high) ? "%.3f-%.3f" : "", v->low,
             v->high);
    put_cell(table, markdown, text);
    put_cell(table, markdown, kind_text(text, v, markdown != NULL));
    if (markdown)
        fputs(" |\n", markdown);
}

static void show_table(struct out_report *report, const struct gcb_verdicts *verdicts)
{
    static const struct gcb_table_column columns[] = {
        {.title = "case", .elastic = true},
        {.title = "of", .text = true},
        {.title = "base"},
        {.title = "new"},
        {.title = "ratio"},
        {.title = "95 %"},
        {.title = "verdict", .text = true},
    };
    const struct gcb_case *last = NULL;
    struct gcb_table *table = gcb_table_create(columns, 7);
    size_t hidden = 0;

    for (size_t i = 0; i < verdicts->count; i++) {
        const struct gcb_verdict *v = &verdicts->items[i];
        const struct gcb_case *c = gcb_verdict_case(v);

        if (!is_shown(v) && !report->verbose) {
            hidden++;
            continue;
        }
        put_line(table, NULL, v, c != last ? c->label : "");
        last = c;
    }
    if (gcb_table_rows(table))
        out_table(report, table);
    else
        gcb_table_destroy(table);
    if (hidden && !report->quiet)
        fprintf(report->out, "not shown: %zu sizes and errors that are SAME (-v shows them)\n",
                hidden);
}

void regress_show(struct out_report *report, const struct gcb_verdicts *verdicts, bool strict)
{
    char total[400];

    show_table(report, verdicts);
    if (!report->quiet)
        put_causes(report->out, verdicts, false);

    fputc('\n', report->out);
    opt_wrap(report->out, total_text(total, sizeof(total), verdicts, strict), 0, 0);
}

/* ---- Markdown ---- */

/* Writes a table of the verdicts that are shown: only those that are SAME, or only the others. */
static void put_markdown_table(FILE *f, const struct gcb_verdicts *verdicts, bool same)
{
    fputs("\n| case | quantity | base | new | ratio | 95 % interval | verdict |\n"
          "|---|---|--:|--:|--:|--:|---|\n",
          f);
    for (size_t i = 0; i < verdicts->count; i++)
        if ((verdicts->items[i].kind == GCB_SAME) == same && is_shown(&verdicts->items[i]))
            put_line(NULL, f, &verdicts->items[i], gcb_verdict_case(&verdicts->items[i])->label);
}

int regress_markdown_write(const char *title, const struct gcb_verdicts *verdicts, bool strict,
                           struct gcb_outfile *file, struct gcb_diag *diag)
{
    size_t same = 0, shown = 0;
    char total[400];
    FILE *f;
    int err = out_open_file(&f, file, diag);

    if (err)
        return err;
    for (size_t i = 0; i < verdicts->count; i++) {
        shown += is_shown(&verdicts->items[i]);
        same += is_shown(&verdicts->items[i]) && verdicts->items[i].kind == GCB_SAME;
    }
    fputs("### ", f);
    put_text(f, title);
    fprintf(f, "\n\n%s\n", total_text(total, sizeof(total), verdicts, strict));
    if (shown > same)
        put_markdown_table(f, verdicts, false);
    put_causes(f, verdicts, true);
    if (same) {
        fprintf(f, "\n<details><summary>%zu unchanged</summary>\n", same);
        put_markdown_table(f, verdicts, true);
        fputs("\n</details>\n", f);
    }
    return out_commit_file(f, file, diag);
}
