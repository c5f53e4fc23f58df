#include "src/tool/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/temp.h"
#include "src/tool/base/tidy.h"

#define POLL_MS 50      /* milliseconds between two calls of `stop` */
#define GRACE_SECONDS 2 /* wait between SIGTERM and SIGKILL */

extern char **environ;

static bool must_end(struct gcb_child *c)
{
    if (!c->stopped && c->limits.stop && c->limits.stop(c->limits.ctx))
        c->stopped = true;
    if (!c->late && c->deadline > 0.0 && gcb_clock() > c->deadline)
        c->late = true;
    return c->late || c->stopped;
}

static ssize_t read_child(void *cookie, char *buffer, size_t size)
{
    struct gcb_child *c = cookie;
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    ssize_t n = -1;

    do {
        if (must_end(c)) {
            errno = ECANCELED;
            return -1;
        }
        if (poll(&p, 1, POLL_MS) <= 0)
            continue;
        n = read(c->fd, buffer, size);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return -1;
    } while (n < 0);
    return n;
}

static int close_child(void *cookie)
{
    struct gcb_child *c = cookie;

    return close(c->fd);
}

static int spawn(struct gcb_child *c, char *const *argv, int out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t how;
    sigset_t signals, before;
    int err = 0;

    sigemptyset(&signals);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, fileno(c->errs), 2);
    if (c->limits.folder)
        err = posix_spawn_file_actions_addchdir_np(&actions, c->limits.folder);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&how, &signals);
    gcb_tidy_hold(&before);
    if (!err)
        err = (c->limits.search ? posix_spawnp : posix_spawn)(&c->pid, argv[0], &actions, &how,
                                                              argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&how);
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
    int ends[2] = {-1, -1}, err = 0, status;

    memset(c, 0, sizeof(*c));
    gcb_escape(c->name, sizeof(c->name), argv[0]);
    c->limits = *limits;
    c->deadline = limits->seconds > 0.0 ? gcb_clock() + limits->seconds : 0.0;
    c->errs = gcb_temp_file();
    if (!c->errs || pipe2(ends, O_CLOEXEC))
        err = errno;
    c->fd = ends[0];
    if (!err)
        c->out = fopencookie(c, "r", functions);
    if (!err && !c->out)
        err = errno;
    if (!err)
        err = spawn(c, argv, ends[1]);
    if (ends[1] >= 0)
        close(ends[1]);
    if (!c->out && ends[0] >= 0)
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

/* Waits at most `seconds`, with `limited` also at most until the child's limits. Returns false if
 * it still runs. */
static bool wait_for_end(struct gcb_child *c, int *how, double seconds, bool limited)
{
    const double until = gcb_clock() + seconds;
    struct rusage used = {.ru_maxrss = 0};

    while (wait4(c->pid, how, WNOHANG, &used) == 0) {
        if (gcb_clock() > until || (limited && must_end(c)))
            return false;
        poll(NULL, 0, 2);
    }
    c->cpu = to_seconds(used.ru_utime) + to_seconds(used.ru_stime);
    return true;
}

static int end_process(struct gcb_child *c)
{
    int how = 0;

    if (!must_end(c) && wait_for_end(c, &how, INFINITY, true))
        return how;
    kill(-c->pid, SIGTERM);
    if (!wait_for_end(c, &how, GRACE_SECONDS, false)) {
        kill(-c->pid, SIGKILL);
        wait_for_end(c, &how, INFINITY, false);
    }
    return how;
}

/* Copies the last line of the child's standard error, escaped. */
static void read_last_line(char *out, size_t size, FILE *errs)
{
    char line[256], last[256] = "";

    rewind(errs);
    while (fgets(line, sizeof(line), errs)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0])
            memcpy(last, line, sizeof(last));
    }
    gcb_escape(out, size, last);
}

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
        /* Read the rest: a child that writes to a full pipe would never end. */
        if (c->out && !feof(c->out) && !ferror(c->out))
            while (fgetc(c->out) != EOF)
                ;
        how = end_process(c);
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
