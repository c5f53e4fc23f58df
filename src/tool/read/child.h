#ifndef SRC_TOOL_READ_CHILD_H
#define SRC_TOOL_READ_CHILD_H

#include <sys/types.h>

#include "src/lib/wire/buf.h"
#include "src/tool/read/infile.h"
#include "src/tool/read/reader.h"

/*
 * Reads an untrusted file in a child process, one for each open file, so that a crash of a library
 * ends the child only. The child has few rights (gcb_sandbox_enter). It lists the file once and
 * then reads tensors on request. What it sends is not trusted either: it arrives as bounded records
 * (buf.h) and as data whose length is checked.
 *
 * If the child crashes, the caller gets GCB_E_CORRUPT and "FILE: OBJECT: damaged: the HDF5 library
 * crashed while reading it". The caller also gets GCB_E_CORRUPT if the child takes more than
 * limits.seconds of processor time without progress, and GCB_E_IO if the child does nothing for
 * three times as long; then the child is ended.
 *
 * With limits.in_process, under valgrind, and for tensors that are in no file, all of this happens
 * in the calling process.
 */
struct gcb_file_child;

/* Takes the records that the child writes while it lists the file. */
struct gcb_port {
    const struct gcb_infile *file;
    struct gcb_wbuf record; /* write at most GCB_PORT_RECORD bytes here, then call gcb_port_put */
    /* private: */
    const struct gcb_lister *lister;
    int socket;
    struct gcb_wbuf packet;
    uint64_t bytes; /* of all records so far */
};
enum {
    GCB_PORT_PACKET = 32 << 10,
    GCB_PORT_RECORD = 16 << 10, /* most bytes of a record */
};

struct gcb_lister {
    void *ctx; /* the child has its own copy of *ctx, made when gcb_file_child_open was called */
    /* Lists the file, which the reader has opened as `state`. Runs in the child. */
    int (*list)(void *ctx, void *state, struct gcb_port *port, struct gcb_diag *diag);
    /* Takes one record. Runs in the parent. A result other than 0 ends the listing with that
     * result. */
    int (*take)(void *ctx, struct gcb_rbuf *record, struct gcb_diag *diag);
};

/* Sends the record and empties it. Without a child, calls lister->take at once and returns its
 * result; else returns 0. Returns GCB_E_CORRUPT if the record or the list is too long. */
int gcb_port_put(struct gcb_port *port, struct gcb_diag *diag);

/* Write a text to a record, and take a text from a record. Taking returns NULL for a text that is
 * damaged or has `most` bytes or more. */
void gcb_text_put(struct gcb_wbuf *record, const char *text);
const char *gcb_text_take(struct gcb_rbuf *record, size_t most);

/*
 * Write a tensor to a record, and take one from a record. The members `path` and `file` are not
 * sent. Taking returns false if the record is damaged: if *t could not be read as it says, or is no
 * tensor of the file. `dataset` lives as long as the record.
 */
void gcb_tensor_put(struct gcb_wbuf *record, const struct gcb_tensor *t);
bool gcb_tensor_take(struct gcb_tensor *t, struct gcb_rbuf *record, const struct gcb_infile *file);

/*
 * Opens a file and lists it, unless `lister` is NULL. The caller owns *out. `file` was found by
 * gcb_infile_find; it is copied.
 */
int gcb_file_child_open(struct gcb_file_child **out, const struct gcb_infile *file,
                        const struct gcb_lister *lister, struct gcb_diag *diag);
void gcb_file_child_close(struct gcb_file_child *child); /* the argument may be NULL */

/*
 * The tensors of a file in the order in which they will most likely be read. `get` finds the tensor
 * with the given number; it returns NULL if the file has no such tensor.
 */
struct gcb_tensors {
    const void *ctx;
    const struct gcb_tensor *(*get)(const void *ctx, size_t number);
};

/*
 * Reads a whole tensor into `out`, as float32; one of GCB_ELEMENT_BYTE as bytes. A finite float64
 * beyond the range of float32 is GCB_E_CORRUPT. Most tensors are stored in one piece: the caller's
 * process reads their bytes. The child reads all others. If the caller reads tensors in order, the
 * child reads up to 4 MiB of the next tensors while the caller works on the current one.
 */
int gcb_file_child_read(struct gcb_file_child *child, const struct gcb_tensors *tensors,
                        size_t number, void *out, struct gcb_diag *diag);

/* Reads `count` elements of a tensor whose `offset` is not 0, from element `from` on. */
int gcb_file_child_read_part(const struct gcb_file_child *child, const struct gcb_tensor *t,
                             uint64_t from, uint64_t count, void *out, struct gcb_diag *diag);

/* ---- the parts of it ---- */

/* Bytes of an element as the caller gets it. */
size_t gcb_tensor_wide(const struct gcb_tensor *t);
/* Converts n elements, from number `from` on, to what the caller gets. `in` may be the end of
 * `out`. */
int gcb_tensor_convert(const struct gcb_infile *file, const struct gcb_tensor *t, uint64_t from,
                       const void *in, uint64_t n, void *out, struct gcb_diag *diag);
/* Reads elements of a tensor whose `offset` is not 0, through a descriptor of its file. */
int gcb_tensor_read_stored(const struct gcb_infile *file, int descriptor,
                           const struct gcb_tensor *t, uint64_t from, uint64_t count, void *out,
                           struct gcb_diag *diag);

/*
 * The protocol between the child and its parent (port.c). Each packet on the socket is one datagram
 * of at most GCB_PORT_PACKET bytes:
 *
 *   records (from the child):   u8 GCB_PORT_RECORDS, then for each record: u32 length, bytes
 *   end (from the child):       u8 GCB_PORT_DONE, u32 status, u64 bytes,
 *                               text: the cause if the status is not 0
 *   request (from the parent):  u64 bytes of a piece, tensor
 *   elements (from the child):  u8 GCB_PORT_ELEMENTS, 7 bytes without meaning,
 *                               elements as they are stored
 *
 * The child opens the file, lists it as records, and sends an end. Then it answers requests in
 * their order, until the socket closes: with all elements of the tensor or, where it cannot read
 * on, with an end. An end with status 0 says how many bytes the smallest piece of the tensor has.
 * The parent may ask for more tensors before it has received one.
 *
 * A text is a u32 length, which counts the terminator, and the bytes. Both processes are one
 * program, so a tensor is the bytes of its struct.
 */
enum {
    GCB_PORT_RECORDS = 1,
    GCB_PORT_DONE,
    GCB_PORT_ELEMENTS,
    GCB_PORT_HEAD = 8,
    GCB_PORT_PIECE =
        4 << 20, /* bytes that the child reads at a time, unless a row of chunks has more */
};

/* Sends a packet. `flags` are those of send(). On failure returns false and sets errno. */
bool gcb_packet_send(int socket, const struct gcb_wbuf *packet, int flags);

/* The most bytes of all records together: much more than the names in a file of this size take. */
uint64_t gcb_port_most(const struct gcb_infile *file);

/* Lists an open file. `socket` is -1 without a child: then lister->take gets the records directly.
 */
int gcb_port_list(const struct gcb_infile *file, void *state, const struct gcb_lister *lister,
                  int socket, struct gcb_diag *diag);

/* Runs the child, after the sandbox has taken its rights away. Never returns. file->trace is shared
 * with the parent. */
_Noreturn void gcb_port_serve(const struct gcb_infile *file, const char *path,
                              const struct gcb_lister *lister, int socket);

/*
 * Takes away all rights of the calling process that reading a file does not need (sandbox.c). The
 * child calls it right after the fork. Keeps the descriptor `keep`, whose number it returns, and
 * closes all others. The process then
 *   - ends when its parent, the process `parent`, ends;
 *   - ignores the signals of a terminal, which are the parent's business, and prints nothing;
 *   - writes no file, leaves no core dump and takes at most `address_space` more bytes
 *     of it than at the start;
 *   - can make only the system calls that reading needs, if gcb_sandbox_filters returns true: all
 *     others fail with EPERM. Files can be opened for reading until gcb_sandbox_close_files.
 *
 * A build with AddressSanitizer, ThreadSanitizer or MemorySanitizer keeps its standard error, and
 * has no limit on files and address space and no rule on system calls: the sanitizers map
 * terabytes, and read /proc and write to report what they find.
 */
int gcb_sandbox_enter(int keep, pid_t parent, uint64_t address_space);

/* Forbids opening files. */
void gcb_sandbox_close_files(void);

/* True if this build restricts system calls and the kernel supports it. */
bool gcb_sandbox_filters(void);

#endif
