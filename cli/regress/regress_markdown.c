#include "cli/regress/regress_markdown.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

/* Text that Markdown and HTML leave alone: marks become character references. */
static void put_text(FILE *f, const char *text)
{
    for (; *text; text++)
        if (strchr("\\`*_{}[]()<>#+-!|~&@:/", *text))
            fprintf(f, "&#%d;", *text);
        else
            fputc(*text, f);
}

static void put_line(FILE *f, const struct gcb_verdict *v)
{
    char base[32], next[32], interval[32];

    fputs("| ", f);
    put_text(f, gcb_verdict_case(v)->label);
    fprintf(f, " | %s | %s | %s | ", gcb_quantity_name(v->quantity),
            regress_value(base, v, v->base), regress_value(next, v, v->next));
    if (isfinite(v->ratio))
        fprintf(f, "%.3f", v->ratio);
    fprintf(f, " | %s | %s%s%s%s |\n", regress_interval(interval, v),
            gcb_verdict_fails(v) ? "**" : "", gcb_verdict_name(v->kind),
            gcb_verdict_fails(v) ? "**" : "", v->accepted ? " (accepted)" : "");
}

static void put_table(FILE *f, const struct gcb_verdicts *verdicts, bool same)
{
    fputs("\n| case | of | base | new | ratio | 95 % | verdict |\n"
          "|---|---|--:|--:|--:|--:|---|\n",
          f);
    for (size_t i = 0; i < verdicts->count; i++)
        if ((verdicts->items[i].kind == GCB_SAME) == same && regress_worth(&verdicts->items[i]))
            put_line(f, &verdicts->items[i]);
}

static size_t lines(const struct gcb_verdicts *verdicts, bool same)
{
    size_t n = 0;

    for (size_t i = 0; i < verdicts->count; i++)
        n += (verdicts->items[i].kind == GCB_SAME) == same && regress_worth(&verdicts->items[i]);
    return n;
}

static void put_causes(FILE *f, const struct gcb_verdicts *verdicts)
{
    struct regress_cause *causes = NULL;
    size_t count = 0;

    if (regress_causes(&causes, &count, verdicts) == 0 && count)
        fputc('\n', f);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_verdict *v = causes[i].first;
        const char *advice = v->accepted ? NULL : gcb_verdict_advice(v);

        fprintf(f, "- %s: ", gcb_verdict_name(v->kind));
        put_text(f, gcb_verdict_case(v)->label);
        fprintf(f, " %s", gcb_quantity_name(v->quantity));
        if (causes[i].count > 1)
            fprintf(f, " and %zu more", causes[i].count - 1);
        fputs(": ", f);
        put_text(f, v->reason);
        if (advice) {
            fputs("; ", f);
            put_text(f, advice);
        }
        fputc('\n', f);
    }
    gcb_free(causes);
}

static void put_all(FILE *f, const struct regress_markdown *m)
{
    char total[400];

    fputs("### ", f);
    put_text(f, m->title);
    fprintf(f, "\n\n%s\n", regress_total(total, sizeof(total), m->verdicts, m->strict));
    if (lines(m->verdicts, false))
        put_table(f, m->verdicts, false);
    put_causes(f, m->verdicts);
    if (!lines(m->verdicts, true))
        return;
    fprintf(f, "\n<details><summary>%zu the same</summary>\n", lines(m->verdicts, true));
    put_table(f, m->verdicts, true);
    fputs("\n</details>\n", f);
}

int regress_markdown_write(const struct regress_markdown *m, struct gcb_outfile *file,
                           struct gcb_diag *diag)
{
    FILE *f = fopen(file->temp_path, "we");
    char shown[256];
    int err = 0;

    gcb_escape(shown, sizeof(shown), file->final_path);
    if (f)
        put_all(f, m);
    if (!f || ferror(f))
        err = gcb_diag_set(diag, GCB_E_IO, "%s: cannot write: %s", shown, strerror(errno));
    if (f && fclose(f) && !err)
        err = gcb_diag_set(diag, GCB_E_IO, "%s: cannot write: %s", shown, strerror(errno));
    return err ? err : gcb_outfile_commit(file, diag);
}
