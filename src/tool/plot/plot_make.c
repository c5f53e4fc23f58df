#include "src/tool/plot/plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/child.h"
#include "src/tool/base/data.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/temp.h"
#include "src/tool/base/tidy.h"
#include "src/tool/plot/plot_page.h"

const char *const gcb_plot_type_names[] = {"png", "svg", "pdf", "txt", NULL};

/* Sets a message with the path and the text of errno. Returns GCB_E_IO. */
static int fail(struct gcb_diag *diag, const char *path)
{
    gcb_diag_set(diag, GCB_E_IO, "%s", strerror(errno));
    return gcb_diag_locate(diag, GCB_E_IO, path, NULL, 0);
}

/*
 * Runs `gnuplot -d SCRIPT` in a folder and waits until it ends. The user's own settings are left
 * out: with GNUTERM=x11, for example, a gnuplot without X11 would end before it reads the script.
 * If env does not find gnuplot, returns GCB_E_UNSUPPORTED with a message that says what to install.
 * If gnuplot fails, returns GCB_E_IO with its error message.
 */
static int run_gnuplot(const char *folder, const char *script, struct gcb_diag *diag)
{
    static const char *const unset[] = {"GNUTERM",    "GNUPLOT_LIB", "GNUPLOT_DEFAULT_GDFONT",
                                        "GDFONTPATH", "FIT_SCRIPT",  "FIT_LOG"};
    static const char env[] = "/usr/bin/env";
    enum { UNSET = sizeof(unset) / sizeof(unset[0]), NOT_FOUND = 127 };
    const char *words[1 + 2 * UNSET + 4] = {env};
    const struct gcb_child_limits limits = {.folder = folder};
    struct gcb_child child;
    size_t n = 1;
    int err, status;

    for (size_t i = 0; i < UNSET; i++) {
        words[n++] = "-u";
        words[n++] = unset[i];
    }
    words[n++] = "gnuplot";
    words[n++] = "-d";
    words[n] = script;
    err = gcb_child_start(&child, (char *const *)(uintptr_t)words, &limits, diag);
    if (err)
        return err;
    snprintf(child.name, sizeof(child.name), "gnuplot");
    err = gcb_child_finish(&child, &status, diag);
    /* gnuplot or a wrapper of it may end with 127 too, but only env names itself in the message */
    if (status != NOT_FOUND || (diag && !strstr(diag->text, env)))
        return err;
    return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                        "gnuplot, which draws the plots, is not installed (Debian: apt install "
                        "gnuplot-nox)");
}

/* Appends a file. Write errors stay in `to`. */
static int append_file(FILE *to, const char *path, struct gcb_diag *diag)
{
    FILE *from = fopen(path, "re");
    char buffer[4096];
    size_t n;
    int err;

    if (!from)
        return fail(diag, path);
    while ((n = fread(buffer, 1, sizeof(buffer), from)) > 0)
        fwrite(buffer, 1, n, to);
    err = ferror(from) ? fail(diag, path) : 0;
    fclose(from);
    return err;
}

/* Appends the script plots/NAME.gp. */
static int append_script(FILE *to, const char *name, struct gcb_diag *diag)
{
    char file[64], path[GCB_DATA_PATH] = "";

    snprintf(file, sizeof(file), "plots/%s.gp", name);
    gcb_data_find(path, file);
    return append_file(to, path, diag);
}

/* Reads a file into *out. The caller frees out->bytes, also after a failure. */
static int read_file(struct gcb_plot_text *out, const char *path, struct gcb_diag *diag)
{
    FILE *to = open_memstream(&out->bytes, &out->size);
    const int err = to ? append_file(to, path, diag) : 0;

    if (!to || fclose(to) != 0)
        gcb_no_memory();
    return err;
}

/* ---- drawing a page ---- */

/* Returns the ending of a file's name, without the dot. */
static const char *ending(const struct gcb_plot_job *job, enum gcb_plot_file which)
{
    if (which == GCB_PLOT_IMAGE)
        return gcb_plot_type_names[job->type];
    return which == GCB_PLOT_SCRIPT ? "gp" : "csv";
}

void gcb_plot_name(char *out, size_t size, const struct gcb_plot_job *job, enum gcb_plot_file which)
{
    char number[24] = "";

    if (gcb_plot_pages(job->plot, job->data) > 1)
        snprintf(number, sizeof(number), "-%zu", job->page + 1);
    snprintf(out, size, "%s%s.%s", job->plot->name, number, ending(job, which));
}

/*
 * Makes the data and the script of a page. The script has three parts: the page's variables, the
 * settings that all plots share (plots/style.gp), and the plot's own script (plots/NAME.gp). When
 * gnuplot runs the script in a folder, the script reads the data and writes the image there.
 */
static int prepare(struct gcb_plot_drawing *out, const struct gcb_plot_job *job,
                   struct gcb_diag *diag)
{
    struct gcb_plot_page page = {
        .plot = job->plot,
        .data = job->data,
        .first = gcb_plot_first(job->plot, job->data, job->page),
    };
    const char *parts[] = {"style", job->plot->script ? job->plot->script : job->plot->name};
    char names[GCB_PLOT_FILES][GCB_PLOT_NAME];
    int err = 0;

    gcb_plot_page_open(&page);
    for (int i = 0; i < GCB_PLOT_FILES; i++)
        gcb_plot_name(names[i], GCB_PLOT_NAME, job, (enum gcb_plot_file)i);
    fprintf(page.script,
            "# To draw this plot again: gnuplot %s\n"
            "# This script has three parts: the values of this page, the settings that all "
            "plots share, and the plot itself. Change what you like.\n"
            "plot_type = '%s'\nplot_output = '%s'\nplot_data = '%s'\n",
            names[GCB_PLOT_SCRIPT], ending(job, GCB_PLOT_IMAGE), names[GCB_PLOT_IMAGE],
            names[GCB_PLOT_DATA]);
    gcb_plot_page_fill(&page);
    for (int i = 0; !err && i < 2; i++) {
        fputc('\n', page.script);
        err = append_script(page.script, parts[i], diag);
    }
    if (!err) {
        gcb_plot_page_close(&page);
        out->files[GCB_PLOT_SCRIPT] = (struct gcb_plot_text){page.script_text, page.script_size};
        out->files[GCB_PLOT_DATA] = (struct gcb_plot_text){page.csv_text, page.csv_size};
        page.script_text = page.csv_text = NULL;
    }
    gcb_plot_page_fini(&page);
    return err;
}

/*
 * The temporary folder, inside the job's folder, in which gnuplot draws a page. There the files
 * have their final names, so gnuplot runs exactly the script that the user keeps.
 */
struct work {
    char *folder;
    char *paths[GCB_PLOT_FILES];    /* of the files in the folder */
    int places[GCB_PLOT_FILES + 1]; /* results of gcb_tidy_enter for the files and the folder */
};

static void work_fini(struct work *w)
{
    for (int i = 0; i < GCB_PLOT_FILES; i++) {
        if (w->paths[i]) {
            unlink(w->paths[i]);
            gcb_tidy_leave(w->places[i]);
        }
        gcb_free(w->paths[i]);
    }
    if (w->folder) {
        rmdir(w->folder);
        gcb_tidy_leave(w->places[GCB_PLOT_FILES]);
    }
    gcb_free(w->folder);
}

/* Makes the folder, and writes its files except the image. Call work_fini also after a failure. */
static int work_init(struct work *w, const struct gcb_plot_drawing *drawing,
                     const struct gcb_plot_job *job, struct gcb_diag *diag)
{
    char final[4096]; /* the path of the file that the user gets, for messages */
    size_t size;

    *w = (struct work){.folder = gcb_temp_make_folder(job->folder)};
    if (!w->folder)
        return fail(diag, job->folder);
    w->places[GCB_PLOT_FILES] = gcb_tidy_enter(w->folder);
    size = strlen(w->folder) + 1 + GCB_PLOT_NAME;
    for (int i = 0; i < GCB_PLOT_FILES; i++) {
        const struct gcb_plot_text *text = &drawing->files[i];
        char *path = w->paths[i] = gcb_must_array(size, 1);
        FILE *f;
        bool failed;

        snprintf(path, size, "%s/", w->folder);
        gcb_plot_name(path + strlen(path), GCB_PLOT_NAME, job, (enum gcb_plot_file)i);
        w->places[i] = gcb_tidy_enter(path);
        if (i == GCB_PLOT_IMAGE)
            continue;
        f = fopen(path, "wxe");
        failed = !f || fwrite(text->bytes, 1, text->size, f) != text->size;
        if ((f && fclose(f) != 0) || failed) {
            snprintf(final, sizeof(final), "%s%s", job->folder, strrchr(path, '/'));
            return fail(diag, final);
        }
    }
    return 0;
}

/* True if the image ends as images of this type do. If the disk is full, gnuplot writes only a part
 * of the image but succeeds. */
static bool is_complete(const struct gcb_plot_text *image, enum gcb_plot_type type)
{
    static const char *const ends[GCB_PLOT_TYPES] = {
        [GCB_PLOT_PNG] = "IEND",
        [GCB_PLOT_SVG] = "</svg>",
        [GCB_PLOT_PDF] = "%%EOF",
        [GCB_PLOT_TEXT] = "\n",
    };
    const size_t tail = image->size < 32 ? image->size : 32; /* longer than any end */

    return memmem(image->bytes + image->size - tail, tail, ends[type], strlen(ends[type])) != NULL;
}

/* Removes the leading form feed, empty lines around the picture, and blanks at the ends of
 * lines. */
static void trim(struct gcb_plot_text *text)
{
    const char *next = text->bytes;
    char *to = text->bytes;
    size_t empty = 0; /* empty lines not yet written; at the end they are dropped */

    while (*next) {
        const char *line = next + (*next == '\f');
        size_t n = strcspn(line, "\n");

        next = line + n + (line[n] == '\n');
        while (n && line[n - 1] == ' ')
            n--;
        if (n == 0) {
            empty++;
            continue;
        }
        for (; empty && to > text->bytes; empty--)
            *to++ = '\n';
        empty = 0;
        memmove(to, line, n);
        to += n;
        if (to < next) /* false only for a last line without a newline, if nothing was removed */
            *to++ = '\n';
    }
    *to = '\0';
    text->size = (size_t)(to - text->bytes);
}

int gcb_plot_draw(struct gcb_plot_drawing *out, const struct gcb_plot_job *job,
                  struct gcb_diag *diag)
{
    struct gcb_plot_text *image = &out->files[GCB_PLOT_IMAGE];
    struct work w = {.folder = NULL};
    int err;

    *out = (struct gcb_plot_drawing){.drawn = false};
    err = prepare(out, job, diag);
    if (!err)
        err = work_init(&w, out, job, diag);
    if (err) {
        work_fini(&w);
        gcb_plot_drawing_fini(out);
        return err;
    }
    err = run_gnuplot(w.folder, strrchr(w.paths[GCB_PLOT_SCRIPT], '/') + 1, diag);
    if (!err) {
        err = read_file(image, w.paths[GCB_PLOT_IMAGE], diag);
        if (err == GCB_E_IO || (!err && !is_complete(image, job->type)))
            err =
                gcb_diag_set(diag, GCB_E_IO, "gnuplot did not finish the image; is the disk full?");
    }
    if (!err && job->type == GCB_PLOT_TEXT)
        trim(image);
    out->drawn = !err;
    work_fini(&w);
    return err;
}

void gcb_plot_drawing_fini(struct gcb_plot_drawing *drawing)
{
    for (int i = 0; i < GCB_PLOT_FILES; i++)
        free(drawing->files[i].bytes); /* open_memstream allocates with malloc */
    *drawing = (struct gcb_plot_drawing){.drawn = false};
}
