#include "src/tool/plot/plot_script.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/lib/base/text.h"
#include "src/tool/gcb_build.h"
#include "src/tool/plot/plot.h"

#define PATH_BYTES 4096

static const char here; /* a place inside the library */

/* "FOLDER/plots..." as installed with the library that is loaded. False: too long, or unknown. */
static bool installed_folder(char *out, size_t size)
{
    const char *folder = GCB_BUILD_PLOTS, *slash;
    Dl_info info;
    int n;

    if (folder[0] == '/' && strncmp(folder, "/..", 3) != 0)
        return snprintf(out, size, "%s", folder) < (int)size;
    if (!dladdr(&here, &info) || !info.dli_fname)
        return false;
    slash = strrchr(info.dli_fname, '/');
    if (!slash)
        return false;
    n = snprintf(out, size, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname, folder);
    return n > 0 && (size_t)n < size;
}

static bool same_folder(const char *a, const char *b)
{
    struct stat s, t;

    return stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

bool gcb_plot_is_source(const char *folder)
{
    char installed[PATH_BYTES];

    return same_folder(folder, GCB_BUILD_PLOTS_SOURCE) ||
           (installed_folder(installed, sizeof(installed)) && same_folder(folder, installed));
}

static FILE *open_script(const char *name, struct gcb_diag *diag)
{
    char folder[PATH_BYTES], path[PATH_BYTES + 64], shown[256];
    FILE *f = NULL;

    if (installed_folder(folder, sizeof(folder))) {
        snprintf(path, sizeof(path), "%s/%s.gp", folder, name);
        f = fopen(path, "re");
    }
    if (f)
        return f;
    snprintf(path, sizeof(path), "%s/%s.gp", GCB_BUILD_PLOTS_SOURCE, name);
    f = fopen(path, "re");
    if (!f)
        gcb_diag_set(diag, GCB_E_IO, "%s: %s", gcb_escape(shown, sizeof(shown), path),
                     strerror(errno));
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

int gcb_plot_script_write(FILE *out, const char *plot, const char *stem, const char *type,
                          const struct gcb_plot_page *page, struct gcb_diag *diag)
{
    int err;

    fprintf(out,
            "# Drawn again by: gnuplot %s.gp\n"
            "# What this page shows comes first, then what all plots share, then the plot itself: "
            "change what you like.\n"
            "plot_type = '%s'\nplot_output = '%s.%s'\nplot_data = '%s.dat'\n%s\n",
            stem, type, stem, type, stem, page->vars_text);
    err = copy_script(out, "style", diag);
    fputc('\n', out);
    return err ? err : copy_script(out, plot, diag);
}
