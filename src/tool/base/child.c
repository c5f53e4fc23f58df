#include "src/tool/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/temp.h"
#include "src/tool/base/tidy.h"

#define POLL_MS 50      /* most milliseconds between two checks of the limits while reading */
#define EXIT_POLL_MS 2  /* milliseconds between two checks whether the child has ended */
#define GRACE_SECONDS 2 /* wait between SIGTERM and SIGKILL */

extern char **environ;

/* True if the child has reached a limit. Stores in `c` which limit it was. */
static bool must_end(struct gcb_child *c)
{
    if (!c->stopped && c->limits.stop && c->limits.stop(c->limits.ctx))
        c->stopped = true;
    if (!c->late && c->deadline > 0.0 && gcb_clock() > c->deadline)
        c->late = true;
    return c->late || c->stopped;
}

/* Reads from the pipe, for fopencookie. Fails with ECANCELED once the child reaches a limit. */
static ssize_t read_child(void *cookie, char *buffer, size_t size)
{
    struct gcb_child *c = cookie;
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    while (!must_end(c)) {
        ssize_t n;

        if (poll(&p, 1, POLL_MS) <= 0)
            continue;
        n = read(c->fd, buffer, size);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n;
    }
    errno = ECANCELED;
    return -1;
}

static int close_child(void *cookie)
{
    struct gcb_child *c = cookie;

    return close(c->fd);
}

/* Starts the process in a process group of its own, with the descriptor `out` as its standard
 * output, and as its standard input if it talks. The process blocks no signals, and SIGPIPE ends
 * it. Returns 0 or a value of errno. */
static int spawn(struct gcb_child *c, char *const *argv, int out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, pipe_only, before;
    int err = 0;

    sigemptyset(&none);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    if (c->limits.talks)
        posix_spawn_file_actions_adddup2(&actions, out, 0);
    else
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, fileno(c->errs), 2);
    if (c->limits.folder)
        err = posix_spawn_file_actions_addchdir_np(&actions, c->limits.folder);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &pipe_only);
    gcb_tidy_hold(&before);
    if (!err && c->limits.search)
        err = posix_spawnp(&c->pid, argv[0], &actions, &attributes, argv, environ);
    else if (!err)
        err = posix_spawn(&c->pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (err)
        c->pid = 0;
    else
        c->tidy_place = gcb_tidy_enter_child(-c->pid);
    gcb_tidy_let_go(&before);
    return err;
}

int gcb_child_start(struct gcb_child *c, char *const *argv, const struct gcb_child_limits *limits,
                    struct gcb_diag *diag)
{
    static const cookie_io_functions_t functions = {.read = read_child, .close = close_child};
    int ends[2] = {-1, -1}, err, status;

    memset(c, 0, sizeof(*c));
    gcb_escape(c->name, sizeof(c->name), argv[0]);
    c->limits = *limits;
    c->deadline = limits->seconds > 0.0 ? gcb_clock() + limits->seconds : 0.0;
    c->errs = gcb_temp_file();
    if (!c->errs || (limits->talks ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
                                   : pipe2(ends, O_CLOEXEC))) {
        err = errno;
        goto out;
    }
    c->fd = ends[0];
    if (limits->talks) /* so that the caller can empty the file while the child writes */
        fcntl(fileno(c->errs), F_SETFL, O_APPEND);
    else
        c->out = fopencookie(c, "r", functions);
    err = c->out || limits->talks ? spawn(c, argv, ends[1]) : errno;
out:
    if (ends[1] >= 0)
        close(ends[1]);
    if (!c->out && ends[0] >= 0 && (err || !limits->talks))
        close(ends[0]);
    if (!err)
        return 0;
    gcb_child_finish(c, NULL, NULL);
    status = limits->search && (err == ENOENT || err == EACCES) ? GCB_E_UNSUPPORTED : GCB_E_IO;
    return gcb_diag_set(diag, status, "%s: cannot be run: %s", c->name, strerror(err));
}

static double to_seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Reaps the child if it has ended: stores its wait status and its processor time. Otherwise sleeps
 * for EXIT_POLL_MS and returns false. */
static bool reap(struct gcb_child *c, int *how)
{
    struct rusage used = {.ru_maxrss = 0};

    if (wait4(c->pid, how, WNOHANG, &used) == 0) {
        poll(NULL, 0, EXIT_POLL_MS);
        return false;
    }
    c->cpu = to_seconds(used.ru_utime) + to_seconds(used.ru_stime);
    return true;
}

/* Waits for the child, and ends it once it reaches a limit. Returns the wait status. */
static int wait_for_end(struct gcb_child *c)
{
    double until;
    int how = 0;

    while (!must_end(c))
        if (reap(c, &how))
            return how;
    kill(-c->pid, SIGTERM);
    until = gcb_clock() + GRACE_SECONDS;
    while (!reap(c, &how))
        if (gcb_clock() > until)
            kill(-c->pid, SIGKILL);
    return how;
}

/* Copies the last line of the child's standard error that is not empty, escaped and cut. Writes ""
 * if there is none. */
static void read_last_line(char *out, size_t size, FILE *errs)
{
    char part[256], last[256] = "";
    bool begins = true; /* `part` begins a line */

    rewind(errs);
    while (fgets(part, sizeof(part), errs)) {
        const size_t end = strcspn(part, "\n");
        const bool first = begins;

        begins = part[end] == '\n';
        part[end] = '\0';
        if (first && part[0])
            memcpy(last, part, sizeof(last));
    }
    gcb_escape(out, size, last);
}

/* Returns 0 if the child reached no limit and exited with 0. Otherwise returns GCB_E_IO with a
 * message that says how the child ended. `how` is the wait status. */
static int check_exit(const struct gcb_child *c, int how, struct gcb_diag *diag)
{
    char words[300];

    if (c->stopped)
        return gcb_diag_set(diag, GCB_E_IO, "interrupted");
    if (c->late)
        return gcb_diag_set(diag, GCB_E_IO, "%s: did not end within %.3g s", c->name,
                            c->limits.seconds);
    read_last_line(words, sizeof(words), c->errs);
    if (WIFSIGNALED(how))
        return gcb_diag_set(diag, GCB_E_IO, "%s: ended by signal %d (%s)%s%s", c->name,
                            WTERMSIG(how), strsignal(WTERMSIG(how)), words[0] ? ": " : "", words);
    if (WEXITSTATUS(how))
        return gcb_diag_set(diag, GCB_E_IO, "%s: exit status %d%s%s", c->name, WEXITSTATUS(how),
                            words[0] ? ": " : "", words);
    return 0;
}

int gcb_child_finish(struct gcb_child *c, int *status, struct gcb_diag *diag)
{
    int err = 0, how = 0;

    if (c->pid > 0) {
        if (c->limits.talks) /* the end of its input tells the child to end */
            close(c->fd);
        /* Read the rest, because a child that writes to a full pipe does not end. */
        if (c->out && !feof(c->out) && !ferror(c->out))
            while (fgetc(c->out) != EOF)
                ;
        how = wait_for_end(c);
        gcb_tidy_leave_child(c->tidy_place);
        err = check_exit(c, how, diag);
    }
    if (status)
        *status = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
    if (c->out)
        fclose(c->out);
    if (c->errs)
        fclose(c->errs);
    c->pid = 0;
    c->out = c->errs = NULL;
    return err;
}
