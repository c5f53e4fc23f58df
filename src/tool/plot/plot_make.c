#include "src/tool/plot/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/child.h"
#include "src/tool/base/data.h"
#include "src/tool/base/temp.h"
#include "src/tool/base/tidy.h"
#include "src/tool/plot/plot_page.h"
#include "src/tool/write/outfile.h"

const char *const gcb_plot_type_names[] = {"png", "svg", "pdf", "txt", NULL};

static int fail(struct gcb_diag *diag, const char *path)
{
    char shown[256];
    const int why = errno;

    return gcb_diag_set(diag, GCB_E_IO, "%s: %s", gcb_escape(shown, sizeof(shown), path),
                        strerror(why));
}

/* ---- gnuplot ---- */

extern char **environ;

/*
 * Makes gnuplot's environment: that of this process, which says where programs and fonts are, without the user's settings
 * of gnuplot. GNUTERM=x11, for example, would end a gnuplot without X11 before it reads the script. NULL: out of memory. The
 * caller frees the array; the strings are borrowed.
 */
static char **plain_environment(void)
{
    static const char *const settings[] = {"GNU", "FIT_", "GDFONTPATH="};
    size_t count = 0, n = 0;
    char **out;

    while (environ[count])
        count++;
    out = gcb_alloc_array(count + 1, sizeof(*out));
    for (size_t i = 0; out && i <= count; i++) {
        bool plain = true;

        for (size_t k = 0; environ[i] && k < sizeof(settings) / sizeof(settings[0]); k++)
            plain = plain && strncmp(environ[i], settings[k], strlen(settings[k])) != 0;
        if (plain)
            out[n++] = environ[i];
    }
    return out;
}

/* Finds gnuplot's error message. Before it, gnuplot prints the faulty line of the script and a mark below this line. */
static void read_complaint(char *out, size_t size, FILE *from)
{
    char line[512];

    out[0] = '\0';
    rewind(from);
    while (fgets(line, sizeof(line), from)) {
        line[strcspn(line, "\n")] = '\0';
        if (strstr(line, "line ") && strchr(line, ':')) {
            gcb_escape(out, size, line);
            return;
        }
        if (!out[0])
            gcb_escape(out, size, line);
    }
}

/*
 * Runs `gnuplot -d SCRIPT` in a folder and waits until it ends. It does not read the user's own settings. If gnuplot is not
 * installed, returns GCB_E_UNSUPPORTED with a message that says what to install. If gnuplot fails, returns GCB_E_IO with its
 * error message.
 */
static int run_gnuplot(const char *folder, const char *script, struct gcb_diag *diag)
{
    char *const argv[] = {(char[]){"gnuplot"}, (char[]){"-d"}, (char *)(uintptr_t)script, NULL};
    char **environment = plain_environment();
    const struct gcb_child_limits limits = {
        .search = true, .folder = folder, .environment = environment, .quote = read_complaint};
    struct gcb_child child;
    int err;

    if (!environment)
        return gcb_diag_nomem(diag, 0, "gnuplot's environment");
    err = gcb_child_start(&child, argv, &limits, diag);
    if (err == GCB_E_UNSUPPORTED)
        err = gcb_diag_set(diag, err,
                           "gnuplot, which draws the plots, is not installed (Debian: apt install "
                           "gnuplot-nox)");
    else if (!err)
        err = gcb_child_finish(&child, NULL, diag);
    gcb_free(environment);
    return err;
}

static bool same_folder(const char *a, const char *b)
{
    struct stat s, t;

    return stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

bool gcb_plot_is_source(const char *folder)
{
    char scripts[GCB_DATA_PATH];

    return (gcb_data_path(scripts, GCB_DATA_SOURCE, "plots") && same_folder(folder, scripts)) ||
           (gcb_data_path(scripts, GCB_DATA_INSTALLED, "plots") && same_folder(folder, scripts));
}

static FILE *open_script(const char *name, struct gcb_diag *diag)
{
    char file[64], path[GCB_DATA_PATH] = "";
    FILE *f;

    snprintf(file, sizeof(file), "plots/%s.gp", name);
    gcb_data_find(path, file);
    f = fopen(path, "re");
    if (!f)
        fail(diag, path);
    return f;
}

static int copy_script(FILE *out, const char *name, struct gcb_diag *diag)
{
    FILE *f = open_script(name, diag);
    char buffer[4096];
    size_t n;
    int failed;

    if (!f)
        return GCB_E_IO;
    while ((n = fread(buffer, 1, sizeof(buffer), f)) > 0)
        fwrite(buffer, 1, n, out);
    failed = ferror(f);
    fclose(f);
    return failed ? gcb_diag_set(diag, GCB_E_IO, "%s.gp: cannot be read", name) : 0;
}

/*
 * Writes a whole gnuplot script for a page: the page's variables, the settings that all plots share (plots/style.gp),
 * and the plot's own script (plots/NAME.gp). When gnuplot runs it in some folder, it reads STEM.csv and writes
 * STEM.<type> there. Returns GCB_E_IO if the scripts in plots/ cannot be read.
 */
static int write_script(FILE *out, const char *plot, const char *stem, const char *type,
                        const struct gcb_plot_page *page, struct gcb_diag *diag)
{
    int err;

    fprintf(out,
            "# To draw this plot again: gnuplot %s.gp\n"
            "# This script has three parts: the values of this page, the settings that all plots "
            "share, and the plot itself. Change what you like.\n"
            "plot_type = '%s'\nplot_output = '%s.%s'\nplot_data = '%s.csv'\n%s\n",
            stem, type, stem, type, stem, page->vars_text);
    err = copy_script(out, "style", diag);
    fputc('\n', out);
    return err ? err : copy_script(out, plot, diag);
}

/* ---- a page ---- */

#define STEM 64

/*
 * A page is drawn in a temporary folder inside the job's folder. So gnuplot runs exactly the script that the user
 * keeps, which has the final names of image and data.
 */
struct work {
    char stem[STEM];
    char *folder;
    char *paths[GCB_PLOT_FILES];    /* the files in the temporary folder */
    int places[GCB_PLOT_FILES + 1]; /* results of gcb_tidy_enter for the files and the folder */
};

static char *join_path(const char *folder, const char *name, const char *end)
{
    const size_t size = strlen(folder) + strlen(name) + strlen(end) + 3;
    char *path = gcb_alloc(size);

    if (path)
        snprintf(path, size, "%s/%s%s%s", folder, name, *end ? "." : "", end);
    return path;
}

/* Sets a message for errno that names the file by its final path, without the temporary folder. */
static int fail_page(struct gcb_diag *diag, const struct work *w, int which)
{
    const int why = errno, folder = (int)(strrchr(w->folder, '/') - w->folder);
    char path[4096];

    snprintf(path, sizeof(path), "%.*s%s", folder, w->folder, strrchr(w->paths[which], '/'));
    errno = why;
    return fail(diag, path);
}

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

/* Writes the name of a page: the plot's name, with "-1", "-2" and so on if there are several pages. */
static void name_page(char stem[STEM], const struct gcb_plot *plot,
                      const struct gcb_plot_data *data, size_t page)
{
    if (gcb_plot_pages(plot, data) > 1)
        snprintf(stem, STEM, "%s-%zu", plot->name, page + 1);
    else
        snprintf(stem, STEM, "%s", plot->name);
}

static int work_init(struct work *w, const char *folder, const char *type, struct gcb_diag *diag)
{
    char *made = gcb_temp_make_folder(folder);

    if (!made)
        return fail(diag, folder);
    w->folder = made;
    w->places[GCB_PLOT_FILES] = gcb_tidy_enter(made);
    w->paths[GCB_PLOT_IMAGE] = join_path(made, w->stem, type);
    w->paths[GCB_PLOT_SCRIPT] = join_path(made, w->stem, "gp");
    w->paths[GCB_PLOT_DATA] = join_path(made, w->stem, "csv");
    for (int i = 0; i < GCB_PLOT_FILES; i++) {
        if (!w->paths[i])
            return gcb_diag_nomem(diag, 0, "a file name");
        w->places[i] = gcb_tidy_enter(w->paths[i]);
    }
    return 0;
}

/* Writes the data or the script. */
static int write_file(const struct work *w, int which, const struct gcb_plot_job *job,
                      const struct gcb_plot_page *page, struct gcb_diag *diag)
{
    FILE *f = fopen(w->paths[which], "wxe");
    bool failed;
    int err = 0;

    if (!f)
        return fail_page(diag, w, which);
    if (which == GCB_PLOT_DATA)
        fwrite(page->csv_text, 1, page->csv_size, f);
    else
        err = write_script(f, job->plot->script ? job->plot->script : job->plot->name, w->stem,
                           gcb_plot_type_names[job->type], page, diag);
    failed = ferror(f) != 0;
    failed |= fclose(f) != 0;
    return failed && !err ? fail_page(diag, w, which) : err;
}

/* Fills the page and writes its data and its script. */
static int prepare(struct work *w, const struct gcb_plot_job *job, struct gcb_diag *diag)
{
    struct gcb_plot_page page = {
        .plot = job->plot,
        .data = job->data,
        .first = gcb_plot_first(job->plot, job->data, job->page),
    };
    int err;

    if (!page.first)
        return gcb_diag_set(diag, GCB_E_INVALID, "there is no such page");
    err = gcb_plot_page_open(&page, diag);
    if (!err)
        err = gcb_plot_page_fill(&page, diag);
    if (!err)
        err = gcb_plot_page_close(&page, diag);
    if (!err)
        err = work_init(w, job->folder, gcb_plot_type_names[job->type], diag);
    if (!err)
        err = write_file(w, GCB_PLOT_DATA, job, &page, diag);
    if (!err)
        err = write_file(w, GCB_PLOT_SCRIPT, job, &page, diag);
    gcb_plot_page_fini(&page);
    return err;
}

/* True if the file ends as an image of this type does. On a full disk gnuplot writes a part of the image and succeeds. */
static bool is_complete(const char *path, enum gcb_plot_type type)
{
    static const char *const ends[GCB_PLOT_TYPES] = {
        [GCB_PLOT_PNG] = "IEND",
        [GCB_PLOT_SVG] = "</svg>",
        [GCB_PLOT_PDF] = "%%EOF",
        [GCB_PLOT_TEXT] = "\n",
    };
    char tail[32] = "";
    FILE *f = fopen(path, "rbe");
    size_t n = 0;

    if (f && fseek(f, -(long)sizeof(tail), SEEK_END) == 0)
        n = fread(tail, 1, sizeof(tail), f);
    if (f)
        fclose(f);
    return memmem(tail, n, ends[type], strlen(ends[type])) != NULL;
}

static int draw(const struct work *w, enum gcb_plot_type type, struct gcb_diag *diag)
{
    const char *slash = strrchr(w->paths[GCB_PLOT_SCRIPT], '/');
    const int err = run_gnuplot(w->folder, slash + 1, diag);

    if (err || is_complete(w->paths[GCB_PLOT_IMAGE], type))
        return err;
    return gcb_diag_set(diag, GCB_E_IO, "gnuplot did not finish the image; is the disk full?");
}

/* Moves a file from the temporary folder to its final path, and sets *out to that path. */
static int deliver(char **out, struct gcb_outfile *file, const struct work *w, int which,
                   const char *folder, struct gcb_diag *diag)
{
    if (rename(w->paths[which], file->temp_path) != 0)
        return fail(diag, file->final_path);
    *out = join_path(folder, strrchr(w->paths[which], '/') + 1, "");
    return *out ? gcb_outfile_commit(file, diag) : gcb_diag_nomem(diag, 0, "a file name");
}

static int reserve(struct gcb_outfile files[GCB_PLOT_FILES], const struct gcb_plot_job *job,
                   const char *stem, struct gcb_diag *diag)
{
    const char *const ends[GCB_PLOT_FILES] = {gcb_plot_type_names[job->type], "gp", "csv"};
    int err = 0;

    for (int i = 0; !err && i < GCB_PLOT_FILES; i++) {
        char *path = join_path(job->folder, stem, ends[i]);

        err = path ? gcb_outfile_init(&files[i], path, job->force, NULL, 0, diag)
                   : gcb_diag_nomem(diag, 0, "a file name");
        gcb_free(path);
    }
    return err;
}

int gcb_plot_make(struct gcb_plot_paths *out, const struct gcb_plot_job *job, struct gcb_diag *diag)
{
    struct gcb_outfile files[GCB_PLOT_FILES] = {{.temp_path = NULL}};
    struct work w = {.folder = NULL};
    int err, drawn;

    *out = (struct gcb_plot_paths){.path = {NULL}};
    name_page(w.stem, job->plot, job->data, job->page);
    err = reserve(files, job, w.stem, diag);
    if (!err)
        err = prepare(&w, job, diag);
    if (err)
        goto out;
    drawn = draw(&w, job->type, diag);
    for (int i = GCB_PLOT_FILES; !err && i-- > (drawn ? GCB_PLOT_SCRIPT : GCB_PLOT_IMAGE);)
        err = deliver(&out->path[i], &files[i], &w, i, job->folder, diag);
    err = err ? err : drawn;
out:
    for (int i = 0; i < GCB_PLOT_FILES; i++)
        gcb_outfile_fini(&files[i]);
    work_fini(&w);
    return err;
}

void gcb_plot_paths_fini(struct gcb_plot_paths *paths)
{
    for (int i = 0; i < GCB_PLOT_FILES; i++)
        gcb_free(paths->path[i]);
}

/* Reads a whole text file, which must not be empty and must not contain NUL. */
static int read_whole(char **out, const char *path, struct gcb_diag *diag)
{
    FILE *f = fopen(path, "re");
    size_t size = 0;
    ssize_t length;

    if (!f)
        return fail(diag, path);
    length = getdelim(out, &size, '\0', f);
    fclose(f);
    return length > 0 ? 0 : gcb_diag_nomem(diag, 0, "a picture");
}

/* Removes the leading form feed, empty lines around the picture, and blanks at the ends of lines. */
static void trim(char *text)
{
    const char *next = text;
    char *to = text;
    size_t empty = 0; /* empty lines not yet written; those at the end are dropped */

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
        for (; empty && to > text; empty--)
            *to++ = '\n';
        empty = 0;
        memmove(to, line, n);
        to += n;
        *to++ = '\n';
    }
    *to = '\0';
}

int gcb_plot_draw(char **out, const struct gcb_plot_job *job, struct gcb_diag *diag)
{
    struct work w = {.folder = NULL};
    int err;

    *out = NULL;
    name_page(w.stem, job->plot, job->data, job->page);
    err = prepare(&w, job, diag);
    if (!err)
        err = draw(&w, job->type, diag);
    if (!err)
        err = read_whole(out, w.paths[GCB_PLOT_IMAGE], diag);
    if (!err && job->type == GCB_PLOT_TEXT)
        trim(*out);
    work_fini(&w);
    return err;
}
