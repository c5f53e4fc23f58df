#include "src/tool/read/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/lib/wire/buf.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/tidy.h"

/*
 * The protocol between the child and its parent. The socket keeps packets apart. A packet is one of
 *
 *   u8 RECORDS, then one or more records
 *   u8 ELEMENTS, 7 bytes without meaning, then elements as they are stored
 *
 * The child opens the file and sends the records of its list, and then RECORD_DONE in its own
 * packet. After that, the parent sends requests, each a packet with one RECORD_REQUEST. The child
 * answers them in their order until the socket closes. An answer is all elements of the tensor. If
 * the child cannot read on, RECORD_DONE ends the answer. The parent may send more requests before
 * it has received the answer to the first.
 */
enum {
    RECORDS = 1,
    ELEMENTS,
    HEAD = 8,          /* bytes before the elements, so that 8-byte elements are aligned */
    PACKET = 32 << 10, /* most bytes of a packet */
    RECORD = 16 << 10, /* most bytes of a record */
    PIECE = 4 << 20,   /* bytes that the child reads at a time, if the format can read so few */
    MAX_REQUESTS = 8,  /* most unanswered requests, including that for the current tensor */
    PATIENCE = 3,      /* the child may be idle this many times as long as it may work */
};

/* The kinds of records that no lister uses. */
enum {
    /* From the parent. numbers[0]: bytes that the child reads at a time; tensor: what to read */
    RECORD_REQUEST = 254,
    /* From the child. numbers[0]: the status; texts[0]: the cause, if the status is not 0. Status 0
     * after a request says that the format can read only more bytes at a time than numbers[0] of
     * the request; then numbers[1] is how many. */
    RECORD_DONE,
};

/* Where the reader puts records while it lists the file. */
struct gcb_port {
    const struct gcb_infile *file;
    const struct gcb_lister *lister;
    int socket;             /* -1: no child; the lister takes the records at once */
    struct gcb_wbuf packet; /* records that wait to be sent; without a child: the last record */
    uint64_t bytes;         /* bytes of all records so far */
};

struct gcb_file_child {
    struct gcb_infile file;
    void *state; /* the reader's state, if there is no child */
    pid_t pid;   /* 0: no child, this process reads the file; -1: the child has ended */
    int socket;
    int descriptor; /* the open file, to read tensors that lie in one piece */
    struct gcb_trace *trace;
    /* `tensors` and `count` of the last gcb_file_child_read */
    const struct gcb_tensor *tensors;
    size_t count;
    /* the child was asked for tensors first to first + asked - 1 and has not answered yet */
    size_t first, asked;
    size_t expected;     /* number of the tensor that is read next if all are read in order */
    struct timespec cpu; /* the child's processor time when it last made progress */
    uint64_t steps;      /* value of trace->steps when `cpu` was taken */
};

/* ---- records and packets ---- */

/* Appends a record to a packet. Returns false if there is no room. */
static bool put_record(struct gcb_wbuf *w, const struct gcb_port_record *r)
{
    const size_t begin = offsetof(struct gcb_port_record, kind);
    const size_t n =
        offsetof(struct gcb_port_record, tensor.dims) + r->tensor.rank * sizeof(uint64_t);
    uint8_t *to = gcb_wbuf_take(w, n - begin);

    if (to)
        memcpy(to, (const uint8_t *)r + begin, n - begin);
    for (int i = 0; i < GCB_RECORD_TEXTS; i++) {
        const char *text = r->texts[i] ? r->texts[i] : "";
        const size_t size = strlen(text) + 1;

        to = gcb_wbuf_take(w, size);
        if (to)
            memcpy(to, text, size);
    }
    return !w->failed;
}

/* Copies the next n bytes of `in`. Returns false if fewer are left. */
static bool take_bytes(void *out, struct gcb_rbuf *in, size_t n)
{
    const uint8_t *from = gcb_rbuf_take(in, n);

    if (from)
        memcpy(out, from, n);
    return from;
}

/* Reads the next record of `in`. The texts of *r are in the memory of `in`. Returns false if the
 * record is damaged. */
static bool take_record(struct gcb_port_record *r, struct gcb_rbuf *in)
{
    const size_t begin = offsetof(struct gcb_port_record, kind);

    *r = (struct gcb_port_record){.kind = 0};
    if (!take_bytes(&r->kind, in, offsetof(struct gcb_port_record, tensor.dims) - begin) ||
        r->tensor.rank > GCB_MAX_RANK ||
        !take_bytes(r->tensor.dims, in, r->tensor.rank * sizeof(*r->tensor.dims)))
        return false;
    for (int i = 0; i < GCB_RECORD_TEXTS; i++) {
        const size_t n = strnlen((const char *)in->data + in->pos, gcb_rbuf_left(in));

        r->texts[i] = (const char *)gcb_rbuf_take(in, n + 1);
        if (!r->texts[i] || n >= GCB_RECORD_TEXT)
            return false;
    }
    r->tensor.dataset = r->texts[0];
    r->tensor.path = r->tensor.file = NULL;
    return true;
}

/* True if the reader can open other files and the user allows it. */
static bool opens_others(const struct gcb_infile *file)
{
    return file->limits.allow_external && file->reader->opens_files;
}

bool gcb_tensor_is_plausible(const struct gcb_tensor *t, const struct gcb_infile *file)
{
    const size_t size = t->element < GCB_ELEMENTS ? gcb_element_size(t->element) : 0;
    bool empty = t->rank == 0 && t->count == 0; /* a null dataspace */
    uint64_t count = 1;                         /* product of the dimensions */

    if (size == 0 || t->dtype > GCB_F64 || t->index < -1)
        return false;
    if (t->scale && (size != 1 || (t->blocked && t->rank != 2) || t->scale > file->size ||
                     gcb_tensor_scales(t) > (file->size - t->scale) / sizeof(float)))
        return false;
    /* a float32 may count as a smaller type, which its attribute source_dtype names */
    if (t->dtype != (t->scale ? GCB_F32 : gcb_element_dtype(t->element)) &&
        (t->element != GCB_ELEMENT_FP32 || t->dtype == GCB_F64))
        return false;
    for (unsigned i = 0; i < t->rank; i++)
        empty |= t->dims[i] == 0;
    for (unsigned i = 0; i < t->rank && !empty; i++)
        if (__builtin_mul_overflow(count, t->dims[i], &count))
            return false;
    if (t->count != (empty ? 0 : count))
        return false;
    /* if the bytes may be in another file, the child sends no offset */
    return t->offset == 0 || (!opens_others(file) && t->offset <= file->size &&
                              t->count <= (file->size - t->offset) / size);
}

/* Sends a packet; `flags` are those of send(2). On failure returns false and sets errno. */
static bool send_packet(int socket, const struct gcb_wbuf *packet, int flags)
{
    ssize_t n;

    do
        n = send(socket, packet->data, packet->len, MSG_NOSIGNAL | flags);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)packet->len;
}

/* Sends a packet with one record. On failure returns false and sets errno. */
static bool send_record(int socket, const struct gcb_port_record *r, int flags)
{
    uint8_t bytes[RECORD];
    struct gcb_wbuf packet = {.data = bytes, .cap = sizeof(bytes)};

    gcb_put_u8(&packet, RECORDS);
    return put_record(&packet, r) && send_packet(socket, &packet, flags);
}

/* ---- the child: listing ---- */

/* Sends the records that wait in port->packet. If the parent has ended, the child ends too. */
static void flush_records(struct gcb_port *port)
{
    if (port->packet.len > 1 && !send_packet(port->socket, &port->packet, 0))
        _exit(1);
    port->packet.len = 0;
    gcb_put_u8(&port->packet, RECORDS);
}

/* Returns the most bytes that all records of a file may take: 16 MiB plus the smaller of max_bytes
 * and 16 times the file's size. The names in a real file take far less. */
static uint64_t most_bytes(const struct gcb_infile *file)
{
    const uint64_t most = file->limits.max_bytes;

    return ((uint64_t)16 << 20) + (file->size < most / 16 ? 16 * file->size : most);
}

/* Without a child, the record is also encoded and decoded again, so that the same limits hold, and
 * lister->take gets the record in the form in which a child would have sent it. */
int gcb_port_put(struct gcb_port *port, const struct gcb_port_record *record, struct gcb_diag *diag)
{
    struct gcb_wbuf *packet = &port->packet;
    struct gcb_rbuf in = {.data = packet->data};
    struct gcb_port_record taken;

    if (port->socket < 0)
        packet->len = 0;
    else if (packet->cap - packet->len < RECORD)
        flush_records(port);
    in.pos = packet->len;
    if (!put_record(packet, record))
        return gcb_infile_fail(port->file, NULL, GCB_E_CORRUPT, diag,
                               "an object's description is longer than 16384 bytes");
    in.len = packet->len;
    port->bytes += in.len - in.pos;
    if (port->bytes > most_bytes(port->file))
        return gcb_infile_fail(port->file, NULL, GCB_E_CORRUPT, diag,
                               "the names of its objects take more than %" PRIu64 " bytes",
                               most_bytes(port->file));
    return port->socket < 0 && take_record(&taken, &in)
               ? port->lister->take(port->lister->ctx, &taken, diag)
               : 0;
}

/* Lists an open file. `socket` is that of struct gcb_port. */
static int list_file(const struct gcb_infile *file, void *state, const struct gcb_lister *lister,
                     int socket, struct gcb_diag *diag)
{
    uint8_t bytes[PACKET];
    struct gcb_port port = {.file = file,
                            .lister = lister,
                            .socket = socket,
                            .packet = {.data = bytes, .cap = sizeof(bytes)}};
    int err;

    gcb_put_u8(&port.packet, RECORDS);
    err = lister->list(lister->ctx, state, &port, diag);
    if (socket >= 0)
        flush_records(&port);
    return err;
}

/* ---- the child: answering requests ---- */

/* Sends RECORD_DONE: how the listing ended, or why a tensor was not read. If the format can read
 * the tensor only in larger pieces, `status` is 0 and `needed` is the bytes of a piece. */
static void send_done(int socket, int status, const struct gcb_diag *diag, uint64_t needed)
{
    const struct gcb_port_record done = {.kind = RECORD_DONE,
                                         .numbers = {(uint64_t)status, needed},
                                         .texts = {status ? diag->text : ""}};

    if (!send_record(socket, &done, 0))
        _exit(1);
}

/* The state of the child while it answers requests. */
struct server {
    struct gcb_infile file;
    void *state;
    int socket;
    struct gcb_room piece; /* has the head of a packet, and then elements */
};

/* Sends the first n bytes of elements in s->piece. The head of each packet after the first
 * overwrites elements that were already sent. */
static void send_piece(const struct server *s, uint64_t n)
{
    const uint64_t most = PACKET - HEAD;

    for (uint64_t sent = 0; sent < n; sent += most) {
        const uint64_t part = n - sent < most ? n - sent : most;
        const struct gcb_wbuf packet = {.data = s->piece.block + sent, .len = HEAD + part};

        packet.data[0] = ELEMENTS;
        if (!send_packet(s->socket, &packet, 0))
            _exit(1);
    }
}

/* Answers a request: sends the tensor's elements piece by piece, and RECORD_DONE if not all can be
 * read. */
static void answer(struct server *s, const struct gcb_port_record *request)
{
    const struct gcb_tensor *t = &request->tensor;
    const size_t size = gcb_element_size(t->element);
    struct gcb_diag diag = {0};
    int err = gcb_room_reserve(&s->piece, HEAD + request->numbers[0], "a row of chunks", &diag);
    const uint64_t room = (s->piece.size - HEAD) / size; /* elements */

    for (uint64_t from = 0, count; from < t->count && !err; from += count) {
        count = room;
        err = s->file.reader->read(s->state, t, from, &count, s->piece.block + HEAD, &diag);
        if (!err && count > room) {
            send_done(s->socket, 0, NULL, count * size);
            return;
        }
        if (!err && (count == 0 || count > t->count - from)) /* not as reader.h says */
            _exit(1);
        if (!err)
            send_piece(s, count * size);
    }
    if (err)
        send_done(s->socket, err, &diag, 0);
}

/* Runs the child after gcb_sandbox_enter: opens and lists the file, then answers requests. Ends the
 * process. */
_Noreturn static void serve(const struct gcb_infile *file, const char *path,
                            const struct gcb_lister *lister, int socket)
{
    struct server s = {.file = *file, .socket = socket};
    uint8_t bytes[RECORD];
    struct gcb_diag diag = {0};
    int err;

    gcb_infile_trace(&s.file, "/");
    err = file->reader->open(&s.state, &s.file, path, &diag);
    if (!opens_others(file))
        gcb_sandbox_close_files();
    if (!err && lister)
        err = list_file(&s.file, s.state, lister, socket, &diag);
    send_done(socket, err, &diag, 0);
    while (!err) {
        const ssize_t n = recv(socket, bytes, sizeof(bytes), 0);
        struct gcb_rbuf in = {.data = bytes, .len = n > 0 ? (size_t)n : 0, .pos = 1};
        struct gcb_port_record request;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || !take_record(&request, &in))
            break;
        answer(&s, &request);
    }
    _exit(0);
}

/* ---- the parent: starting and ending the child ---- */

/* `why`: errno of the call that failed. */
static int fail_to_start(const struct gcb_file_child *c, int why, struct gcb_diag *diag)
{
    return gcb_infile_fail(&c->file, NULL, why == ENOMEM ? GCB_E_NOMEM : GCB_E_IO, diag,
                           "cannot start a process that reads the file: %s; try --in-process",
                           why == ENOMEM ? "out of memory" : strerror(why));
}

/* Starts the child, and sets c->pid, c->socket and c->trace. */
static int start_child(struct gcb_file_child *c, const char *path, const struct gcb_lister *lister,
                       struct gcb_diag *diag)
{
    const struct timeval second = {.tv_sec = 1}; /* `receive` looks at the child this often */
    const pid_t parent = getpid();
    int ends[2] = {-1, -1}, why;
    sigset_t before;

    c->trace =
        mmap(NULL, sizeof(*c->trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c->trace == MAP_FAILED)
        c->trace = NULL;
    if (!c->trace || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_to_start(c, errno, diag);
    c->socket = ends[0];
    setsockopt(c->socket, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
    gcb_tidy_hold(&before);
    c->pid = fork();
    if (c->pid == 0) {
        const int socket = gcb_sandbox_part(ends[1], parent);

        c->file.trace = c->trace;
        if (c->file.reader->load)
            c->file.reader->load(&c->file);
        gcb_sandbox_enter(c->file.reader->address_space, c->trace);
        serve(&c->file, path, lister, socket);
    }
    why = errno;
    gcb_tidy_let_go(&before);
    close(ends[1]);
    if (c->pid > 0)
        return 0;
    c->pid = 0;
    return fail_to_start(c, why, diag);
}

/* True if the killed child closes its socket before `recv` times out after a second. A child that
 * waits for a file system that does not answer cannot end. */
static bool is_ending(const struct gcb_file_child *c)
{
    uint8_t byte;
    ssize_t n;

    do
        n = recv(c->socket, &byte, 1, 0);
    while (n > 0 || (n < 0 && errno == EINTR));
    return n == 0 || errno == ECONNRESET;
}

/* Kills the child, if there is one. Returns its exit status as waitpid gives it, or -1 if that is
 * not known. From then on, c->pid says that the child has ended. */
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

/* Adds to the message the system call that the child was refused, if any: it may be one that this
 * machine's C library needs. Returns `status`. */
static int name_refused(const struct gcb_file_child *c, int status, struct gcb_diag *diag)
{
    const char *call = gcb_sandbox_refused(c->trace);
    const size_t length = strlen(diag->text);

    if (call)
        snprintf(diag->text + length, sizeof(diag->text) - length,
                 "; it may not make the system call %s; try --in-process if you trust the file",
                 call);
    return status;
}

/* Kills the child, and sets the message "FILE: OBJECT: HOW", where OBJECT is what the child was
 * reading. OBJECT is left out if it is the root or not known. Returns `status`. */
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
    gcb_infile_fail(&c->file, path[0] == '/' && path[1] ? path : NULL, status, diag, "%s", text);
    return name_refused(c, status, diag);
}

/* Fails because the child has closed its socket. The child is ending, so end_child's signal comes
 * too late to change its exit status. */
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

/* Returns the processor time in seconds that the child has used since it last made progress. Sets
 * *all to the processor time since the child's start. If the clock cannot be read, returns 0 and
 * leaves *all as it is. */
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

/* Waits for one packet, and receives it into `bytes`, which has room for PACKET bytes. Sets *out to
 * the packet. Fails if the child has ended, or if it exceeds a limit on time and is killed. */
static int receive(struct gcb_file_child *c, uint8_t *bytes, struct gcb_rbuf *out,
                   struct gcb_diag *diag)
{
    double worked = 0.0; /* the child's processor time, in seconds */
    unsigned waited = 0; /* seconds since `worked` last grew */

    for (;;) {
        const double before = worked;
        const ssize_t n = recv(c->socket, bytes, PACKET, 0);

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
                              opens_others(&c->file)
                                  ? ", or leave out --allow-external: its data may be in a pipe"
                                  : "");
    }
}

/* True if reading a file can give this status. The child is not trusted. If it could send any
 * status, it could choose the command's exit status. */
static bool is_status(int status)
{
    return status == 0 || status == GCB_E_NOMEM || status == GCB_E_CORRUPT || status == GCB_E_IO ||
           status == GCB_E_UNSUPPORTED || status == GCB_E_INTERNAL;
}

/* Takes the RECORD_DONE that ends the listing or an answer, and sets *needed to its numbers[1].
 * Returns the child's status, or GCB_E_CORRUPT if the record is not valid. */
static int take_done(struct gcb_file_child *c, const struct gcb_port_record *r, uint64_t *needed,
                     struct gcb_diag *diag)
{
    const int status = (int)r->numbers[0];
    char text[GCB_DIAG_TEXT];

    if (r->kind != RECORD_DONE || !is_status(status) || (status && !*r->texts[0]))
        return fail_protocol(c, diag);
    *needed = r->numbers[1];
    gcb_escape_again(text, sizeof(text), r->texts[0]);
    return status ? name_refused(c, gcb_diag_set(diag, status, "%s", text), diag) : 0;
}

/* Waits until the child has opened and listed the file. Accepts twice as many records and bytes as
 * a child that keeps its limits sends. */
static int await_list(struct gcb_file_child *c, const struct gcb_lister *lister,
                      struct gcb_diag *diag)
{
    uint64_t records = 2 * (uint64_t)GCB_READ_OBJECTS, room = 2 * most_bytes(&c->file), needed;
    uint8_t bytes[PACKET];

    for (;;) {
        struct gcb_port_record r;
        struct gcb_rbuf in;
        int err = receive(c, bytes, &in, diag);

        if (err)
            return err;
        if (gcb_get_u8(&in) != RECORDS || in.len > room)
            return fail_protocol(c, diag);
        room -= in.len;
        while (gcb_rbuf_left(&in)) {
            if (!take_record(&r, &in) || records-- == 0)
                return fail_protocol(c, diag);
            if (!lister || r.kind == RECORD_DONE)
                return take_done(c, &r, &needed, diag);
            err = lister->take(lister->ctx, &r, diag);
            if (err)
                return err;
        }
    }
}

/* ---- the parent: opening and closing a file ---- */

/* True if this process runs under Valgrind. Valgrind would run the child too, and would need system
 * calls that the sandbox forbids. */
static bool under_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");

    return preloaded && strstr(preloaded, "/vgpreload_");
}

/* Opens the file in this process, to read tensors that lie in one piece. Sets *real to its path
 * without symbolic links, because the child may not call readlink. The caller frees *real. */
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
    struct gcb_file_child *c = gcb_must_zero(1, sizeof(*c));
    char *real = NULL;
    int err = 0;

    c->file = *file;
    c->socket = c->descriptor = -1;
    err = open_file(c, &real, diag);
    if (!err && reader->prepare)
        err = reader->prepare(diag);
    if (!err && (file->limits.in_process || under_valgrind())) {
        if (reader->load)
            reader->load(&c->file);
        err = reader->open(&c->state, &c->file, real, diag);
        if (!err && lister)
            err = list_file(&c->file, c->state, lister, -1, diag);
    } else if (!err) {
        err = start_child(c, real, lister, diag);
        if (!err)
            err = await_list(c, lister, diag);
    }
    free(real);
    if (err)
        gcb_file_child_close(c);
    else
        *out = c;
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

/* Asks the child for a tensor, which the child reads in pieces of at most `room` bytes; `flags` are
 * those of send(2). On failure returns false and sets errno. */
static bool ask(struct gcb_file_child *c, const struct gcb_tensor *t, uint64_t room, int flags)
{
    const struct gcb_port_record request = {
        .kind = RECORD_REQUEST, .numbers = {room}, .texts = {t->dataset}, .tensor = *t};

    if (!send_record(c->socket, &request, flags))
        return false;
    c->asked++;
    return true;
}

/* Asks the child for the next tensors, so that the child reads them while the caller works. Stops
 * at MAX_REQUESTS requests, if the socket is full, or at a tensor that is empty, of another file,
 * or not read by the child. */
static void prefetch_tensors(struct gcb_file_child *c)
{
    while (c->asked < MAX_REQUESTS && c->first + c->asked < c->count) {
        const struct gcb_tensor *t = &c->tensors[c->first + c->asked];

        if (t->file != c->tensors[c->first].file || t->offset || t->count == 0 ||
            !ask(c, t, PIECE, MSG_DONTWAIT))
            return;
    }
}

/* Receives tensor c->first, for which the child was asked. If `out` is NULL, drops the elements. If
 * the child needs larger pieces, sets *needed to the bytes of a piece, else to 0. */
static int receive_tensor(struct gcb_file_child *c, uint8_t *out, uint64_t *needed,
                          struct gcb_diag *diag)
{
    const struct gcb_tensor *t = &c->tensors[c->first];
    const size_t size = gcb_element_size(t->element);
    uint8_t bytes[PACKET];
    struct gcb_port_record r;
    int err = 0;

    *needed = 0;
    for (uint64_t got = 0, n; got < t->count; got += n) {
        struct gcb_rbuf in;
        const int failed = receive(c, bytes, &in, diag);
        const uint8_t kind = failed ? 0 : gcb_get_u8(&in);

        if (failed)
            return failed;
        if (kind == RECORDS && take_record(&r, &in)) {
            err = take_done(c, &r, needed, diag);
            if (!err && (!*needed || *needed > t->count * size))
                err = fail_protocol(c, diag);
            break;
        }
        n = in.len < HEAD ? 0 : (in.len - HEAD) / size;
        if (kind != ELEMENTS || n == 0 || n > t->count - got)
            return fail_protocol(c, diag);
        if (!err && out)
            err = gcb_tensor_convert(&c->file, t, got, bytes + HEAD, n,
                                     out + got * gcb_tensor_wide(t), diag);
    }
    if (c->asked) {
        c->first++;
        c->asked--;
    }
    return err;
}

/* Receives and drops all tensors that the child was asked for. Then asks for tensor `number`. */
static int ask_only(struct gcb_file_child *c, size_t number, uint64_t room, struct gcb_diag *diag)
{
    uint64_t needed;
    int err = 0;

    while (c->asked)
        err = receive_tensor(c, NULL, &needed, diag);
    if (c->pid < 0)
        return err;
    c->first = number;
    if (ask(c, &c->tensors[number], room, 0))
        return 0;
    return errno == EPIPE || errno == ECONNRESET
               ? fail_crashed(c, diag)
               : gcb_infile_fail(&c->file, NULL, GCB_E_IO, diag, "%s", strerror(errno));
}

/* Lets the child map `more` bytes in addition to its limit, but not above the hard limit. */
static void raise_limit(const struct gcb_file_child *c, uint64_t more)
{
    struct rlimit limit;

    if (prlimit(c->pid, RLIMIT_AS, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    limit.rlim_cur =
        more < limit.rlim_max - limit.rlim_cur ? limit.rlim_cur + more : limit.rlim_max;
    prlimit(c->pid, RLIMIT_AS, &limit, NULL);
}

/* Receives tensor `number` from the child. If the child needs larger pieces than PIECE, raises
 * the child's limit on memory and asks again. */
static int read_by_child(struct gcb_file_child *c, size_t number, uint8_t *out,
                         struct gcb_diag *diag)
{
    uint64_t needed = 0, more;
    int err = 0;

    if (c->asked == 0 || c->first != number)
        err = ask_only(c, number, PIECE, diag);
    if (!err && number == c->expected)
        prefetch_tensors(c);
    c->expected = number + 1;
    if (!err)
        err = receive_tensor(c, out, &needed, diag);
    if (err || !needed)
        return err;
    raise_limit(c, needed);
    err = ask_only(c, number, needed, diag);
    if (!err)
        err = receive_tensor(c, out, &more, diag);
    return !err && more ? fail_protocol(c, diag) : err;
}

/* Reads a tensor in this process. The stored elements are read to the end of `out` and converted
 * there. Stored elements that are larger than converted ones get a buffer of their own. */
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

int gcb_file_child_read(struct gcb_file_child *child, const struct gcb_tensor *tensors,
                        size_t count, size_t number, void *out, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = &tensors[number];

    child->tensors = tensors;
    child->count = count;
    if (t->offset)
        return gcb_tensor_read_stored(&child->file, child->descriptor, t, 0, t->count, out, diag);
    if (child->pid == 0)
        return read_here(child, t, out, diag);
    if (child->pid < 0)
        return fail_ended(child, GCB_E_CORRUPT, diag,
                          "damaged: the process that read it has ended");
    return t->count ? read_by_child(child, number, out, diag) : 0;
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
