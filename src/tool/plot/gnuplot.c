#include "src/tool/plot/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/tidy.h"

extern char **environ; /* handed on: the way to programs and fonts is in it */

/* The first line that says something: gnuplot shows the line of the script and a mark below it first. */
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

/* errno of what failed; the program's number goes to *child. `mask` is the signals that it is to hold. */
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
    sigaddset(&defaults, SIGPIPE); /* ignored here, and that would be inherited */
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

/* `place` is that of gcb_tidy_enter_child. */
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
    /* the shell's code, and that of C libraries that start a child before they look for the program */
    if (WEXITSTATUS(status) == 127)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "gnuplot cannot be started");
    read_complaint(words, sizeof(words), complaints);
    return gcb_diag_set(diag, GCB_E_IO, "gnuplot failed: %s", words[0] ? words : "it said nothing");
}

int gcb_gnuplot_run(const char *folder, const char *script, struct gcb_diag *diag)
{
    FILE *complaints = tmpfile();
    sigset_t before;
    pid_t child;
    int err, place = -1;

    if (!complaints)
        return gcb_diag_set(diag, GCB_E_IO, "a temporary file: %s", strerror(errno));
    fcntl(fileno(complaints), F_SETFD, FD_CLOEXEC);
    gcb_tidy_hold(&before);
    err = spawn(&child, folder, script, fileno(complaints), &before);
    if (!err)
        place = gcb_tidy_enter_child(child);
    gcb_tidy_let_go(&before);
    if (err == ENOENT || err == EACCES)
        err =
            gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                         "plots are drawn by gnuplot, which is not installed (Debian: apt install "
                         "gnuplot-nox)");
    else if (err)
        err = gcb_diag_set(diag, GCB_E_IO, "gnuplot: %s", strerror(err));
    else
        err = wait_for(child, place, complaints, diag);
    fclose(complaints);
    return err;
}
