#include "src/tool/read/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/tidy.h"

enum {
    AHEAD = 8,    /* most tensors that the child is asked for before they are wanted */
    PATIENCE = 3, /* the child may wait this many times as long as it may work */
};

struct gcb_file_child {
    struct gcb_infile file;
    void *state; /* of the reader, if there is no child */
    pid_t pid;   /* 0: no child; this process reads the file */
    int socket;
    int descriptor; /* the open file, to read tensors that lie in one piece */
    struct gcb_trace *trace;
    size_t first,
        asked; /* the tensors that the child was asked for: the number of the first, and how many */
    size_t expected;     /* number of the tensor that is read next if all are read in order */
    struct timespec cpu; /* the child's processor time when it last made progress */
    uint64_t steps;      /* value of trace->steps when `cpu` was taken */
};

/* ---- the parent: starting and ending the child ---- */

static int fail_to_start(const struct gcb_file_child *c, struct gcb_diag *diag)
{
    return gcb_infile_fail(&c->file, NULL, errno == ENOMEM ? GCB_E_NOMEM : GCB_E_IO, diag,
                           "cannot start a process that reads the file: %s; try --in-process",
                           errno == ENOMEM ? "out of memory" : strerror(errno));
}

static int start_child(struct gcb_file_child *c, const char *path, const struct gcb_lister *lister,
                       struct gcb_diag *diag)
{
    const struct timeval look = {.tv_sec = 1};
    const pid_t parent = getpid();
    int ends[2] = {-1, -1};
    sigset_t before;

    c->trace =
        mmap(NULL, sizeof(*c->trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c->trace == MAP_FAILED)
        c->trace = NULL;
    if (!c->trace || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_to_start(c, diag);
    c->socket = ends[0];
    setsockopt(c->socket, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof(look));
    gcb_tidy_hold(&before);
    c->pid = fork();
    if (c->pid == 0) {
        const int socket = gcb_sandbox_enter(ends[1], parent, c->file.reader->address_space);

        c->file.trace = c->trace;
        gcb_port_serve(&c->file, path, lister, socket);
    }
    gcb_tidy_let_go(&before);
    close(ends[1]);
    if (c->pid > 0)
        return 0;
    c->pid = 0;
    return fail_to_start(c, diag);
}

/* True if the child closes its socket within a second. If it waits for a dead file system, it
 * cannot end. */
static bool is_ending(const struct gcb_file_child *c)
{
    uint8_t byte;
    ssize_t n;

    do
        n = recv(c->socket, &byte, 1, 0);
    while (n > 0 || (n < 0 && errno == EINTR));
    return n == 0 || errno == ECONNRESET;
}

/* Ends the child. Returns its exit status as waitpid gives it, or -1. */
static int end_child(struct gcb_file_child *c)
{
    int status = -1;

    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        while (is_ending(c) && waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    c->pid = -1;
    c->asked = 0;
    return status;
}

/* Ends the child, and sets the message for it: file and object, then how it ended. Returns
 * `status`. */
__attribute__((format(printf, 4, 5))) static int
fail_ended(struct gcb_file_child *c, int status, struct gcb_diag *diag, const char *how, ...)
{
    char path[GCB_READ_PATH + 1], text[160];
    va_list args;

    end_child(c);
    va_start(args, how);
    vsnprintf(text, sizeof(text), how, args);
    va_end(args);
    memcpy(path, c->trace->path, sizeof(path));
    path[GCB_READ_PATH] = '\0';
    return gcb_infile_fail(&c->file, path[0] == '/' && path[1] ? path : NULL, status, diag, "%s",
                           text);
}

/* The child has closed its socket, so it is ending, and its exit status is final. */
static int fail_crashed(struct gcb_file_child *c, struct gcb_diag *diag)
{
    const int status = end_child(c);
    char signal[24] = "";

    if (status != -1 && WIFSIGNALED(status))
        snprintf(signal, sizeof(signal), " (signal %d)", WTERMSIG(status));
    return fail_ended(c, GCB_E_CORRUPT, diag, "damaged: %s crashed while reading it%s",
                      c->file.reader->library, signal);
}

static int fail_protocol(struct gcb_file_child *c, struct gcb_diag *diag)
{
    return fail_ended(c, GCB_E_CORRUPT, diag,
                      "damaged: the process that reads it sent an invalid reply");
}

/* ---- the parent: packets from the child ---- */

/* Returns the processor time in seconds that the child has used since it last made progress. *all:
 * since its start. */
static double stuck_for(struct gcb_file_child *c, double *all)
{
    const uint64_t steps = __atomic_load_n(&c->trace->steps, __ATOMIC_RELAXED);
    struct timespec now = {0};
    clockid_t clock;

    if (clock_getcpuclockid(c->pid, &clock) != 0 || clock_gettime(clock, &now) != 0)
        return 0.0;
    *all = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (steps != c->steps) {
        c->steps = steps;
        c->cpu = now;
    }
    return (double)(now.tv_sec - c->cpu.tv_sec) + 1e-9 * (double)(now.tv_nsec - c->cpu.tv_nsec);
}

/* Receives one packet of at most GCB_PORT_PACKET bytes into `bytes`. */
static int receive(struct gcb_file_child *c, uint8_t *bytes, struct gcb_rbuf *out,
                   struct gcb_diag *diag)
{
    double worked = 0.0; /* the child's processor time */
    unsigned waited = 0; /* seconds since it last grew */

    for (;;) {
        const double before = worked;
        const ssize_t n = recv(c->socket, bytes, GCB_PORT_PACKET, 0);

        if (n > 0) {
            *out = (struct gcb_rbuf){.data = bytes, .len = (size_t)n};
            return 0;
        }
        if (n == 0)
            return fail_crashed(c, diag);
        if (errno == EINTR ||
            errno == ECONNRESET) /* what the child has sent before can still be read */
            continue;
        if (errno != EAGAIN) {
            end_child(c);
            return gcb_infile_fail(&c->file, NULL, GCB_E_IO, diag, "%s", strerror(errno));
        }
        if (stuck_for(c, &worked) > c->file.limits.seconds)
            return fail_ended(c, GCB_E_CORRUPT, diag,
                              "damaged: %s took more than %u s of processor time to read it",
                              c->file.reader->library, c->file.limits.seconds);
        waited = worked == before ? waited + 1 : 0;
        if (waited >= PATIENCE * c->file.limits.seconds)
            return fail_ended(c, GCB_E_IO, diag,
                              "no data for %u s; copy the file to a local disk%s",
                              PATIENCE * c->file.limits.seconds,
                              c->file.limits.allow_external
                                  ? ", or leave out --allow-external: its data may be in a pipe"
                                  : "");
    }
}

/* The result of a request. */
struct done {
    int status;
    /* bytes that the child needs for the tensor's smallest piece, if that is why it stopped */
    uint64_t needed;
    struct gcb_diag diag;
};

/* True if reading a file can give this status. The child is not trusted, and other statuses would
 * change the exit status of the command. */
static bool is_status(int status)
{
    return status == 0 || status == GCB_E_NOMEM || status == GCB_E_CORRUPT || status == GCB_E_IO ||
           status == GCB_E_UNSUPPORTED || status == GCB_E_INTERNAL;
}

/* Copies a message of the child and escapes control characters. Backslashes are kept, because the
 * child has already escaped the names. */
static void escape_text(char out[GCB_DIAG_TEXT], const char *text)
{
    size_t used = 0;

    while (*text && used + 8 < GCB_DIAG_TEXT) {
        const char *at = text;
        char piece[8];
        size_t n = gcb_escape_one(piece, &text);

        if (*at == '\\') {
            piece[0] = '\\';
            n = 1;
        }
        memcpy(out + used, piece, n);
        used += n;
    }
    out[used] = '\0';
}

static int parse_done(struct gcb_file_child *c, struct gcb_rbuf *in, struct done *out,
                      struct gcb_diag *diag)
{
    char text[GCB_DIAG_TEXT];
    const char *sent;

    out->status = (int)gcb_get_u32(in);
    out->needed = gcb_get_u64(in);
    sent = gcb_text_take(in, sizeof(text));
    if (!sent || !is_status(out->status) || (out->status && !*sent) || gcb_rbuf_left(in))
        return fail_protocol(c, diag);
    escape_text(text, sent);
    if (out->status)
        gcb_diag_set(&out->diag, out->status, "%s", text);
    return 0;
}

/* What the child may still send of a list. */
struct room {
    uint64_t records, bytes;
};

static int take_records(struct gcb_file_child *c, const struct gcb_lister *lister,
                        struct gcb_rbuf *in, struct room *left, struct gcb_diag *diag)
{
    int err = 0;

    while (gcb_rbuf_left(in) && !err) {
        const uint32_t n = gcb_get_u32(in);
        struct gcb_rbuf record = {.data = gcb_rbuf_take(in, n), .len = n};

        if (!record.data || !lister || left->records == 0 || left->bytes < n)
            return fail_protocol(c, diag);
        left->records--;
        left->bytes -= n;
        err = lister->take(lister->ctx, &record, diag);
        if (!err && (record.failed || gcb_rbuf_left(&record)))
            return fail_protocol(c, diag);
    }
    return err;
}

/* Waits until the child has opened and listed the file. */
static int await_list(struct gcb_file_child *c, const struct gcb_lister *lister,
                      struct gcb_diag *diag)
{
    struct room left = {2 * (uint64_t)GCB_READ_OBJECTS, gcb_port_most(&c->file)};
    uint8_t bytes[GCB_PORT_PACKET];
    struct done done;

    for (;;) {
        struct gcb_rbuf in;
        int err = receive(c, bytes, &in, diag);

        if (err)
            return err;
        if (gcb_get_u8(&in) == GCB_PORT_DONE) {
            err = parse_done(c, &in, &done, diag);
            if (!err && done.status)
                err = gcb_diag_set(diag, done.status, "%s", done.diag.text);
            return err;
        }
        err = take_records(c, lister, &in, &left, diag);
        if (err)
            return err;
    }
}

/* Valgrind would run the child too, and would need system calls that the sandbox forbids. */
static bool under_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");

    return preloaded && strstr(preloaded, "/vgpreload_");
}

/* Opens the file in this process, too, to read what lies there in one piece. *real is its path
 * without links, because the child may not follow links. The caller frees it. */
static int open_file(struct gcb_file_child *c, char **real, struct gcb_diag *diag)
{
    const char *path = c->file.path;

    c->descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO must not block */
    if (c->descriptor >= 0)
        *real = realpath(path, NULL);
    return *real ? 0 : gcb_infile_fail(&c->file, NULL, GCB_E_IO, diag, "%s", strerror(errno));
}

int gcb_file_child_open(struct gcb_file_child **out, const struct gcb_infile *file,
                        const struct gcb_lister *lister, struct gcb_diag *diag)
{
    const struct gcb_reader *reader = file->reader;
    struct gcb_file_child *c = gcb_alloc_zero(1, sizeof(*c));
    char *real = NULL;
    int err = 0;

    if (!c)
        return gcb_diag_nomem(diag, sizeof(*c), "reading a file");
    c->file = *file;
    c->socket = c->descriptor = -1;
    if (reader->probe)
        err = open_file(c, &real, diag);
    if (!err && reader->prepare)
        err = reader->prepare(diag);
    if (err)
        goto out;
    if (!reader->probe || file->limits.in_process || under_valgrind()) {
        err = reader->open(&c->state, &c->file, real, diag);
        if (!err && lister)
            err = gcb_port_list(&c->file, c->state, lister, -1, diag);
    } else {
        err = start_child(c, real, lister, diag);
        if (!err)
            err = await_list(c, lister, diag);
    }
    if (err)
        goto out;
    *out = c;
    c = NULL;
out:
    free(real);
    gcb_file_child_close(c);
    return err;
}

void gcb_file_child_close(struct gcb_file_child *child)
{
    if (!child)
        return;
    end_child(child);
    if (child->descriptor >= 0)
        close(child->descriptor);
    if (child->socket >= 0)
        close(child->socket);
    if (child->trace)
        munmap(child->trace, sizeof(*child->trace));
    if (child->file.reader->close)
        child->file.reader->close(child->state);
    gcb_free(child);
}

/* ---- the parent: reading tensors ---- */

/* Asks the child for a tensor, in pieces of at most `room` bytes. Returns false with errno. */
static bool ask(struct gcb_file_child *c, const struct gcb_tensor *t, uint64_t room, int flags)
{
    uint8_t bytes[GCB_PORT_PACKET];
    struct gcb_wbuf request = {.data = bytes, .cap = sizeof(bytes)};

    gcb_put_u64(&request, room);
    gcb_tensor_put(&request, t);
    if (!gcb_packet_send(c->socket, &request, flags))
        return false;
    c->asked++;
    return true;
}

/* Asks for the tensors that follow those that the child was asked for, so that it reads them while
 * the caller works. */
static void ask_ahead(struct gcb_file_child *c, const struct gcb_tensors *tensors)
{
    while (c->asked < AHEAD) {
        const struct gcb_tensor *t = tensors->get(tensors->ctx, c->first + c->asked);

        if (!t || t->offset || t->count == 0 || !ask(c, t, GCB_PORT_PIECE, MSG_DONTWAIT))
            return;
    }
}

/* Receives the tensor that the child was asked for first. `out` may be NULL. If the child could not
 * read it, done->status or done->needed says why. */
static int receive_tensor(struct gcb_file_child *c, const struct gcb_tensor *t, uint8_t *out,
                          struct done *done, struct gcb_diag *diag)
{
    const size_t size = gcb_element_size(t->element);
    uint8_t bytes[GCB_PORT_PACKET];
    int err = 0;

    *done = (struct done){.status = 0};
    for (uint64_t got = 0, n; got < t->count; got += n) {
        struct gcb_rbuf in;
        const int failed = receive(c, bytes, &in, diag);
        const uint8_t kind = failed ? 0 : gcb_get_u8(&in);

        if (failed)
            return failed;
        if (kind == GCB_PORT_DONE) {
            err = parse_done(c, &in, done, diag);
            if (!err && !done->status && (!done->needed || done->needed > t->count * size))
                err = fail_protocol(c, diag);
            break;
        }
        n = in.len < GCB_PORT_HEAD ? 0 : (in.len - GCB_PORT_HEAD) / size;
        if (kind != GCB_PORT_ELEMENTS || n == 0 || n > t->count - got)
            return fail_protocol(c, diag);
        if (!err && out)
            err = gcb_tensor_convert(&c->file, t, got, bytes + GCB_PORT_HEAD, n,
                                     out + got * gcb_tensor_wide(t), diag);
    }
    if (c->asked) {
        c->first++;
        c->asked--;
    }
    return err;
}

/* Receives and drops what the child was asked for. */
static int drain(struct gcb_file_child *c, const struct gcb_tensors *tensors, struct gcb_diag *diag)
{
    struct done done;
    int err = 0;

    while (c->asked && !err)
        err = receive_tensor(c, tensors->get(tensors->ctx, c->first), NULL, &done, diag);
    return err;
}

/* Asks for a tensor that the child was not asked for. */
static int ask_now(struct gcb_file_child *c, const struct gcb_tensors *tensors, size_t number,
                   uint64_t room, struct gcb_diag *diag)
{
    const int err = drain(c, tensors, diag);

    c->first = number;
    if (err || ask(c, tensors->get(tensors->ctx, number), room, 0))
        return err;
    return errno == EPIPE || errno == ECONNRESET
               ? fail_crashed(c, diag)
               : gcb_infile_fail(&c->file, NULL, GCB_E_IO, diag, "%s", strerror(errno));
}

/* Lets the child take `more` bytes of memory than before. */
static void raise_limit(const struct gcb_file_child *c, uint64_t more)
{
    struct rlimit limit;

    if (prlimit(c->pid, RLIMIT_AS, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    limit.rlim_cur =
        more < limit.rlim_max - limit.rlim_cur ? limit.rlim_cur + more : limit.rlim_max;
    prlimit(c->pid, RLIMIT_AS, &limit, NULL);
}

static int read_by_child(struct gcb_file_child *c, const struct gcb_tensors *tensors, size_t number,
                         uint8_t *out, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = tensors->get(tensors->ctx, number);
    struct done done = {.status = 0};
    int err = 0;

    if (c->asked == 0 || c->first != number)
        err = ask_now(c, tensors, number, GCB_PORT_PIECE, diag);
    if (!err && number == c->expected)
        ask_ahead(c, tensors);
    c->expected = number + 1;
    if (!err)
        err = receive_tensor(c, t, out, &done, diag);
    if (!err && done.needed) { /* a row of chunks is larger than a piece */
        raise_limit(c, done.needed);
        err = ask_now(c, tensors, number, done.needed, diag);
        if (!err)
            err = receive_tensor(c, t, out, &done, diag);
        if (!err && done.needed)
            err = fail_protocol(c, diag);
    }
    return err || !done.status ? err : gcb_diag_set(diag, done.status, "%s", done.diag.text);
}

/* Reads a tensor in this process. Its stored elements stand at the end of `out` or, if they are
 * larger, apart. */
static int read_here(struct gcb_file_child *c, const struct gcb_tensor *t, uint8_t *out,
                     struct gcb_diag *diag)
{
    const size_t size = gcb_element_size(t->element), wide = gcb_tensor_wide(t);
    void *apart = size > wide ? gcb_alloc_array(t->count, size) : NULL;
    void *data = size > wide ? apart : out + (wide - size) * t->count;
    uint64_t count = t->count;
    int err = data ? c->file.reader->read(c->state, t, 0, &count, data, diag)
                   : gcb_diag_nomem(diag, count * size, "a dataset");

    if (!err)
        err = gcb_tensor_convert(&c->file, t, 0, data, count, out, diag);
    gcb_free(apart);
    return err;
}

int gcb_file_child_read(struct gcb_file_child *child, const struct gcb_tensors *tensors,
                        size_t number, void *out, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = tensors->get(tensors->ctx, number);

    if (t->offset)
        return gcb_tensor_read_stored(&child->file, child->descriptor, t, 0, t->count, out, diag);
    if (child->pid == 0)
        return read_here(child, t, out, diag);
    if (child->pid < 0)
        return fail_ended(child, GCB_E_CORRUPT, diag,
                          "damaged: the process that read it has ended");
    return t->count ? read_by_child(child, tensors, number, out, diag) : 0;
}

int gcb_file_child_read_part(const struct gcb_file_child *child, const struct gcb_tensor *t,
                             uint64_t from, uint64_t count, void *out, struct gcb_diag *diag)
{
    if (!t->offset || from > t->count || count > t->count - from)
        return gcb_infile_fail(
            &child->file, t->dataset, GCB_E_INTERNAL, diag,
            "a part that lies outside of the dataset's stored elements was asked for");
    return gcb_tensor_read_stored(&child->file, child->descriptor, t, from, count, out, diag);
}
