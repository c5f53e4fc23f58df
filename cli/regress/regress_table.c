#include "cli/regress/regress_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/base/columns.h"
#include "src/tool/print/number.h"

static char *seconds_text(char out[32], double s)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t i = 0;
    char number[32];

    while (i < 3 && s < units[i].unit)
        i++;
    snprintf(out, 32, "%.20s %s", gcb_number(number, s / units[i].unit, 3), units[i].name);
    return out;
}

char *regress_value(char out[32], const struct gcb_verdict *v, double value)
{
    if (!isfinite(value)) {
        snprintf(out, 32, "-");
        return out;
    }
    switch (v->quantity) {
    case GCB_OF_ENCODE:
    case GCB_OF_DECODE:
    case GCB_OF_KERNEL:
        return seconds_text(out, value);
    case GCB_OF_SIZE:
    case GCB_OF_ENCODE_COUNT:
    case GCB_OF_DECODE_COUNT:
        return gcb_count(out, (uint64_t)value);
    default:
        return gcb_number(out, value, 4);
    }
}

char *regress_interval(char out[32], const struct gcb_verdict *v)
{
    if (isfinite(v->low) && isfinite(v->high))
        snprintf(out, 32, "%.3f-%.3f", v->low, v->high);
    else
        out[0] = '\0';
    return out;
}

bool regress_worth(const struct gcb_verdict *v)
{
    return v->kind != GCB_SAME || (v->quantity != GCB_OF_SIZE && v->quantity != GCB_OF_ERROR);
}

/* A case's label in so many columns; the whole one is in rows and in Markdown. */
static char *short_label(char out[400], const struct gcb_case *c, size_t width)
{
    return gcb_text_shorten(out, 400, c->label, width);
}

static int add_line(struct gcb_table *table, const struct gcb_verdict *v, bool named,
                    struct gcb_diag *diag)
{
    char base[32], next[32], ratio[32] = "-", interval[32], kind[40], label[400];
    const char *cells[7];

    if (isfinite(v->ratio))
        snprintf(ratio, sizeof(ratio), "%.3f", v->ratio);
    snprintf(kind, sizeof(kind), "%s%s", gcb_verdict_name(v->kind),
             v->accepted ? " (accepted)" : "");
    cells[0] = named ? short_label(label, gcb_verdict_case(v), 79) : "";
    cells[1] = gcb_quantity_name(v->quantity);
    cells[2] = regress_value(base, v, v->base);
    cells[3] = regress_value(next, v, v->next);
    cells[4] = ratio;
    cells[5] = regress_interval(interval, v);
    cells[6] = kind;
    return gcb_table_add(table, cells, diag);
}

static int show_table(struct out_report *report, const struct gcb_verdicts *verdicts,
                      struct gcb_diag *diag)
{
    static const struct gcb_table_column columns[] = {
        {"case", false, true},     {"of", false, false},   {"base", true, false},
        {"new", true, false},      {"ratio", true, false}, {"95 %", true, false},
        {"verdict", false, false},
    };
    const struct gcb_case *last = NULL;
    struct gcb_table *table = NULL;
    size_t hidden = 0;
    int err = gcb_table_create(&table, columns, 7, diag);

    for (size_t i = 0; !err && i < verdicts->count; i++) {
        const struct gcb_verdict *v = &verdicts->items[i];
        const struct gcb_case *c = gcb_verdict_case(v);

        if (!regress_worth(v) && !report->verbose) {
            hidden++;
            continue;
        }
        err = add_line(table, v, c != last, diag);
        last = c;
    }
    if (!err && gcb_table_rows(table))
        out_table(report, table);
    gcb_table_destroy(table);
    if (!err && hidden && !report->quiet)
        fprintf(report->out, "not shown: %zu SAME of sizes and errors (-v shows them)\n", hidden);
    return err;
}

int regress_causes(struct regress_cause **out, size_t *count, const struct gcb_verdicts *verdicts)
{
    struct regress_cause *causes = gcb_alloc_array(verdicts->count, sizeof(*causes));

    *count = 0;
    *out = causes;
    if (!causes)
        return GCB_E_NOMEM;
    for (size_t i = 0; i < verdicts->count; i++) {
        const struct gcb_verdict *v = &verdicts->items[i];
        const size_t from = *count > 16 ? *count - 16 : 0;
        size_t at = from;

        if (!v->reason)
            continue;
        while (at < *count && (causes[at].first->kind != v->kind ||
                               strcmp(causes[at].first->reason, v->reason) != 0))
            at++;
        if (at < *count)
            causes[at].count++;
        else
            causes[(*count)++] = (struct regress_cause){.first = v, .count = 1};
    }
    return 0;
}

static int show_causes(struct out_report *report, const struct gcb_verdicts *verdicts,
                       struct gcb_diag *diag)
{
    struct regress_cause *causes;
    size_t count;
    char line[1600], label[400];

    if (regress_causes(&causes, &count, verdicts))
        return gcb_diag_nomem(diag, verdicts->count * sizeof(*causes), "causes");
    for (size_t i = 0; i < count; i++) {
        const struct gcb_verdict *v = causes[i].first;
        const char *advice = v->accepted ? NULL : gcb_verdict_advice(v);
        char more[48] = "";

        if (causes[i].count > 1)
            snprintf(more, sizeof(more), " and %zu more", causes[i].count - 1);
        snprintf(line, sizeof(line), "%s: %s %s%s: %s%s%s", gcb_verdict_name(v->kind),
                 short_label(label, gcb_verdict_case(v), 74), gcb_quantity_name(v->quantity), more,
                 v->reason, advice ? "; " : "", advice ? advice : "");
        if (i == 0)
            fputc('\n', report->out);
        opt_wrap(report->out, line, 0, 2);
    }
    gcb_free(causes);
    return 0;
}

char *regress_total(char *out, size_t size, const struct gcb_verdicts *verdicts, bool strict)
{
    struct gcb_verdict_counts n;
    size_t used, listed = 0;

    gcb_verdicts_count(&n, verdicts);
    used = (size_t)snprintf(out, size, "%zu comparison%s:", verdicts->count,
                            verdicts->count == 1 ? "" : "s");
    for (size_t k = 0; k < GCB_VERDICT_KINDS && used < size; k++)
        if (n.kinds[k])
            used += (size_t)snprintf(out + used, size - used, "%s %zu %s", listed++ ? "," : "",
                                     n.kinds[k], gcb_verdict_name((enum gcb_verdict_kind)k));
    if (n.accepted && used < size)
        used += (size_t)snprintf(out + used, size - used, " (%zu accepted)", n.accepted);
    if (used < size)
        snprintf(out + used, size - used, "; %zu regression%s%s", n.fails, n.fails == 1 ? "" : "s",
                 strict && n.unsure ? ", and what is not sure fails under --strict" : "");
    return out;
}

int regress_show(struct out_report *report, const struct gcb_verdicts *verdicts, bool strict,
                 struct gcb_diag *diag)
{
    char total[400];
    int err = show_table(report, verdicts, diag);

    if (!err && !report->quiet)
        err = show_causes(report, verdicts, diag);
    if (err)
        return err;
    fputc('\n', report->out);
    opt_wrap(report->out, regress_total(total, sizeof(total), verdicts, strict), 0, 0);
    return 0;
}
