#include "src/tool/read/child.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/tool/read/child.h"

/* ---- records ---- */

void gcb_text_put(struct gcb_wbuf *record, const char *text)
{
    const size_t n = strlen(text) + 1;
    uint8_t *to;

    gcb_put_u32(record, (uint32_t)n);
    to = gcb_wbuf_take(record, n);
    if (to)
        memcpy(to, text, n);
}

const char *gcb_text_take(struct gcb_rbuf *record, size_t most)
{
    const uint32_t n = gcb_get_u32(record);
    const char *text = (const char *)gcb_rbuf_take(record, n);

    return text && n > 0 && n <= most && memchr(text, '\0', n) == text + n - 1 ? text : NULL;
}

void gcb_tensor_put(struct gcb_wbuf *w, const struct gcb_tensor *t)
{
    const size_t n = offsetof(struct gcb_tensor, dims) + t->rank * sizeof(*t->dims);
    uint8_t *to = gcb_wbuf_take(w, n);

    if (to)
        memcpy(to, t, n);
    gcb_text_put(w, t->dataset);
}

/* True if the shape, types and place of a tensor agree with each other and with the file. The
 * process that sent them is not trusted. */
static bool is_plausible(const struct gcb_tensor *t, const struct gcb_infile *file)
{
    const size_t size = t->element < GCB_ELEMENTS ? gcb_element_size(t->element) : 0;
    bool empty = t->rank == 0 && t->count == 0; /* a null dataspace */
    uint64_t count = 1;                         /* product of the dimensions */

    if (size == 0 || t->dtype > GCB_F64 || t->index < -1)
        return false;
    /* a float32 may count as a smaller type, which its attribute source_dtype names */
    if (t->dtype != gcb_element_dtype(t->element) &&
        (t->element != GCB_ELEMENT_FP32 || t->dtype == GCB_F64))
        return false;
    for (unsigned i = 0; i < t->rank; i++)
        empty |= t->dims[i] == 0;
    for (unsigned i = 0; i < t->rank && !empty; i++)
        if (__builtin_mul_overflow(count, t->dims[i], &count))
            return false;
    if (t->count != (empty ? 0 : count))
        return false;
    /* with --allow-external the bytes may be in another file, so the child sends no offset */
    return t->offset == 0 || (!file->limits.allow_external && t->offset <= file->size &&
                              t->count <= (file->size - t->offset) / size);
}

bool gcb_tensor_take(struct gcb_tensor *t, struct gcb_rbuf *record, const struct gcb_infile *file)
{
    const uint8_t *from = gcb_rbuf_take(record, offsetof(struct gcb_tensor, dims));

    if (!from)
        return false;
    memcpy(t, from, offsetof(struct gcb_tensor, dims));
    if (t->rank > GCB_MAX_RANK)
        return false;
    from = gcb_rbuf_take(record, t->rank * sizeof(*t->dims));
    if (from)
        memcpy(t->dims, from, t->rank * sizeof(*t->dims));
    t->path = t->file = NULL;
    t->dataset = gcb_text_take(record, GCB_READ_PATH + 1);
    return from && t->dataset && is_plausible(t, file);
}

/* ---- the child ---- */

bool gcb_packet_send(int socket, const struct gcb_wbuf *packet, int flags)
{
    ssize_t n;

    do
        n = send(socket, packet->data, packet->len, MSG_NOSIGNAL | flags);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)packet->len;
}

/* Sends the records that are waiting. If the parent has ended, the child ends too. */
static void flush_records(struct gcb_port *port)
{
    if (port->packet.len > 1 && !gcb_packet_send(port->socket, &port->packet, 0))
        _exit(1);
    port->packet.len = 0;
    gcb_put_u8(&port->packet, GCB_PORT_RECORDS);
}

uint64_t gcb_port_most(const struct gcb_infile *file)
{
    const uint64_t most = file->limits.max_bytes;

    return ((uint64_t)16 << 20) + (file->size < most / 16 ? 16 * file->size : most);
}

int gcb_port_put(struct gcb_port *port, struct gcb_diag *diag)
{
    struct gcb_wbuf *record = &port->record;
    int err = 0;

    if (record->failed)
        return gcb_infile_fail(port->file, NULL, GCB_E_CORRUPT, diag,
                               "an object's description is longer than 16384 bytes");
    port->bytes += record->len;
    if (port->bytes > gcb_port_most(port->file))
        return gcb_infile_fail(port->file, NULL, GCB_E_CORRUPT, diag,
                               "the names of its objects take more than %" PRIu64 " bytes",
                               gcb_port_most(port->file));
    if (port->socket < 0) {
        struct gcb_rbuf in = {.data = record->data, .len = record->len};

        err = port->lister->take(port->lister->ctx, &in, diag);
    } else {
        if (port->packet.cap - port->packet.len < record->len + 4)
            flush_records(port);
        gcb_put_u32(&port->packet, (uint32_t)record->len);
        memcpy(gcb_wbuf_take(&port->packet, record->len), record->data, record->len);
    }
    record->len = 0;
    return err;
}

/* Tells the parent how the listing ended, or that a tensor cannot be read. `needed`: bytes of its
 * smallest piece. */
static void send_done(int socket, int status, const struct gcb_diag *diag, uint64_t needed)
{
    uint8_t bytes[GCB_DIAG_TEXT + 64];
    struct gcb_wbuf w = {.data = bytes, .cap = sizeof(bytes)};

    gcb_put_u8(&w, GCB_PORT_DONE);
    gcb_put_u32(&w, (uint32_t)status);
    gcb_put_u64(&w, needed);
    gcb_text_put(&w, status ? diag->text : "");
    if (!gcb_packet_send(socket, &w, 0))
        _exit(1);
}

int gcb_port_list(const struct gcb_infile *file, void *state, const struct gcb_lister *lister,
                  int socket, struct gcb_diag *diag)
{
    uint8_t record[GCB_PORT_RECORD], packet[GCB_PORT_PACKET];
    struct gcb_port port = {
        .file = file,
        .record = {.data = record, .cap = sizeof(record)},
        .lister = lister,
        .socket = socket,
        .packet = {.data = packet, .cap = sizeof(packet)},
    };
    int err;

    gcb_put_u8(&port.packet, GCB_PORT_RECORDS);
    err = lister->list(lister->ctx, state, &port, diag);
    if (socket >= 0)
        flush_records(&port);
    return err;
}

/* The state of the child while it answers requests. */
struct server {
    struct gcb_infile file;
    void *state;
    int socket;
    uint8_t *piece; /* room for the head of a packet, then for `room` bytes of elements */
    uint64_t room;
};

/* Sends the first n bytes of the piece. The head of a packet overwrites what was sent before. */
static void send_piece(const struct server *s, uint64_t n)
{
    const uint64_t most = GCB_PORT_PACKET - GCB_PORT_HEAD;

    for (uint64_t sent = 0; sent < n; sent += most) {
        const uint64_t part = n - sent < most ? n - sent : most;
        const struct gcb_wbuf packet = {.data = s->piece + sent, .len = GCB_PORT_HEAD + part};

        packet.data[0] = GCB_PORT_ELEMENTS;
        if (!gcb_packet_send(s->socket, &packet, 0))
            _exit(1);
    }
}

static int make_room(struct server *s, uint64_t room, struct gcb_diag *diag)
{
    if (room <= s->room)
        return 0;
    gcb_free(s->piece);
    s->room = 0;
    s->piece = gcb_alloc(GCB_PORT_HEAD + room);
    if (!s->piece)
        return gcb_diag_nomem(diag, room, "a row of chunks");
    s->room = room;
    return 0;
}

/* Answers a request: sends a tensor piece by piece. */
static void answer(struct server *s, struct gcb_rbuf *request)
{
    const uint64_t room = gcb_get_u64(request);
    struct gcb_diag diag = {0};
    struct gcb_tensor t;
    int err = make_room(s, room, &diag);

    if (!gcb_tensor_take(&t, request, &s->file))
        _exit(1);
    for (uint64_t from = 0, count; from < t.count && !err; from += count) {
        const size_t size = gcb_element_size(t.element);

        count = s->room / size;
        err = s->file.reader->read(s->state, &t, from, &count, s->piece + GCB_PORT_HEAD, &diag);
        if (!err && count > s->room / size) {
            send_done(s->socket, 0, NULL, count * size);
            return;
        }
        if (!err && (count == 0 || count > t.count - from))
            _exit(1);
        if (!err)
            send_piece(s, count * size);
    }
    if (err)
        send_done(s->socket, err, &diag, 0);
}

_Noreturn void gcb_port_serve(const struct gcb_infile *file, const char *path,
                              const struct gcb_lister *lister, int socket)
{
    struct server s = {.file = *file, .socket = socket};
    uint8_t bytes[GCB_PORT_PACKET];
    struct gcb_diag diag = {0};
    int err;

    gcb_infile_trace(&s.file, "/");
    err = file->reader->open(&s.state, &s.file, path, &diag);
    if (!file->limits.allow_external || !file->reader->opens_files)
        gcb_sandbox_close_files();
    if (!err && lister)
        err = gcb_port_list(&s.file, s.state, lister, socket, &diag);
    send_done(socket, err, &diag, 0);
    while (!err) {
        const ssize_t n = recv(socket, bytes, sizeof(bytes), 0);
        struct gcb_rbuf request = {.data = bytes, .len = n > 0 ? (size_t)n : 0};

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        answer(&s, &request);
    }
    _exit(0);
}
