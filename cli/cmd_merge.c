#include <inttypes.h>
#include <string.h>

#include "cli/base/output.h"
#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/number.h"
#include "src/tool/run/merge.h"

struct merge_options {
    struct opt_save save;
    struct opt_show show;
};

/* The state of the command. */
struct merge {
    struct gcb_merge *joined;
    bool begun;               /* a heading was printed */
    struct gcb_label *labels; /* of the methods of the current case */
    char scope[160];          /* input and scope of the last answer */
    /* for shards of `verify`: the checks of each method of the current case; else NULL */
    struct promise_counts *checks;
    bool broken;             /* a promise of `verify` is broken */
    struct gcb_diag missing; /* why a method of `verify` does not run on the device */
    struct out_report report;
};

/* Writes the name of the case's input without its folder. Returns out. */
static const char *name_of(char *out, size_t size, const struct gcb_merge_case *at)
{
    const char *file = at->file ? at->file : "", *slash = strrchr(file, '/');

    return gcb_escape(out, size, slash ? slash + 1 : file);
}

static void print_heading(const struct merge *c, const struct gcb_merge_case *at)
{
    const uint32_t shards = gcb_merge_shard_count(c->joined);
    const struct gcb_rows_setting *s = &at->setting;
    char name[200], count[32];

    fprintf(c->report.out, "%s: %s message%s, %" PRIu32 " shard%s\n",
            name_of(name, sizeof(name), at), gcb_count(count, at->all_messages),
            at->all_messages == 1 ? "" : "s", shards, shards == 1 ? "" : "s");
    fprintf(c->report.out, "scope %s, %d thread%s, %s%s%s%s\n", s->scope ? s->scope : "?",
            s->threads, s->threads == 1 ? "" : "s", s->device ? s->device : "?",
            s->cache ? ", " : "", s->cache ? s->cache : "", s->cache ? " cache" : "");
}

/* Prints which methods failed; unless --quiet is given, also how many messages were left out for
 * all methods. */
static void note_unmeasured(const struct merge *c, const struct gcb_merge_case *at)
{
    char count[32];

    out_failures(c->report.out, NULL, &at->result);
    if (at->result.skipped_messages && !c->report.quiet)
        opt_note(c->report.out, "left out, because of infinities or NaNs: %s message%s",
                 gcb_count(count, at->result.skipped_messages),
                 at->result.skipped_messages == 1 ? "" : "s");
}

static void show_case(struct merge *c, const struct gcb_merge_case *at)
{
    struct gcb_table *table = gcb_table_create(out_columns, OUT_COLUMNS);

    for (size_t i = 0; i < at->result.method_count; i++) {
        const struct gcb_tally *t = &at->result.totals[i].tally;

        if (t->messages == 0)
            continue;
        gcb_table_cell(table, c->labels[i].text);
        out_figures(table, out_columns, OUT_COLUMNS, t, 8);
    }
    out_table(&c->report, table);
    note_unmeasured(c, at);
}

static int on_begin(void *ctx, const struct gcb_merge_case *at, struct gcb_diag *diag)
{
    const size_t count = at->result.method_count;
    struct merge *c = ctx;

    c->labels = gcb_label_methods(at->methods, sizeof(*at->methods), count);
    if (gcb_merge_of_verify(c->joined))
        c->checks = gcb_must_zero(count, sizeof(*c->checks));
    if (c->report.table) {
        if (c->begun)
            fputc('\n', c->report.out);
        c->begun = true;
        print_heading(c, at);
    }
    return 0;
}

/* ---- shards of verify ---- */

static void end_verify(struct merge *c, const struct gcb_merge_case *at)
{
    const size_t count = at->result.method_count;

    for (size_t i = count; i-- > 0;) /* backwards, so that the first failure of the case stays */
        if (at->result.totals[i].failure.status)
            c->missing = at->result.totals[i].failure;
    c->broken |= promise_sum(c->checks, count, GCB_PROMISE_BROKEN) > 0;
    if (!c->report.table)
        return;
    promise_show_counts(&c->report, c->labels, count, c->checks,
                        at->all_messages - at->result.skipped_messages);
    note_unmeasured(c, at);
}

/* ---- shards of all commands ---- */

static int on_row(void *ctx, size_t method, struct gcb_row *row, struct gcb_diag *diag)
{
    struct merge *c = ctx;

    if (c->checks)
        promise_take(&c->checks[method], &c->report, c->labels[method].text, row);
    return out_put(&c->report, row, diag);
}

/* Gives the answer of a case, unless the case before had the same input and scope, and differed
 * only in threads, cache or device. */
static int put_answer(struct merge *c, const struct gcb_merge_case *at, struct gcb_diag *diag)
{
    char scope[sizeof(c->scope)], name[120];
    struct gcb_row row;

    snprintf(scope, sizeof(scope), "%s, scope %s", name_of(name, sizeof(name), at),
             at->setting.scope ? at->setting.scope : "?");
    if (strcmp(scope, c->scope) == 0)
        return 0;
    memcpy(c->scope, scope, sizeof(scope));
    answer_make(&row, scope, at->methods, &at->result, false);
    return out_answer(&c->report, &row, diag);
}

static int on_end(void *ctx, const struct gcb_merge_case *at, struct gcb_diag *diag)
{
    struct merge *c = ctx;
    int err = 0;

    if (c->checks) {
        end_verify(c, at);
    } else {
        err = out_summaries(&c->report, &at->setting, at->methods, &at->result, at->file, false,
                            diag);
        if (!err && c->report.table)
            show_case(c, at);
        if (!err)
            err = put_answer(c, at, diag);
    }
    gcb_free(c->labels);
    gcb_free(c->checks);
    c->labels = NULL;
    c->checks = NULL;
    return err;
}

static int merge_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct merge_options *o = options;
    struct merge c = {.joined = NULL};
    const struct gcb_merge_observer observer = {on_begin, on_row, on_end, &c};
    struct gcb_row row;
    int err = 0;

    if (operands->count == 0)
        err = gcb_invalid(ctx->diag,
                          "no results given: name the files that all shards saved with --results");
    if (!err)
        err = gcb_merge_open(&c.joined, operands->items, operands->count, ctx->diag);
    if (!err)
        err = out_open(&c.report, &o->show, &o->save, operands,
                       gcb_merge_of_verify(c.joined) ? GCB_RECORD_BIT(GCB_RECORD_PROMISE)
                                                     : GCB_RESULT_RECORDS,
                       ctx);
    if (!err && out_wants_rows(&c.report)) {
        gcb_merge_environment(&row, c.joined, ctx->argc, ctx->argv);
        err = out_put(&c.report, &row, ctx->diag);
    }
    if (!err)
        err = gcb_merge_run(c.joined, &observer, ctx->diag);
    if (!err)
        err = out_commit(&c.report, ctx->diag);
    if (!err && c.broken)
        err = CMD_NOT_VERIFIED;
    else if (!err && c.missing.status)
        err = gcb_diag_set(ctx->diag, GCB_E_BACKEND, "%s", c.missing.text);
    gcb_free(c.labels);
    gcb_free(c.checks);
    out_close(&c.report);
    gcb_merge_close(c.joined);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Output", opt_force_rows, struct merge_options, save),
    OPT_GROUP("Output", opt_save_rows, struct merge_options, save),
    OPT_GROUP("Output", opt_show_rows, struct merge_options, show),
    {.rows = NULL},
};

const struct cmd cmd_merge = {
    .name = "merge",
    .summary = "join the results of shards into those of one run",
    .usage = "merge [options] RESULTS...",
    .examples = "  gcbench compress --method fft --shard 0/2 --results 0.json gradients.h5\n"
                "  gcbench compress --method fft --shard 1/2 --results 1.json gradients.h5\n"
                "  gcbench merge 0.json 1.json --results all.json\n",
    .details =
        "Joins the results of `compress`, `bench` or `verify` with `--shard I/N`, in any order. "
        "Rows of messages are added in the order of one run, so every count, sum and error equals "
        "that of one run, bit for bit. Times are added too. Medians and intervals that need "
        "samples are null unless the rows have samples (docs/scale.md).\n"
        "With shards of `verify`, the exit status is that of one run: 5 if a promise is broken.\n"
        "All shards must be there, once. A shard of another build, input, method or option is "
        "refused; the message names the file and the difference. In the row `environment`, fields "
        "in which the machines differ are null. docs/scale.md shows how to run shards with GNU "
        "parallel, Slurm and MPI.\n",
    .spec = {.groups = groups},
    .size = sizeof(struct merge_options),
    .run = merge_run,
};
