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

/* ---- causes and counts ---- */

#define ADVICES 16 /* more than gcb_verdict_advice has different texts */

#define CAUSES_COMPARED 16 /* most causes that a reason is compared with */

/* Verdicts of one kind that have the same reason. */
struct cause {
    const struct gcb_verdict *first;
    size_t count;
    const char *advice; /* from new_advice; NULL: no advice is printed */
};

/* Returns the advice on a verdict, and adds it to `given`. Returns NULL if there is none, if the
 * change is accepted, or if `given` has the advice already. */
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
 * for an equal one, so that the time does not grow with the square of their number. The causes
 * borrow from `verdicts`. Release *out with gcb_free. */
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

#define LABEL_TEXT 1100 /* bytes for a label; a longer one is shortened */
#define CAUSE_TEXT (LABEL_TEXT + 800)

/* Writes "SLOW: topk encode and 3 more: REASON; ADVICE", with the label of the case cut to 74
 * columns. Returns out. */
static char *cause_text(char out[CAUSE_TEXT], const struct cause *c)
{
    const struct gcb_verdict *v = c->first;
    char label[LABEL_TEXT], more[48] = "";

    if (c->count > 1)
        snprintf(more, sizeof(more), " and %zu more", c->count - 1);
    snprintf(out, CAUSE_TEXT, "%s: %s %s%s: %s%s%s", gcb_verdict_names[v->kind],
             gcb_text_shorten(label, sizeof(label), gcb_verdict_case(v)->label, 74),
             gcb_quantities[v->quantity].name, more, v->reason, c->advice ? "; " : "",
             c->advice ? c->advice : "");
    return out;
}

/* Writes an empty line and then all causes, each on a new line; nothing if there are none. */
static void put_causes(FILE *out, const struct gcb_verdicts *verdicts)
{
    struct cause *causes;
    size_t count;
    char line[CAUSE_TEXT];

    collect_causes(&causes, &count, verdicts);
    if (count)
        fputc('\n', out);
    for (size_t i = 0; i < count; i++)
        opt_wrap(out, cause_text(line, &causes[i]), 0, 2);
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

/* Adds a verdict as a line of the table. `label`: its case, or "" if the line above has it. */
static void put_line(struct gcb_table *table, const struct gcb_verdict *v, const char *label)
{
    char text[48];

    gcb_table_cell(table, label);
    gcb_table_cell(table, gcb_quantities[v->quantity].name);
    gcb_table_cell(table, value_text(text, v, v->base));
    gcb_table_cell(table, value_text(text, v, v->next));
    snprintf(text, sizeof(text), isfinite(v->ratio) ? "%.3f" : "-", v->ratio);
    gcb_table_cell(table, text);
    snprintf(text, sizeof(text), isfinite(v->low) && isfinite(v->high) ? "%.3f-%.3f" : "", v->low,
             v->high);
    gcb_table_cell(table, text);
    snprintf(text, sizeof(text), "%s%s", gcb_verdict_names[v->kind],
             v->accepted ? " (accepted)" : "");
    gcb_table_cell(table, text);
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

        if (v->kind == GCB_SAME && !report->verbose &&
            (v->quantity == GCB_QUANTITY_SIZE || v->quantity == GCB_QUANTITY_ERROR)) {
            hidden++;
            continue;
        }
        put_line(table, v, c != last ? c->label : "");
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
        put_causes(report->out, verdicts);

    fputc('\n', report->out);
    opt_wrap(report->out, total_text(total, sizeof(total), verdicts, strict), 0, 0);
}
