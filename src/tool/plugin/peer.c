#include "src/tool/plugin/peer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"

#define POLL_MS 50            /* most milliseconds between checks of the clock while waiting */
#define MOST_ERRORS (1 << 20) /* if standard error has more bytes, all are dropped */
#define MOST_TEXT 200         /* room for the text of an answer in a message */
#define MOST_STATUS 255       /* largest status of an answer */
#define END_SECONDS 1.0       /* time that a process has to end after its input has ended */

/* How a transfer ends. END_CLOSED: the socket is closed or fails. END_LATE: after the time limit.
 * END_WRONG: with bytes that are no answer. */
enum end { END_DONE, END_CLOSED, END_LATE, END_WRONG };

/* Empties the file of the process's standard error if it has more than MOST_ERRORS bytes. */
static void trim_errors(const struct gcb_peer *p)
{
    struct stat s;

    if (p->argv && fstat(fileno(p->child.errs), &s) == 0 && s.st_size > MOST_ERRORS)
        (void)!ftruncate(fileno(p->child.errs), 0);
}

/* Waits until the socket is ready for `events`. Returns END_DONE or END_LATE. */
static enum end await(const struct gcb_peer *p, short events, double until)
{
    struct pollfd poller = {.fd = p->fd, .events = events};

    while (gcb_clock() <= until) {
        trim_errors(p);
        if (poll(&poller, 1, POLL_MS) > 0)
            return END_DONE;
    }
    return END_LATE;
}

/* Sends n bytes of `from` or, if `from` is NULL, receives n bytes to `to`. */
static enum end transfer(const struct gcb_peer *p, const void *from, void *to, size_t n,
                         double until)
{
    for (size_t at = 0; at < n;) {
        const ssize_t moved =
            from ? send(p->fd, (const char *)from + at, n - at, MSG_DONTWAIT | MSG_NOSIGNAL)
                 : recv(p->fd, (char *)to + at, n - at, MSG_DONTWAIT);

        if (moved > 0)
            at += (size_t)moved;
        else if (moved == 0 || (errno != EAGAIN && errno != EINTR))
            return END_CLOSED;
        else if (await(p, from ? POLLOUT : POLLIN, until) == END_LATE)
            return END_LATE;
    }
    return END_DONE;
}

static int start(struct gcb_peer *p, struct gcb_diag *diag)
{
    const struct gcb_child_limits limits = {.talks = true};
    const int err = gcb_child_start(&p->child, p->argv, &limits, diag);
    char path[40];
    FILE *score;

    if (err)
        return err;
    p->runs = true;
    p->fd = p->child.fd;
    snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)p->child.pid);
    score = fopen(path, "w"); /* if memory runs out, the kernel ends the plug-in and not gcbench */
    if (score) {
        fputs("1000\n", score);
        fclose(score);
    }
    return 0;
}

/* Ends a process of p->argv, or marks a process that the user has started as lost. `by_itself`: the
 * process has closed its socket, so it gets END_SECONDS to end. If it ends in that time and not
 * with exit status 0, diag says how. `what`: see gcb_peer_ask. */
static void end_process(struct gcb_peer *p, bool by_itself, const char *what, struct gcb_diag *diag)
{
    struct gcb_diag how = {.status = 0};

    p->lost = !p->argv;
    if (!p->argv)
        return;
    if (!by_itself)
        kill(-p->child.pid, SIGKILL);
    snprintf(p->child.name, sizeof(p->child.name), "%s", what);
    p->child.deadline = gcb_clock() + END_SECONDS;
    if (gcb_child_finish(&p->child, NULL, &how) && by_itself && !p->child.late)
        gcb_diag_set(diag, GCB_E_IO, "%s", how.text);
    p->runs = false;
}

/* Sends a request and receives the struct with which the answer begins. */
static enum end talk(const struct gcb_peer *p, const struct gcbench_request *request,
                     const void *bytes, struct gcbench_answer *answer, double until)
{
    enum end e = transfer(p, request, NULL, sizeof(*request), until);

    if (e == END_DONE)
        e = transfer(p, bytes, NULL, request->length, until);
    return e == END_DONE ? transfer(p, NULL, answer, sizeof(*answer), until) : e;
}

int gcb_peer_ask(struct gcb_peer *p, const struct gcbench_request *request, const void *bytes,
                 struct gcbench_answer *answer, void *out, size_t room, int refused,
                 const char *what, struct gcb_diag *diag)
{
    const double until = gcb_clock() + p->seconds;
    char text[GCB_DIAG_TEXT] = "", shown[MOST_TEXT];
    struct gcb_diag own;
    enum end e;
    int err = 0;

    diag = diag ? diag : &own;
    if (p->lost)
        return gcb_diag_set(diag, GCB_E_IO, "%s: the process failed before", what);
    if (p->argv && !p->runs)
        err = start(p, diag);
    if (err)
        return err;
    trim_errors(p);
    /* bytes that are here before the request belong to no answer */
    e = recv(p->fd, text, 1, MSG_DONTWAIT | MSG_PEEK) > 0 ? END_WRONG
                                                          : talk(p, request, bytes, answer, until);
    if (e == END_DONE && (answer->status > MOST_STATUS ||
                          answer->length > (answer->status ? sizeof(text) - 1 : room)))
        e = END_WRONG;
    if (e == END_DONE)
        e = transfer(p, NULL, answer->status ? text : out, answer->length, until);
    if (e == END_WRONG)
        err = gcb_diag_set(diag, GCB_E_IO,
                           "%s: the answer is no frame of at most %zu bytes; only frames may go to "
                           "standard output",
                           what, room);
    if (e == END_LATE)
        err = gcb_diag_set(diag, GCB_E_IO, "%s: no answer within %.3g s", what, p->seconds);
    if (e == END_CLOSED)
        err = gcb_diag_set(diag, GCB_E_IO, "%s: the process ended or closed its output", what);
    if (err)
        end_process(p, e == END_CLOSED, what, diag);
    if (err || !answer->status)
        return err;
    gcb_escape(shown, sizeof(shown), text);
    return gcb_diag_set(diag, refused, "%s failed%s%s", what, shown[0] ? ": " : "", shown);
}
