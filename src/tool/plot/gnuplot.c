#include "src/tool/plot/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/temp.h"
#include "src/tool/base/tidy.h"
#include "src/tool/gcb_build.h"
#include "src/tool/plot/plot.h"

extern char **environ; /* given to gnuplot: it says where programs and fonts are */

/* Reads gnuplot's error message, which follows the line of the script and a mark below that line. */
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

/* Returns 0 or errno. `mask`: the signals that the child is to block. */
static int spawn(pid_t *child, const char *folder, const char *script, int complaints,
                 const sigset_t *mask)
{
    char *const argv[] = {(char[]){"gnuplot"}, (char[]){"-d"}, (char *)(uintptr_t)script, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int err = posix_spawn_file_actions_init(&actions);

    if (err)
        return err;
    err = posix_spawnattr_init(&attributes);
    if (err) {
        posix_spawn_file_actions_destroy(&actions);
        return err;
    }
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); /* ignored here, and the child would inherit that */
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, mask);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    err = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (!err)
        err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!err)
        err = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (!err)
        err = posix_spawn_file_actions_adddup2(&actions, complaints, 2);
    if (!err)
        err = posix_spawnp(child, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return err;
}

/* `place` is what gcb_tidy_enter_child returned. */
static int wait_for(pid_t child, int place, FILE *complaints, struct gcb_diag *diag)
{
    char words[256];
    int status, why;

    do
        why = waitpid(child, &status, 0) < 0 ? errno : 0;
    while (why == EINTR);
    gcb_tidy_leave_child(place);
    if (why)
        return gcb_diag_set(diag, GCB_E_IO, "gnuplot: %s", strerror(why));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFSIGNALED(status))
        return gcb_diag_set(diag, GCB_E_IO, "gnuplot was ended by a signal (%s)",
                            strsignal(WTERMSIG(status)));
    /* some C libraries start a child before they look for the program, which then exits as a shell would */
    if (WEXITSTATUS(status) == 127)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "gnuplot cannot be started");
    read_complaint(words, sizeof(words), complaints);
    return gcb_diag_set(diag, GCB_E_IO, "gnuplot failed: %s",
                        words[0] ? words : "it gave no reason");
}

int gcb_gnuplot_run(const char *folder, const char *script, struct gcb_diag *diag)
{
    FILE *complaints = gcb_temp_file();
    sigset_t before;
    pid_t child;
    int err, place = -1;

    if (!complaints)
        return gcb_diag_set(diag, GCB_E_IO, "cannot make a temporary file: %s", strerror(errno));
    gcb_tidy_hold(&before);
    err = spawn(&child, folder, script, fileno(complaints), &before);
    if (!err)
        place = gcb_tidy_enter_child(child);
    gcb_tidy_let_go(&before);
    if (err == ENOENT || err == EACCES)
        err = gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                           "gnuplot, which draws the plots, is not installed (Debian: apt install "
                           "gnuplot-nox)");
    else if (err)
        err = gcb_diag_set(diag, GCB_E_IO, "gnuplot: %s", strerror(err));
    else
        err = wait_for(child, place, complaints, diag);
    fclose(complaints);
    return err;
}

#define PATH_BYTES 4096

/* The folder of the installed scripts, which is found from the folder of the command. False: too long, or unknown. */
static bool installed_folder(char *out, size_t size)
{
    const char *folder = GCB_BUILD_PLOTS;
    char command[PATH_BYTES];
    ssize_t length;
    int n;

    if (folder[0] == '/' && strncmp(folder, "/..", 3) != 0)
        return snprintf(out, size, "%s", folder) < (int)size;
    length = readlink("/proc/self/exe", command, sizeof(command) - 1);
    if (length <= 0)
        return false;
    command[length] = '\0';
    *strrchr(command, '/') = '\0';
    n = snprintf(out, size, "%s/%s", command, folder);
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

int gcb_gnuplot_write(FILE *out, const char *plot, const char *stem, const char *type,
                      const struct gcb_plot_page *page, struct gcb_diag *diag)
{
    int err;

    fprintf(out,
            "# To draw it again: gnuplot %s.gp\n"
            "# First the values of this page, then what all plots share, then the plot itself. "
            "Change what you like.\n"
            "plot_type = '%s'\nplot_output = '%s.%s'\nplot_data = '%s.dat'\n%s\n",
            stem, type, stem, type, stem, page->vars_text);
    err = copy_script(out, "style", diag);
    fputc('\n', out);
    return err ? err : copy_script(out, plot, diag);
}
