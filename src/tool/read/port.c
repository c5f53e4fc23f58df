#include "src/tool/read/port.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/read/sandbox.h"

/* ---- records ---- */

void gcb_h5text_put(struct gcb_wbuf *record, const char *text)
{
    const size_t n = strlen(text) + 1;
    uint8_t *to;

    gcb_put_u32(record, (uint32_t)n);
    to = gcb_wbuf_take(record, n);
    if (to)
        memcpy(to, text, n);
}

const char *gcb_h5text_take(struct gcb_rbuf *record, size_t most)
{
    const uint32_t n = gcb_get_u32(record);
    const char *text = (const char *)gcb_rbuf_take(record, n);

    return text && n > 0 && n <= most && memchr(text, '\0', n) == text + n - 1 ? text : NULL;
}

void gcb_h5text_escape(char out[GCB_DIAG_TEXT], const char *text)
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

void gcb_h5item_put(struct gcb_wbuf *w, const struct gcb_h5item *item)
{
    gcb_put_u8(w, item->bytes);
    gcb_put_u8(w, (uint8_t)item->dtype);
    gcb_put_u8(w, (uint8_t)item->format);
    gcb_put_u8(w, (uint8_t)item->rank);
    for (unsigned i = 0; i < item->rank; i++)
        gcb_put_u64(w, item->dims[i]);
    gcb_put_u64(w, item->count);
    gcb_h5text_put(w, item->path);
}

/* Reads an item from a request. The child trusts the parent, so nothing is checked. */
static void take_item(struct gcb_rbuf *r, struct gcb_h5item *item, uint64_t dims[GCB_MAX_RANK])
{
    item->dims = dims;
    item->bytes = gcb_get_u8(r) != 0;
    item->dtype = (enum gcb_dtype)gcb_get_u8(r);
    item->format = (enum gcb_h5format)gcb_get_u8(r);
    item->rank = gcb_get_u8(r);
    for (unsigned i = 0; i < item->rank && i < GCB_MAX_RANK; i++)
        dims[i] = gcb_get_u64(r);
    item->count = gcb_get_u64(r);
    item->path = gcb_h5text_take(r, GCB_H5_PACKET);
}

/* ---- shared memory ---- */

_Static_assert(sizeof(struct gcb_h5trace) <= GCB_H5_TRACE_BYTES,
               "the trace must fit into its pages");

size_t gcb_h5shared_size(size_t half)
{
    return GCB_H5_TRACE_BYTES + 2 * half;
}

struct gcb_h5trace *gcb_h5shared_trace(const struct gcb_h5shared *shared)
{
    return (struct gcb_h5trace *)(void *)shared->at;
}

uint8_t *gcb_h5shared_half(const struct gcb_h5shared *shared, unsigned which)
{
    return shared->at + GCB_H5_TRACE_BYTES + which * shared->half;
}

bool gcb_h5shared_make(struct gcb_h5shared *shared, int *memory, size_t half)
{
    const size_t size = gcb_h5shared_size(half);
    void *at;

    *memory = memfd_create("gcbench-hdf5", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*memory < 0 || ftruncate(*memory, (off_t)size) != 0)
        return false;
    /* If the child could shorten it, the parent's next access would end the parent (SIGBUS). It may grow. */
    if (fcntl(*memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return false;
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *memory, 0);
    if (at == MAP_FAILED)
        return false;
    *shared = (struct gcb_h5shared){at, half};
    return true;
}

bool gcb_h5shared_widen(struct gcb_h5shared *shared, size_t half)
{
    void *moved = mremap(shared->at, gcb_h5shared_size(shared->half), gcb_h5shared_size(half),
                         MREMAP_MAYMOVE);

    if (moved == MAP_FAILED)
        return false;
    *shared = (struct gcb_h5shared){moved, half};
    return true;
}

/* ---- the child ---- */

bool gcb_h5packet_send(int socket, const struct gcb_wbuf *packet)
{
    ssize_t n;

    do
        n = send(socket, packet->data, packet->len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)packet->len;
}

/* Sends the records that are waiting. If the parent has ended, the child ends too. */
static void flush_records(struct gcb_h5port *port)
{
    if (port->packet.len > 1 && !gcb_h5packet_send(port->socket, &port->packet))
        _exit(1);
    port->packet.len = 0;
    gcb_put_u8(&port->packet, GCB_H5_RECORDS);
}

uint64_t gcb_h5port_most(const struct gcb_h5file *file)
{
    const uint64_t most = file->limits.max_bytes;

    return ((uint64_t)16 << 20) + (file->size < most / 16 ? 16 * file->size : most);
}

int gcb_h5port_put(struct gcb_h5port *port, struct gcb_diag *diag)
{
    struct gcb_wbuf *record = &port->record;
    int err = 0;

    if (record->failed)
        return gcb_h5file_fail(port->file, NULL, GCB_E_CORRUPT, diag,
                               "an object's description is longer than 16384 bytes");
    port->bytes += record->len;
    if (port->bytes > gcb_h5port_most(port->file))
        return gcb_h5file_fail(port->file, NULL, GCB_E_CORRUPT, diag,
                               "the names of its objects take more than %" PRIu64 " bytes",
                               gcb_h5port_most(port->file));
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

/* Tells the parent how a request ended: how many items were read, and the elements of the last one. */
static void send_done(int socket, int status, const struct gcb_diag *diag, uint32_t items,
                      uint64_t elements)
{
    uint8_t bytes[GCB_DIAG_TEXT + 64];
    struct gcb_wbuf w = {.data = bytes, .cap = sizeof(bytes)};

    gcb_put_u8(&w, GCB_H5_DONE);
    gcb_put_u32(&w, (uint32_t)status);
    gcb_put_u32(&w, items);
    gcb_put_u64(&w, elements);
    gcb_h5text_put(&w, status ? diag->text : "");
    if (!gcb_h5packet_send(socket, &w))
        _exit(1);
}

int gcb_h5list(const struct gcb_h5file *file, const struct gcb_h5lister *lister, int socket,
               struct gcb_diag *diag)
{
    uint8_t record[GCB_H5_RECORD], packet[GCB_H5_PACKET];
    struct gcb_h5port port = {
        .file = file,
        .record = {.data = record, .cap = sizeof(record)},
        .lister = lister,
        .socket = socket,
        .packet = {.data = packet, .cap = sizeof(packet)},
    };
    int err;

    gcb_put_u8(&port.packet, GCB_H5_RECORDS);
    err = lister->list(lister->ctx, &port, diag);
    if (socket >= 0)
        flush_records(&port);
    return err;
}

/* The state of the child while it answers requests. */
struct server {
    struct gcb_h5file file;
    int socket;
    struct gcb_h5shared shared;
};

/* Answers a request. */
static void answer(struct server *s, struct gcb_rbuf *request)
{
    const size_t half = gcb_get_u64(request);
    uint8_t *out;
    const unsigned which = gcb_get_u32(request);
    uint64_t from = gcb_get_u64(request), elements = 0;
    const uint32_t count = gcb_get_u32(request);
    struct gcb_diag diag = {0};
    size_t used = 0;
    uint32_t done = 0;
    int err = 0;

    if (half > s->shared.half && !gcb_h5shared_widen(&s->shared, half))
        _exit(1);
    s->file.trace = gcb_h5shared_trace(&s->shared);
    out = gcb_h5shared_half(&s->shared, which);
    for (; done < count; done++) {
        uint64_t dims[GCB_MAX_RANK], room;
        struct gcb_h5item item;

        take_item(request, &item, dims);
        room = elements = (s->shared.half - used) / gcb_h5item_size(&item);
        err = gcb_h5item_read(&s->file, &item, from, &elements, out + used, &diag);
        if (err || elements > room)
            break;
        used += (elements * gcb_h5item_size(&item) + 63) & ~UINT64_C(63);
        from = 0;
    }
    send_done(s->socket, err, &diag, done, elements);
}

_Noreturn void gcb_h5serve(const struct gcb_h5file *found, const char *path,
                           const struct gcb_h5lister *lister, int socket,
                           struct gcb_h5shared shared)
{
    struct server s = {.file = *found, .socket = socket, .shared = shared};
    uint8_t bytes[GCB_H5_PACKET];
    struct gcb_diag diag = {0};
    int err;

    s.file.trace = gcb_h5shared_trace(&shared);
    gcb_h5file_trace(&s.file, "/");
    err = gcb_h5file_open(&s.file, path, &diag);
    if (!found->limits.allow_external)
        gcb_h5sandbox_close_files();
    if (!err && lister)
        err = gcb_h5list(&s.file, lister, socket, &diag);
    send_done(socket, err, &diag, 0, 0);
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
