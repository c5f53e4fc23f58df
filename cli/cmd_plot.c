#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/interrupt.h"
#include "cli/base/output.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/plot/plot.h"

struct plot_options {
    const char *output, *only;
    int type; /* enum gcb_plot_type */
    bool list, terminal, force, quiet;
};

/* Terminals get theirs by an option of their own. */
static const char *const types[] = {"png", "svg", "pdf", NULL};

/* clang-format off */
static const struct opt_row rows[] = {
    {.name = "only", .metavar = "NAME,...", .type = OPT_TEXT,
     .offset = offsetof(struct plot_options, only),
     .help = "these plots; otherwise all whose data is there"},
    {.name = "list", .type = OPT_FLAG, .offset = offsetof(struct plot_options, list),
     .help = "name the plots and what each is made of"},
    {.name = "terminal", .type = OPT_FLAG, .offset = offsetof(struct plot_options, terminal),
     .help = "draw in the terminal, 79 columns wide"},
    {.name = "output", .letter = 'o', .metavar = "DIR", .type = OPT_TEXT,
     .offset = offsetof(struct plot_options, output),
     .help = "folder of images, scripts and data; made if it is not there"},
    {.name = "type", .metavar = "TYPE", .type = OPT_CHOICE,
     .offset = offsetof(struct plot_options, type), .choices = types,
     .help = "of the images: png, svg or pdf (default png)"},
    {.name = "force", .type = OPT_FLAG, .offset = offsetof(struct plot_options, force),
     .help = "replace files that exist"},
    {.name = "quiet", .letter = 'q', .type = OPT_FLAG,
     .offset = offsetof(struct plot_options, quiet),
     .help = "no note of plots whose rows are missing"},
    {.name = NULL},
};
/* clang-format on */

/* Everything that lives as long as the command. Starts zeroed. */
struct plotter {
    const struct plot_options *o;
    struct cmd_context *ctx;
    struct gcb_plot_data *data;
    const struct gcb_plot **chosen;
    size_t count, cap, drawn;
    bool folder_made;
    const char *cut;     /* a plot that has more pages than are drawn */
    size_t failed;       /* pages that were written, but not drawn */
    struct gcb_diag why; /* of the first of them */
};

static int list(FILE *out)
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

static int choose(struct plotter *p, const struct gcb_plot *plot, struct gcb_diag *diag)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->chosen[i] == plot)
            return 0;
    if (gcb_grow(&p->chosen, &p->cap, p->count, sizeof(const struct gcb_plot *)))
        return gcb_diag_nomem(diag, 0, "plots");
    p->chosen[p->count++] = plot;
    return 0;
}

/* The names of --only, or everything. */
static int choose_all(struct plotter *p, struct gcb_diag *diag)
{
    const struct gcb_plot *plot;
    int err = 0;

    if (!p->o->only)
        for (size_t i = 0; !err && (plot = gcb_plot_at(i)) != NULL; i++)
            err = choose(p, plot, diag);
    for (const char *at = p->o->only; !err && at;) {
        const size_t n = strcspn(at, ",");

        plot = gcb_plot_find(at, n, diag);
        err = plot ? choose(p, plot, diag) : GCB_E_INVALID;
        at = at[n] ? at + n + 1 : NULL;
    }
    return err;
}

static int check(const struct plot_options *o, const struct opt_list *files, struct gcb_diag *diag)
{
    char shown[256];

    if (files->count == 0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "no results given: gcbench plot results.json -o pictures, for example "
                            "(--results of other commands writes such files)");
    if (!o->output && !o->terminal)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "where to? -o DIR makes files, --terminal draws here");
    if (o->output && gcb_plot_is_source(o->output))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "-o %s: the scripts that gcbench draws with are in it; name another "
                            "folder, such as pictures",
                            gcb_escape(shown, sizeof(shown), o->output));
    return 0;
}

/* The folder is the command's own to make, but what is in it stays. */
static int make_folder(const char *path, struct gcb_diag *diag)
{
    char shown[256];
    struct stat s;

    if (mkdir(path, 0777) == 0)
        return 0;
    gcb_escape(shown, sizeof(shown), path);
    if (errno != EEXIST)
        return gcb_diag_set(diag, GCB_E_IO, "%s: %s", shown,
                            errno == ENOENT ? "the folder it would be in is not there"
                                            : strerror(errno));
    if (stat(path, &s) != 0 || !S_ISDIR(s.st_mode))
        return gcb_diag_set(diag, GCB_E_INVALID, "%s: exists and is not a folder", shown);
    return 0;
}

static int draw_file(struct plotter *p, const struct gcb_plot *plot, size_t page)
{
    const struct gcb_plot_job job = {
        .plot = plot,
        .data = p->data,
        .page = page,
        .folder = p->o->output,
        .type = (enum gcb_plot_type)p->o->type,
        .force = p->o->force,
    };
    struct gcb_plot_paths paths;
    char shown[4096];
    int err = p->folder_made ? 0 : make_folder(p->o->output, p->ctx->diag);

    if (err)
        return err;
    p->folder_made = true;
    err = gcb_plot_make(&paths, &job, p->ctx->diag);
    if (err && paths.script) {
        /* the other plots are of use all the same */
        if (p->failed++ == 0)
            p->why = *p->ctx->diag;
        err = 0;
    }
    if (!err)
        fprintf(p->ctx->out, "%s\n",
                gcb_escape(shown, sizeof(shown), paths.image ? paths.image : paths.script));
    gcb_plot_paths_fini(&paths);
    return err;
}

static int draw_here(struct plotter *p, const struct gcb_plot *plot, size_t page)
{
    const char *folder = getenv("TMPDIR");
    const struct gcb_plot_job job = {
        .plot = plot,
        .data = p->data,
        .page = page,
        .folder = folder && *folder ? folder : "/tmp",
        .type = GCB_PLOT_TEXT,
    };
    char *text;
    const int err = gcb_plot_draw(&text, &job, p->ctx->diag);

    if (err)
        return err;
    fputs(text, p->ctx->out);
    gcb_free(text);
    return 0;
}

static int draw(struct plotter *p, const struct gcb_plot *plot)
{
    const size_t pages = gcb_plot_pages(plot, p->data);
    int err = 0;

    for (size_t i = 0; !err && i < pages && !interrupt_seen(); i++) {
        if (p->o->terminal)
            err = draw_here(p, plot, i);
        if (!err && p->o->output)
            err = draw_file(p, plot, i);
        p->drawn++;
    }
    if (pages == GCB_PLOT_PAGES)
        p->cut = plot->name;
    return err;
}

/* What was asked for by its name has to be there. */
static int check_data(const struct plotter *p, struct gcb_diag *diag)
{
    for (size_t i = 0; p->o->only && i < p->count; i++)
        if (gcb_plot_pages(p->chosen[i], p->data) == 0)
            return gcb_diag_set(diag, GCB_E_INVALID, "no data for %s; it is drawn from %s",
                                p->chosen[i]->name, p->chosen[i]->needs);
    return 0;
}

/* The command whose rows the plot lacks, where no plot before lacks the same; else NULL. */
static const char *missing(const struct plotter *p, size_t at)
{
    const char *from = p->chosen[at]->from;

    if (gcb_plot_pages(p->chosen[at], p->data) > 0)
        return NULL;
    for (size_t i = 0; i < at; i++)
        if (strcmp(p->chosen[i]->from, from) == 0 && gcb_plot_pages(p->chosen[i], p->data) == 0)
            return NULL;
    return from;
}

/* What else there is to draw: the commands to run for it. */
static void note_missing(const struct plotter *p)
{
    char text[512] = "more plots are made of rows of ";
    const char *from, *comma = "";
    size_t used = strlen(text);

    for (size_t i = 0; i < p->count && used < sizeof(text); i++)
        if ((from = missing(p, i)) != NULL) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", comma, from);
            comma = ", ";
        }
    if (*comma && used < sizeof(text)) {
        snprintf(text + used, sizeof(text) - used, " (see --list)");
        opt_wrap(p->ctx->err, text, fprintf(p->ctx->err, "note:"), 2);
    }
}

static int finish(struct plotter *p)
{
    char shown[256];

    if (p->cut)
        fprintf(p->ctx->err,
                "gcbench: %d pages of %s are as many as are drawn; fewer files at once show what "
                "else there is\n",
                GCB_PLOT_PAGES, p->cut);
    if (interrupt_seen()) {
        fprintf(p->ctx->err, "gcbench: interrupted\n");
        return CMD_FAILED;
    }
    if (p->drawn == 0)
        return gcb_diag_set(p->ctx->diag, GCB_E_CORRUPT,
                            "nothing to plot in these rows; `gcbench plot --list` says what each "
                            "plot is made of");
    if (p->failed)
        return gcb_diag_set(p->ctx->diag, p->why.status,
                            "%s; scripts and data are in %s, for `gnuplot NAME.gp` there",
                            p->why.text, gcb_escape(shown, sizeof(shown), p->o->output));
    if (!p->o->quiet)
        note_missing(p);
    return 0;
}

static int plot_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    struct plotter p = {.o = options, .ctx = ctx};
    int err;

    if (p.o->list)
        return list(ctx->out);
    err = check(p.o, operands, ctx->diag);
    if (!err)
        err = choose_all(&p, ctx->diag);
    if (!err)
        err = gcb_plot_data_create(&p.data, ctx->diag);
    for (size_t i = 0; !err && i < operands->count; i++)
        err = gcb_plot_data_read(p.data, operands->items[i], ctx->diag);
    interrupt_catch(); /* while files are read, nothing is lost by ending at once */
    if (!err)
        err = check_data(&p, ctx->diag);
    for (size_t i = 0; !err && i < p.count; i++)
        err = draw(&p, p.chosen[i]);
    if (!err || (err == GCB_E_IO && interrupt_seen())) /* then gnuplot was ended too */
        err = finish(&p);
    gcb_plot_data_destroy(p.data);
    gcb_free(p.chosen);
    return err;
}

static const struct opt_group groups[] = {
    {"Plots", rows, 0},
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
        "RESULTS are files that --results wrote (`-` is standard input). Beside each image lie its "
        "data and the script that drew it: change it and run `gnuplot NAME.gp`.\n"
        "What each plot shows is in docs/plots.md.\n",
    .spec = {.groups = groups},
    .size = sizeof(struct plot_options),
    .run = plot_run,
};
