#include "cli/base/output.h"
#include "src/lib/base/text.h"
#include "src/tool/page/page.h"
#include "src/tool/write/outfile.h"

struct report_options {
    const char *output, *title;
    bool force, no_plots;
};

/* clang-format off */
static const struct opt_row rows[] = {
    {OPT_ROW("output", TEXT, report_options, output), .letter = 'o', .metavar = "FILE",
     .help = "the HTML file to write"},
    {OPT_ROW("force", FLAG, report_options, force), .help = "replace an existing file"},
    {OPT_ROW("title", TEXT, report_options, title), .metavar = "TEXT",
     .help = "title of the page (default: the names of the inputs)"},
    {OPT_ROW("no-plots", FLAG, report_options, no_plots),
     .help = "leave out the pictures that gnuplot draws"},
    {.name = NULL},
};
/* clang-format on */

/* True if writing the page has to end. The first call comes when all files are read, and starts to
 * catch signals: until then, a signal ends the command at once. */
static bool on_stop(void)
{
    if (!interrupt_seen())
        interrupt_catch();
    return interrupt_seen();
}

/* Writes the page to `file`. Returns CMD_FAILED, after it has printed the reason, if a signal came
 * and there is no page, or if the page lacks some plots. */
static int write_page(struct gcb_outfile *file, const struct gcb_page_config *config,
                      const struct report_options *o, struct cmd_context *ctx)
{
    struct gcb_page_outcome outcome = {.stopped = false};
    FILE *page;
    int err = out_open_file(&page, file, ctx->diag);

    if (err)
        return err;
    err = gcb_page_write(page, &outcome, config, ctx->diag);
    if (err || outcome.stopped) {
        fclose(page);
        if (err)
            return err;
        fprintf(ctx->err, "gcbench: interrupted\n");
        return CMD_FAILED;
    }
    err = out_commit_file(page, file, ctx->diag);
    if (err || !outcome.without[0])
        return err;
    fprintf(ctx->err, "gcbench: %s is written, but %s: %s; --no-plots leaves plots out\n",
            gcb_show(o->output).text, outcome.plots ? "some plots are missing" : "it has no plots",
            outcome.without);
    return CMD_FAILED;
}

static int report_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct report_options *o = options;
    const struct gcb_page_config config = {
        .title = o->title,
        .files = operands->items,
        .file_count = operands->count,
        .plot_folder = o->no_plots ? NULL : out_temp_folder(),
        .stop = on_stop,
    };
    struct gcb_outfile file = {.temp_path = NULL};
    int err;

    if (operands->count == 0)
        return gcb_invalid(ctx->diag, "no results given; other commands write them with --results "
                                      "FILE. Example: gcbench report results.json -o report.html");
    if (!o->output)
        return gcb_invalid(ctx->diag, "no output given: -o FILE names the page to write");
    err = gcb_outfile_init(&file, o->output, o->force, operands->items, operands->count, ctx->diag);
    if (!err)
        err = write_page(&file, &config, o, ctx);
    gcb_outfile_fini(&file);
    return err;
}

static const struct opt_group groups[] = {
    {.title = "Output", .rows = rows},
    {.rows = NULL},
};

const struct cmd cmd_report = {
    .name = "report",
    .summary = "write results as one HTML page with tables and plots",
    .usage = "report [options] RESULTS... -o FILE.html",
    .examples = "  gcbench compress --method fft --method topk gradients.h5 --results r.json\n"
                "  gcbench report r.json -o report.html\n"
                "  gcbench report --title \"Week 12\" bench.json replay.json -o report.html\n",
    .details =
        "RESULTS are files that were written with --results (`-` is standard input). The page "
        "begins with one answer. It has a table for each kind of record, which can be sorted and "
        "filtered, and the pictures of `gcbench plot`, which need gnuplot. It is one file that "
        "loads nothing; its own script draws it from the rows, which it contains as JSON. If a "
        "picture cannot be drawn, the page is written without it, and the exit status is 1.\n",
    .spec = {.groups = groups},
    .size = sizeof(struct report_options),
    .run = report_run,
};
