#include "src/tool/read/child.h"

#include <errno.h>
#include <fcntl.h>
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
#include "src/tool/read/child.h"

enum {
    BATCH = 4 << 20, /* most bytes that the child reads ahead */
    FIRST_BATCH = 256 << 10,
    BATCH_ITEMS = 256,
    PATIENCE = 3, /* the child may wait this many times as long as it may work */
};
/* One request to the child: either several whole tensors, or a piece of one. */
struct batch {
    size_t first, count; /* number of the first tensor, and how many */
    uint64_t from;       /* number of the first element of the piece */
    uint64_t elements;   /* number of elements of the piece */
    bool piece;
    unsigned half;
    uint32_t offset[BATCH_ITEMS]; /* offset of each tensor in the half of the shared memory */
};

struct gcb_child {
    struct gcb_infile file;
    void *state; /* of the reader, if there is no child */
    pid_t pid;   /* 0: no child; this process reads the file */
    int socket, memory;
    int descriptor; /* the open file, to read tensors that lie in one piece */
    struct gcb_shared shared;
    struct batch ready;  /* the batch that the child has read; count is 0 if there is no batch */
    struct batch asked;  /* the batch that the child was asked for; count is 0 if there is none */
    size_t expected;     /* number of the tensor that is read next if all are read in order */
    size_t ahead;        /* bytes to read ahead */
    struct timespec cpu; /* the child's processor time when it last made progress */
    uint64_t steps;      /* value of trace->steps when `cpu` was taken */
};

/* ---- the parent: starting and ending the child ---- */

static int fail_to_start(const struct gcb_child *c, struct gcb_diag *diag)
{
    return gcb_infile_fail(&c->file, NULL, errno == ENOMEM ? GCB_E_NOMEM : GCB_E_IO, diag,
                           "cannot start a process that reads the file: %s; try --in-process",
                           errno == ENOMEM ? "out of memory" : strerror(errno));
}

/* Makes and maps the memory. *memory is its descriptor, which the caller closes, also on failure; -1: none. Returns false
 * with errno. */
static bool make_shared(struct gcb_shared *shared, int *memory, size_t half)
{
    const size_t size = gcb_shared_size(half);
    void *at;

    *memory = memfd_create("gcbench-read", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*memory < 0 || ftruncate(*memory, (off_t)size) != 0)
        return false;
    /* If the child could shorten it, the parent's next access would end the parent (SIGBUS). It may grow. */
    if (fcntl(*memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return false;
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *memory, 0);
    if (at == MAP_FAILED)
        return false;
    *shared = (struct gcb_shared){at, half};
    return true;
}

static int start_child(struct gcb_child *c, const char *path, const struct gcb_lister *lister,
                       struct gcb_diag *diag)
{
    const struct timeval look = {.tv_sec = 1};
    const pid_t parent = getpid();
    int ends[2] = {-1, -1};
    sigset_t before;

    if (!make_shared(&c->shared, &c->memory, BATCH) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_to_start(c, diag);
    c->socket = ends[0];
    setsockopt(c->socket, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof(look));
    gcb_tidy_hold(&before);
    c->pid = fork();
    if (c->pid == 0) {
        const int socket = gcb_sandbox_enter(ends[1], parent, c->file.reader->address_space);

        gcb_port_serve(&c->file, path, lister, socket, c->shared);
    }
    gcb_tidy_let_go(&before);
    close(ends[1]);
    if (c->pid > 0)
        return 0;
    c->pid = 0;
    return fail_to_start(c, diag);
}

/* Has the child closed its socket, at the latest a second from now? If it waits for a dead file system, it cannot end. */
static bool is_ending(const struct gcb_child *c)
{
    uint8_t byte;
    ssize_t n;

    do
        n = recv(c->socket, &byte, 1, 0);
    while (n > 0 || (n < 0 && errno == EINTR));
    return n == 0 || errno == ECONNRESET;
}

/* Ends the child. Returns its exit status as waitpid gives it, or -1. */
static int end_child(struct gcb_child *c)
{
    int status = -1;

    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        while (is_ending(c) && waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    c->pid = -1;
    c->ready.count = c->asked.count = 0;
    return status;
}

/* Sets the message for a child that is not usable any more: file and object, then how it ended. Returns `status`. */
static int fail_ended(const struct gcb_child *c, int status, struct gcb_diag *diag, const char *how)
{
    const struct gcb_trace *trace = (const struct gcb_trace *)(const void *)c->shared.at;
    char path[GCB_READ_PATH + 1];

    memcpy(path, trace->path, sizeof(path));
    path[GCB_READ_PATH] = '\0';
    return gcb_infile_fail(&c->file, path[0] == '/' && path[1] ? path : NULL, status, diag, "%s",
                           how);
}

static int fail_damaged(const struct gcb_child *c, struct gcb_diag *diag, const char *how)
{
    char text[128];

    snprintf(text, sizeof(text), "damaged: %s", how);
    return fail_ended(c, GCB_E_CORRUPT, diag, text);
}

/* The child has closed its socket, so it is ending, and its exit status is final. */
static int fail_crashed(struct gcb_child *c, struct gcb_diag *diag)
{
    char how[96];
    const int status = end_child(c);
    const int used =
        snprintf(how, sizeof(how), "%s crashed while reading it", c->file.reader->library);

    if (status != -1 && WIFSIGNALED(status))
        snprintf(how + used, sizeof(how) - (size_t)used, " (signal %d)", WTERMSIG(status));
    return fail_damaged(c, diag, how);
}

/* ---- the parent: packets from the child ---- */

/* Returns the processor time in seconds that the child has used since it last made progress. *all: since its start. */
static double stuck_for(struct gcb_child *c, double *all)
{
    const struct gcb_trace *trace = (const struct gcb_trace *)(const void *)c->shared.at;
    const uint64_t steps = __atomic_load_n(&trace->steps, __ATOMIC_RELAXED);
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

static int fail_stuck(struct gcb_child *c, struct gcb_diag *diag)
{
    char how[96];

    end_child(c);
    snprintf(how, sizeof(how), "%s took more than %u s of processor time to read it",
             c->file.reader->library, c->file.limits.seconds);
    return fail_damaged(c, diag, how);
}

/* For a child that neither works nor answers. */
static int fail_waiting(struct gcb_child *c, struct gcb_diag *diag)
{
    const bool external = c->file.limits.allow_external;
    char how[160];

    end_child(c);
    snprintf(how, sizeof(how), "no data for %u s; copy the file to a local disk%s",
             PATIENCE * c->file.limits.seconds,
             external ? ", or leave out --allow-external: its data may be in a pipe" : "");
    return fail_ended(c, GCB_E_IO, diag, how);
}

/* Receives one packet of at most GCB_PORT_PACKET bytes into `bytes`. */
static int receive(struct gcb_child *c, uint8_t *bytes, struct gcb_rbuf *out, struct gcb_diag *diag)
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
        if (n == 0 || errno == ECONNRESET)
            return fail_crashed(c, diag);
        if (errno != EAGAIN && errno != EINTR) {
            end_child(c);
            return gcb_infile_fail(&c->file, NULL, GCB_E_IO, diag, "%s", strerror(errno));
        }
        if (errno != EAGAIN) /* a signal, not a second without a packet */
            continue;
        if (stuck_for(c, &worked) > c->file.limits.seconds)
            return fail_stuck(c, diag);
        waited = worked == before ? waited + 1 : 0;
        if (waited >= PATIENCE * c->file.limits.seconds)
            return fail_waiting(c, diag);
    }
}

static int fail_protocol(struct gcb_child *c, struct gcb_diag *diag)
{
    end_child(c);
    return fail_damaged(c, diag, "the process that reads it sent an invalid reply");
}

/* The result of a request. */
struct done {
    int status;
    uint32_t items;
    uint64_t elements;
    struct gcb_diag diag;
};

/* Can reading a file give this status? The child is not trusted, and other statuses would change the exit status of the
 * command. */
static bool is_status(int status)
{
    return status == 0 || status == GCB_E_NOMEM || status == GCB_E_CORRUPT || status == GCB_E_IO ||
           status == GCB_E_UNSUPPORTED || status == GCB_E_INTERNAL;
}

/* Copies a message of the child and escapes control characters. Backslashes are kept, because the child has already
 * escaped the names. */
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

static int parse_done(struct gcb_child *c, struct gcb_rbuf *in, struct done *out,
                      struct gcb_diag *diag)
{
    char text[GCB_DIAG_TEXT];
    const char *sent;

    out->status = (int)gcb_get_u32(in);
    out->items = gcb_get_u32(in);
    out->elements = gcb_get_u64(in);
    sent = gcb_text_take(in, sizeof(text));
    if (!sent || !is_status(out->status) || (out->status && !*sent) || gcb_rbuf_left(in))
        return fail_protocol(c, diag);
    escape_text(text, sent);
    if (out->status) {
        gcb_diag_set(&out->diag, out->status, "%s", text);
        gcb_infile_complete(&c->file, &out->diag);
    }
    return 0;
}

/* What the child may still send of a list. */
struct room {
    uint64_t records, bytes;
};

static int take_records(struct gcb_child *c, const struct gcb_lister *lister, struct gcb_rbuf *in,
                        struct room *left, struct gcb_diag *diag)
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
static int await_list(struct gcb_child *c, const struct gcb_lister *lister, struct gcb_diag *diag)
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

/* Opens the file in this process, too, to read what lies there in one piece. *real is its path without links, because the
 * child may not follow links. The caller frees it. */
static int open_file(struct gcb_child *c, char **real, struct gcb_diag *diag)
{
    const char *path = c->file.path;

    c->descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO must not block */
    if (c->descriptor >= 0)
        *real = realpath(path, NULL);
    return *real ? 0 : gcb_infile_fail(&c->file, NULL, GCB_E_IO, diag, "%s", strerror(errno));
}

int gcb_child_open(struct gcb_child **out, const struct gcb_infile *file,
                   const struct gcb_lister *lister, struct gcb_diag *diag)
{
    const struct gcb_reader *reader = file->reader;
    struct gcb_child *c = gcb_alloc_zero(1, sizeof(*c));
    char *real = NULL;
    int err = 0;

    if (!c)
        return gcb_diag_nomem(diag, sizeof(*c), "reading a file");
    c->file = *file;
    c->socket = c->memory = c->descriptor = -1;
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
    gcb_child_close(c);
    return err;
}

void gcb_child_close(struct gcb_child *child)
{
    if (!child)
        return;
    end_child(child);
    if (child->descriptor >= 0)
        close(child->descriptor);
    if (child->socket >= 0)
        close(child->socket);
    if (child->memory >= 0)
        close(child->memory);
    if (child->shared.at)
        munmap(child->shared.at, gcb_shared_size(child->shared.half));
    if (child->file.reader->close)
        child->file.reader->close(child->state);
    gcb_free(child);
}

/* ---- the parent: reading tensors ---- */

/* Widens both halves of the shared memory to at least `size` bytes. Call it only while no request is unanswered. */
static int widen(struct gcb_child *c, uint64_t size, struct gcb_diag *diag)
{
    const size_t half = (size + 4095) & ~UINT64_C(4095), more = 2 * (half - c->shared.half);
    struct rlimit limit;

    if (size > INT64_MAX / 4)
        return gcb_diag_nomem(diag, size, "a row of chunks");
    if (ftruncate(c->memory, (off_t)gcb_shared_size(half)) != 0 ||
        !gcb_shared_widen(&c->shared, half))
        return gcb_diag_nomem(diag, 2 * half, "a row of chunks");
    c->ready.count = 0;
    if (prlimit(c->pid, RLIMIT_AS, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        limit.rlim_cur += more;
        if (limit.rlim_cur > limit.rlim_max)
            limit.rlim_cur = limit.rlim_max;
        prlimit(c->pid, RLIMIT_AS, &limit, NULL);
    }
    return 0;
}

static void put_request(struct gcb_wbuf *w, const struct gcb_child *c, const struct batch *b,
                        const struct gcb_wbuf *list)
{
    gcb_put_u64(w, c->shared.half);
    gcb_put_u32(w, b->half);
    gcb_put_u64(w, b->from);
    gcb_put_u32(w, (uint32_t)b->count);
    memcpy(gcb_wbuf_take(w, list->len), list->data, list->len);
}

/* Requests a tensor from element `from` on, and the tensors after it if they are small. */
static int ask(struct gcb_child *c, const struct gcb_tensors *tensors, size_t number, uint64_t from,
               struct gcb_diag *diag)
{
    uint8_t bytes[GCB_PORT_PACKET], listed[GCB_PORT_PACKET / 2];
    struct gcb_wbuf request = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_wbuf list = {.data = listed, .cap = sizeof(listed)};
    struct batch *b = &c->asked;
    const struct gcb_tensor *t;
    size_t used = 0;

    b->first = number;
    b->from = from;
    b->half = !c->ready.half;
    b->piece = false;
    for (b->count = 0; b->count < BATCH_ITEMS && !b->piece; b->count++) {
        const size_t before = list.len;
        uint64_t size;

        t = tensors->get(tensors->ctx, number + b->count);
        if (!t)
            break;
        size = gcb_element_size(t->element) * t->count;
        b->piece = b->count == 0 && (from || size > BATCH);
        if (b->count && (size > c->ahead || used + size > c->ahead))
            break;
        gcb_tensor_put(&list, t);
        if (list.failed) { /* no more tensors fit into the packet */
            list.len = before;
            break;
        }
        b->offset[b->count] = (uint32_t)used;
        used += b->piece ? 0 : (size + 63) & ~UINT64_C(63);
    }
    put_request(&request, c, b, &list);
    if (gcb_packet_send(c->socket, &request))
        return 0;
    b->count = 0;
    return errno == EPIPE || errno == ECONNRESET
               ? fail_crashed(c, diag)
               : gcb_infile_fail(&c->file, NULL, GCB_E_IO, diag, "%s", strerror(errno));
}

/* Waits for the answer; the requested tensors are then ready. A failed one is not ready; done->status says why. */
static int await(struct gcb_child *c, struct done *done, struct gcb_diag *diag)
{
    uint8_t bytes[GCB_PORT_PACKET];
    struct gcb_rbuf in;
    int err = receive(c, bytes, &in, diag);

    if (!err && gcb_get_u8(&in) != GCB_PORT_DONE)
        err = fail_protocol(c, diag);
    if (!err)
        err = parse_done(c, &in, done, diag);
    if (err)
        return err;
    if (done->items > c->asked.count ||
        (done->items < c->asked.count && !done->status && !(c->asked.piece && done->items == 0)))
        return fail_protocol(c, diag);
    c->ready = c->asked;
    c->asked.count = 0;
    c->ready.count = done->items;
    c->ready.elements = done->elements;
    return 0;
}

static bool covers(const struct batch *b, size_t number, uint64_t from)
{
    return number >= b->first && number - b->first < b->count && (!b->piece || from == b->from);
}

/* Requests the tensors after the ready batch, so that the child reads them while the caller works. */
static int ask_ahead(struct gcb_child *c, const struct gcb_tensors *tensors,
                     const struct gcb_tensor *t, struct gcb_diag *diag)
{
    const struct batch *b = &c->ready;

    if (b->piece && b->from + b->elements < t->count)
        return ask(c, tensors, b->first, b->from + b->elements, diag);
    if (c->ahead && tensors->get(tensors->ctx, b->first + b->count))
        return ask(c, tensors, b->first + b->count, 0, diag);
    return 0;
}

/* Makes the tensor, or its piece that begins at `from`, ready. `widened` says that the shared memory was already widened
 * to the size that the child asked for. */
static int obtain(struct gcb_child *c, const struct gcb_tensors *tensors, size_t number,
                  uint64_t from, bool widened, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = tensors->get(tensors->ctx, number);
    const size_t size = gcb_element_size(t->element);
    struct done done;
    int err = 0;

    if (covers(&c->ready, number, from))
        return 0;
    if (c->asked.count && !(covers(&c->asked, number, from)))
        err = await(c, &done, diag); /* others were requested ahead; wait for them first */
    if (!err && !c->asked.count)
        err = ask(c, tensors, number, from, diag);
    if (!err)
        err = await(c, &done, diag);
    if (err)
        return err;
    if (c->ready.count == 0 && done.status)
        return gcb_diag_set(diag, done.status, "%s", done.diag.text);
    if (c->ready.piece && (done.elements == 0 || done.elements > t->count - from))
        return fail_protocol(c, diag);
    if (c->ready.piece && c->ready.count == 0) {
        if (widened || done.elements <= c->shared.half / size)
            return fail_protocol(c, diag);
        err = widen(c, done.elements * size, diag);
        return err ? err : obtain(c, tensors, number, from, true, diag);
    }
    if (c->ready.piece && done.elements > c->shared.half / size)
        return fail_protocol(c, diag);
    if (!covers(&c->ready, number, from)) /* an earlier tensor of the batch failed */
        return obtain(c, tensors, number, from, widened, diag);
    return ask_ahead(c, tensors, t, diag);
}

/* Reads a tensor in this process. Its stored elements stand at the end of `out` or, if they are larger, apart. */
static int read_here(struct gcb_child *c, const struct gcb_tensor *t, uint8_t *out,
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

int gcb_child_read(struct gcb_child *child, const struct gcb_tensors *tensors, size_t number,
                   void *out, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = tensors->get(tensors->ctx, number);
    uint8_t *to = out;
    int err = 0;

    if (t->offset)
        return gcb_tensor_read_stored(&child->file, child->descriptor, t, 0, t->count, out, diag);
    if (child->pid == 0)
        return read_here(child, t, out, diag);
    if (child->pid < 0)
        return fail_damaged(child, diag, "the process that read it has ended");
    if (number != child->expected)
        child->ahead = 0;
    else if (child->ahead < BATCH)
        child->ahead = child->ahead ? child->ahead * 4 : FIRST_BATCH;
    child->expected = number + 1;
    for (uint64_t from = 0; from < t->count && !err;) {
        const struct batch *b = &child->ready;
        const uint8_t *data;
        uint64_t count;

        err = obtain(child, tensors, number, from, false, diag);
        if (err)
            break;
        data = gcb_shared_half(&child->shared, b->half) + b->offset[number - b->first];
        count = b->piece ? b->elements : t->count;
        err = gcb_tensor_convert(&child->file, t, from, data, count, to, diag);
        to += count * gcb_tensor_wide(t);
        from += count;
    }
    return err;
}

int gcb_child_read_part(const struct gcb_child *child, const struct gcb_tensor *t, uint64_t from,
                        uint64_t count, void *out, struct gcb_diag *diag)
{
    if (!t->offset || from > t->count || count > t->count - from)
        return gcb_infile_fail(
            &child->file, t->dataset, GCB_E_INTERNAL, diag,
            "a part that lies outside of the dataset's stored elements was asked for");
    return gcb_tensor_read_stored(&child->file, child->descriptor, t, from, count, out, diag);
}
