#include "tests/gpu/check_apart.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_DEVICE 3

bool check_failed(const struct outcome *o)
{
    return strcmp(o->status, "failed") == 0;
}

static void fail(struct outcome *o, size_t at, const char *reason)
{
    *o = (struct outcome){.at = at, .status = "failed"};
    snprintf(o->reason, sizeof(o->reason), "%s", reason);
}

static void run(const struct checking *what, struct outcome *o, size_t at)
{
    fail(o, at, "");
    what->run(what->ctx, o, at);
}

/* The child: runs checks from number `at` on until one fails, and sends each outcome to the
 * parent. */
static int be_child(const struct checking *what, size_t at, int to)
{
    struct outcome o = {.at = at};

    if (what->open(what->ctx))
        return NO_DEVICE;
    for (; at < what->count && !check_failed(&o); at++) {
        run(what, &o, at);
        if (write(to, &o, sizeof(o)) !=
            (ssize_t)sizeof(o)) /* shorter than PIPE_BUF, so written at once */
            return 1;
    }
    fflush(NULL);
    return 0;
}

/* Stores the outcomes that a child sends; *at is the number after the last one. False: the child
 * sent nothing for `patience` seconds. */
static bool hear(const struct checking *what, int from, struct outcome *out, size_t *at)
{
    struct pollfd fd = {.fd = from, .events = POLLIN};
    struct outcome o;

    for (;;) {
        const int ready = poll(&fd, 1, (int)what->patience * 1000);

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return false;
        if (ready < 0 || read(from, &o, sizeof(o)) != (ssize_t)sizeof(o) || o.at >= what->count)
            return true;
        out[o.at] = o;
        if (what->done)
            what->done(what->ctx, &o);
        *at = o.at + 1;
    }
}

/* Sets the outcome of the check during which the child ended without sending one. */
static void set_silent_failure(struct outcome *o, size_t at, bool heard, int status,
                               unsigned patience)
{
    char words[64];

    if (!heard)
        snprintf(words, sizeof(words), "no end in %u s", patience);
    else if (WIFSIGNALED(status))
        snprintf(words, sizeof(words), "ended by signal %d", WTERMSIG(status));
    else
        snprintf(words, sizeof(words), "ended with status %d", WEXITSTATUS(status));
    fail(o, at, words);
}

/* Runs one child from check *at on. *at becomes the number after the last check that it started. */
static int run_child(const struct checking *what, struct outcome *out, size_t *at)
{
    size_t next = *at;
    int fds[2], status = 0;
    bool heard;
    pid_t child;

    fflush(NULL); /* otherwise the child would write the buffered output a second time */
    if (pipe(fds))
        return 1;
    child = fork();
    if (child == 0) {
        close(fds[0]);
        _exit(be_child(what, next, fds[1]));
    }
    close(fds[1]);
    heard = child < 0 || hear(what, fds[0], out, &next);
    close(fds[0]);
    if (child < 0)
        return 1;
    if (!heard)
        kill(child, SIGKILL);
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_DEVICE)
        return NO_DEVICE;
    if (next < what->count && (next == *at || !check_failed(&out[next - 1]))) {
        set_silent_failure(&out[next], next, heard, status, what->patience);
        if (what->done)
            what->done(what->ctx, &out[next]);
        next++;
    }
    *at = next;
    return 0;
}

int check_apart(const struct checking *what, struct outcome *out)
{
    int err = 0;

    for (size_t at = 0; at < what->count && !err;)
        err = run_child(what, out, &at);
    return err;
}

int check_alone(const struct checking *what, struct outcome *out)
{
    if (what->open(what->ctx))
        return NO_DEVICE;
    for (size_t at = 0; at < what->count; at++) {
        run(what, &out[at], at);
        if (what->done)
            what->done(what->ctx, &out[at]);
    }
    return 0;
}
