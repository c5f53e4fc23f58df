#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "src/lib/base/text.h"
#include "src/tool/plot/plot.h"
#include "src/tool/write/outfile.h"

#define PATH_TEXT 4096 /* room for the path of a file in the folder of -o */

struct plot_options {
    const char *output, *only;
    int type; /* enum gcb_plot_type */
    bool list, terminal, force, quiet;
};

/* Types of image files, by enum gcb_plot_type. Its last type, text, is for --terminal. */
static const char *const types[] = {"png", "svg", "pdf", NULL};

/* clang-format off */
static const struct opt_row rows[] = {
    {OPT_ROW("only", TEXT, plot_options, only), .metavar = "NAME,...",
     .help = "draw only these plots (default: all plots whose rows are in RESULTS)"},
    {OPT_ROW("list", FLAG, plot_options, list),
     .help = "list the plots and the rows that each needs"},
    {OPT_ROW("terminal", FLAG, plot_options, terminal),
     .help = "draw as text in the terminal, 79 columns wide"},
    {OPT_ROW("output", TEXT, plot_options, output), .letter = 'o', .metavar = "DIR",
     .help = "folder for images, scripts and data; created if it does not exist"},
    {OPT_ROW("type", CHOICE, plot_options, type), .metavar = "TYPE", .choices = types,
     .help = "type of the images: png, svg or pdf (default png)"},
    {OPT_ROW("force", FLAG, plot_options, force), .help = "replace existing files"},
    {OPT_ROW("quiet", FLAG, plot_options, quiet), .letter = 'q',
     .help = "do not say that more plots need other rows"},
    {.name = NULL},
};
/* clang-format on */

/* The state of the command. Starts zeroed. */
struct plotter {
    const struct plot_options *o;
    struct cmd_context *ctx;
    struct gcb_plot_data *data;
    const struct gcb_plot *chosen[GCB_PLOT_MAX];
    size_t count, drawn; /* plots chosen, and pages drawn */
    /* name of a plot that may lack pages, because it has GCB_PLOT_PAGES; NULL: there is none */
    const char *cut;
    bool made;           /* this run made the folder */
    size_t failed;       /* number of pages with script and data, but without an image */
    struct gcb_diag why; /* why the first image failed */
};

static int print_list(FILE *out)
{
    const struct gcb_plot *plot;

    for (size_t i = 0; (plot = gcb_plot_at(i)) != NULL; i++) {
        fprintf(out, "%-17s ", plot->name);
        opt_wrap(out, plot->title, 18, 18);
        fprintf(out, "%18s", "");
        opt_wrap(out, plot->needs, 18, 20);
    }
    return 0;
}

/* Adds a plot to the chosen plots, unless it is one of them. */
static void add_plot(struct plotter *p, const struct gcb_plot *plot)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->chosen[i] == plot)
            return;
    p->chosen[p->count++] = plot;
}

/* Chooses the plots of --only, or all. */
static int choose_plots(struct plotter *p, struct gcb_diag *diag)
{
    const char *at = p->o->only;
    const struct gcb_plot *plot;

    if (!at)
        for (size_t i = 0; (plot = gcb_plot_at(i)) != NULL; i++)
            add_plot(p, plot);
    while (at) {
        const size_t n = strcspn(at, ",");

        plot = gcb_plot_find(at, n, diag);
        if (!plot)
            return GCB_E_INVALID;
        add_plot(p, plot);
        at = at[n] ? at + n + 1 : NULL;
    }
    return 0;
}

/* Makes the folder of -o and sets p->made, unless the folder exists. Refuses a path that is too
 * long. */
static int make_folder(struct plotter *p)
{
    char shown[PATH_TEXT];

    if (mkdir(p->o->output, 0777) == 0)
        p->made = true;
    else if (errno != EEXIST)
        return gcb_diag_set(p->ctx->diag, GCB_E_IO, "%s: cannot make the folder: %s",
                            gcb_escape(shown, sizeof(shown), p->o->output), strerror(errno));
    if (strlen(p->o->output) + 1 + GCB_PLOT_NAME > PATH_TEXT)
        return gcb_invalid(p->ctx->diag, "-o: the path of the folder is over %d bytes",
                           PATH_TEXT - 1 - GCB_PLOT_NAME);
    return 0;
}

/* Draws a page into files, and prints the path of the image. If only the image fails, writes script
 * and data, prints the path of the script, and keeps the failure for the end: the other plots are
 * still useful. */
static int draw_file(struct plotter *p, const struct gcb_plot_job *job)
{
    struct gcb_outfile files[GCB_PLOT_FILES] = {{.temp_path = NULL}};
    char paths[GCB_PLOT_FILES][PATH_TEXT], shown[PATH_TEXT];
    struct gcb_plot_drawing drawing = {.drawn = false};
    enum gcb_plot_file main_file;
    int err = make_folder(p);

    for (int i = 0; !err && i < GCB_PLOT_FILES; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/", job->folder);
        gcb_plot_name(paths[i] + strlen(paths[i]), GCB_PLOT_NAME, job, (enum gcb_plot_file)i);
        err = gcb_outfile_init(&files[i], paths[i], p->o->force, NULL, 0, p->ctx->diag);
    }
    if (!err)
        err = gcb_plot_draw(&drawing, job, p->ctx->diag);
    if (err && drawing.files[GCB_PLOT_SCRIPT].bytes) {
        if (p->failed++ == 0)
            p->why = *p->ctx->diag;
        err = 0;
    }
    /* this file is written last, and its path is printed */
    main_file = drawing.drawn ? GCB_PLOT_IMAGE : GCB_PLOT_SCRIPT;
    for (int i = GCB_PLOT_FILES - 1; !err && i >= (int)main_file; i--)
        err = gcb_outfile_fill(&files[i], drawing.files[i].bytes, drawing.files[i].size,
                               p->ctx->diag);
    if (!err)
        fprintf(p->ctx->out, "%s\n", gcb_escape(shown, sizeof(shown), paths[main_file]));
    for (int i = 0; i < GCB_PLOT_FILES; i++)
        gcb_outfile_fini(&files[i]);
    gcb_plot_drawing_fini(&drawing);
    return err;
}

static int draw_in_terminal(const struct plotter *p, const struct gcb_plot_job *job)
{
    struct gcb_plot_drawing drawing;
    const int err = gcb_plot_draw(&drawing, job, p->ctx->diag);

    if (!err)
        fputs(drawing.files[GCB_PLOT_IMAGE].bytes, p->ctx->out);
    gcb_plot_drawing_fini(&drawing);
    return err;
}

/* Draws all pages of a plot, in the terminal, into files or both, until a signal comes. */
static int draw_pages(struct plotter *p, const struct gcb_plot *plot)
{
    const size_t pages = gcb_plot_pages(plot, p->data);
    int err = 0;

    for (size_t i = 0; !err && i < pages && !interrupt_seen(); i++) {
        struct gcb_plot_job job = {.plot = plot,
                                   .data = p->data,
                                   .page = i,
                                   .folder = out_temp_folder(),
                                   .type = GCB_PLOT_TEXT};

        if (p->o->terminal)
            err = draw_in_terminal(p, &job);
        job.folder = p->o->output;
        job.type = (enum gcb_plot_type)p->o->type;
        if (!err && p->o->output)
            err = draw_file(p, &job);
        p->drawn++;
    }
    if (pages == GCB_PLOT_PAGES)
        p->cut = plot->name;
    return err;
}

static int finish(struct plotter *p)
{
    if (p->cut)
        fprintf(
            p->ctx->err,
            "gcbench: a plot has at most %d pages, so %s may lack some; give fewer files at once\n",
            GCB_PLOT_PAGES, p->cut);
    if (interrupt_seen()) {
        fprintf(p->ctx->err, "gcbench: interrupted\n");
        return CMD_FAILED;
    }
    if (p->drawn == 0)
        return gcb_diag_set(p->ctx->diag, GCB_E_CORRUPT,
                            "nothing to plot: the results lack the rows that plots need "
                            "(`gcbench plot --list` names them)");
    if (p->failed)
        return gcb_diag_set(p->ctx->diag, p->why.status,
                            "%s; scripts and data are in %s: run `gnuplot NAME.gp` there",
                            p->why.text, gcb_show(p->o->output).text);
    for (size_t i = 0; !p->o->quiet && i < p->count; i++)
        if (gcb_plot_pages(p->chosen[i], p->data) == 0) {
            opt_note(p->ctx->err, "more plots need other rows (`gcbench plot --list` says which)");
            break;
        }
    return 0;
}

static int plot_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    struct plotter p = {.o = options, .ctx = ctx};
    int err;

    if (p.o->list)
        return print_list(ctx->out);
    if (operands->count == 0)
        return gcb_invalid(ctx->diag, "no results given; other commands write them with --results "
                                      "FILE. Example: gcbench plot results.json -o pictures");
    if (!p.o->output && !p.o->terminal)
        return gcb_invalid(ctx->diag,
                           "no output given: -o DIR makes files, --terminal draws in the terminal");
    err = choose_plots(&p, ctx->diag);
    p.data = gcb_plot_data_create();
    for (size_t i = 0; !err && i < operands->count; i++)
        err = gcb_plot_data_read(p.data, operands->items[i], ctx->diag);
    interrupt_catch(); /* not earlier: until here a signal may end the command at once */
    for (size_t i = 0; !err && p.o->only && i < p.count; i++)
        if (gcb_plot_pages(p.chosen[i], p.data) == 0)
            err = gcb_invalid(ctx->diag, "no data for %s; it needs %s", p.chosen[i]->name,
                              p.chosen[i]->needs);
    for (size_t i = 0; !err && i < p.count; i++)
        err = draw_pages(&p, p.chosen[i]);
    /* an interrupt also ends gnuplot, and then draw_pages returns GCB_E_IO */
    if (!err || (err == GCB_E_IO && interrupt_seen()))
        err = finish(&p);
    if (p.made)
        rmdir(p.o->output); /* fails if the folder has files */
    gcb_plot_data_destroy(p.data);
    return err;
}

static const struct opt_group groups[] = {
    {.title = "Plots", .rows = rows},
    {.rows = NULL},
};

const struct cmd cmd_plot = {
    .name = "plot",
    .summary = "draw results with gnuplot, to files or in the terminal",
    .usage = "plot [options] RESULTS... -o DIR",
    .examples = "  gcbench plot results.json -o pictures\n"
                "  gcbench plot --only pareto,throughput --type svg results.json -o pictures\n"
                "  gcbench plot --only rate-distortion --terminal results.json\n"
                "  gcbench plot --list\n",
    .details =
        "RESULTS are files that were written with --results (`-` is standard input). Each image "
        "comes with its data and the script that drew it. To change a plot, edit its script and "
        "run `gnuplot NAME.gp`.\n"
        "docs/plots.md explains the plots.\n",
    .spec = {.groups = groups},
    .size = sizeof(struct plot_options),
    .run = plot_run,
};
