#ifndef SRC_TOOL_READ_PORT_H
#define SRC_TOOL_READ_PORT_H

#include "src/lib/wire/buf.h"
#include "src/tool/read/hdf5_item.h"

/*
 * The work of the child that reads a file (h5child.h), and the protocol between the child and its parent. Each packet
 * on the socket is one datagram of at most GCB_H5_PACKET bytes:
 *
 *   records (from the child):   u8 GCB_H5_RECORDS, then for each record: u32 length, bytes
 *   result (from the child):    u8 GCB_H5_DONE, u32 status, u32 number of items read, u64 elements of the last item,
 *                               text: the cause if the status is not 0
 *   request (from the parent):  u64 bytes of a half of the shared memory, u32 which half, u64 first element,
 *                               u32 number of items, items
 *
 * The child opens the file, lists it as records, and sends a result. Then it answers each request with a result, until
 * the socket closes. A text is a u32 length, which counts the terminator, and the bytes.
 */
enum {
    GCB_H5_PACKET = 32 << 10,
    GCB_H5_RECORD = 16 << 10, /* most bytes of a record */
    GCB_H5_RECORDS = 1,
    GCB_H5_DONE = 2,
};

/* Takes the records that the child writes while it lists the file. */
struct gcb_h5port {
    const struct gcb_h5file *file; /* the open file */
    struct gcb_wbuf record; /* write at most GCB_H5_RECORD bytes here, then call gcb_h5port_put */
    /* private: */
    const struct gcb_h5lister *lister;
    int socket;
    struct gcb_wbuf packet;
    uint64_t bytes; /* of all records so far */
};

/* The most bytes of all records together: much more than the names in a file of this size take. */
uint64_t gcb_h5port_most(const struct gcb_h5file *file);

/* Sends the record and empties it. Without a child, calls lister->take at once and returns its result; else returns 0.
 * Returns GCB_E_CORRUPT if the record or the list is too long. */
int gcb_h5port_put(struct gcb_h5port *port, struct gcb_diag *diag);

struct gcb_h5lister {
    void *ctx; /* the child has its own copy of *ctx, made when gcb_h5child_open was called */
    /* Lists the file. Runs in the child. */
    int (*list)(void *ctx, struct gcb_h5port *port, struct gcb_diag *diag);
    /* Takes one record. Runs in the parent. A result other than 0 ends the listing with that result. */
    int (*take)(void *ctx, struct gcb_rbuf *record, struct gcb_diag *diag);
};

/* Write a text to a record, and take a text from a record. Taking returns NULL for a text that is damaged or has `most`
 * bytes or more. */
void gcb_h5text_put(struct gcb_wbuf *record, const char *text);
const char *gcb_h5text_take(struct gcb_rbuf *record, size_t most);

/* Copies a message of the child and escapes control characters. Backslashes are kept, because the child has already
 * escaped the names. */
void gcb_h5text_escape(char out[GCB_DIAG_TEXT], const char *text);

/* Writes an item to a request. */
void gcb_h5item_put(struct gcb_wbuf *request, const struct gcb_h5item *item);

/* Sends a packet. On failure returns false and sets errno. */
bool gcb_h5packet_send(int socket, const struct gcb_wbuf *packet);

/*
 * Shared memory: a struct gcb_h5trace, then two halves for data. While the caller takes data from one half, the child
 * may fill the other.
 */
struct gcb_h5shared {
    uint8_t *at;
    size_t half; /* size of a half in bytes */
};
enum { GCB_H5_TRACE_BYTES = 8192 }; /* bytes reserved for the trace, a multiple of the page size */
size_t gcb_h5shared_size(size_t half);
struct gcb_h5trace *gcb_h5shared_trace(const struct gcb_h5shared *shared);
uint8_t *gcb_h5shared_half(const struct gcb_h5shared *shared, unsigned which);
/* Makes and maps the memory. *memory is its descriptor, which the caller closes, also on failure; -1: none. Returns false
 * with errno. */
bool gcb_h5shared_make(struct gcb_h5shared *shared, int *memory, size_t half);
/* Maps the shared memory again, with halves of `half` bytes. The mapped file must be long enough. If mapping fails,
 * returns false and changes nothing. */
bool gcb_h5shared_widen(struct gcb_h5shared *shared, size_t half);

/* Lists an open file. `socket` is -1 without a child: then lister->take gets the records directly. */
int gcb_h5list(const struct gcb_h5file *file, const struct gcb_h5lister *lister, int socket,
               struct gcb_diag *diag);

/* Runs the child, after the sandbox has taken its rights away. Never returns. */
_Noreturn void gcb_h5serve(const struct gcb_h5file *found, const char *path,
                           const struct gcb_h5lister *lister, int socket,
                           struct gcb_h5shared shared);

#endif
