#ifndef SRC_TOOL_READ_CHILD_H
#define SRC_TOOL_READ_CHILD_H

#include <sys/types.h>

#include "src/tool/read/infile.h"
#include "src/tool/read/reader.h"

/*
 * Reads an untrusted file in a child process, one for each open file, so that a crash of a library
 * ends the child only. The child has few rights (gcb_sandbox_enter). It lists the file once and
 * then reads tensors on request. What it sends is not trusted either: it arrives as bounded records
 * and as data whose length is checked.
 *
 * If the child crashes, the caller gets GCB_E_CORRUPT and "FILE: OBJECT: damaged: the HDF5 library
 * crashed while reading it". The caller also gets GCB_E_CORRUPT if the child takes more than
 * limits.seconds of processor time without progress, and GCB_E_IO if the child does nothing for
 * three times as long; then the child is ended.
 *
 * With limits.in_process and under valgrind, all of this happens in the calling process.
 */
struct gcb_file_child;
struct gcb_port;

/*
 * What the child says while it lists the file. What the members mean is the lister's choice, except
 * that tensor.dataset is texts[0]. Both processes are one program, so the bytes of the struct are
 * sent, with as many dims as the tensor's rank, and then the texts.
 */
enum {
    GCB_RECORD_TEXTS = 3,
    GCB_RECORD_TEXT = GCB_READ_PATH + 1, /* bytes of the longest text with its terminator */
};
struct gcb_port_record {
    const char *texts[GCB_RECORD_TEXTS]; /* NULL is sent as "" */
    uint64_t kind;                       /* below 254 */
    uint64_t numbers[2];
    double value;
    struct gcb_tensor tensor;
};

struct gcb_lister {
    void *ctx; /* the child has its own copy of *ctx, made when gcb_file_child_open was called */
    /* Lists the file, which the reader has opened as `state`. Runs in the child. */
    int (*list)(void *ctx, void *state, struct gcb_port *port, struct gcb_diag *diag);
    /* Takes one record. Runs in the parent. A result other than 0 ends the listing with that
     * result. */
    int (*take)(void *ctx, const struct gcb_port_record *record, struct gcb_diag *diag);
};

/* Sends a record. Without a child, returns the result of lister->take; else returns 0. Returns
 * GCB_E_CORRUPT if the record or the list is too long. */
int gcb_port_put(struct gcb_port *port, const struct gcb_port_record *record,
                 struct gcb_diag *diag);

/* True if the shape, types and place of a tensor that the child sent agree with each other and with
 * the file. */
bool gcb_tensor_is_plausible(const struct gcb_tensor *t, const struct gcb_infile *file);

/*
 * Opens a file and lists it, unless `lister` is NULL. The caller owns *out. `file` was found by
 * gcb_infile_find; it is copied.
 */
int gcb_file_child_open(struct gcb_file_child **out, const struct gcb_infile *file,
                        const struct gcb_lister *lister, struct gcb_diag *diag);
void gcb_file_child_close(struct gcb_file_child *child); /* the argument may be NULL */

/*
 * Reads a whole tensor into `out`, as float32; one of GCB_ELEMENT_BYTE as bytes. A finite float64
 * beyond the range of float32 is GCB_E_CORRUPT. Most tensors are stored in one piece: the caller's
 * process reads their bytes. The child reads all others. If the caller reads tensors in order, the
 * child reads up to 4 MiB of the next tensors of the same `file` while the caller works on the
 * current one. `tensors` has the tensors in the order in which they will most likely be read; it is
 * the same in each call.
 */
int gcb_file_child_read(struct gcb_file_child *child, const struct gcb_tensor *tensors,
                        size_t count, size_t number, void *out, struct gcb_diag *diag);

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
