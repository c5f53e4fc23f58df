#ifndef SRC_TOOL_READ_CHILD_H
#define SRC_TOOL_READ_CHILD_H

#include <sys/types.h>

#include "src/tool/read/infile.h"
#include "src/tool/read/reader.h"

/*
 * Reads an untrusted file in a child process, so that a crash of a library ends only the child.
 * Each open file has its own child, which has few rights (gcb_sandbox_enter). The child lists the
 * file once and then reads tensors on request. The parent does not trust the child's answers: it
 * limits the size of records and checks the length of data.
 *
 * If the child crashes, the caller gets GCB_E_CORRUPT, and a message that names the object that the
 * child was reading. If the child takes more than limits.seconds of processor time without
 * progress, the parent ends the child and returns GCB_E_CORRUPT. If the child does nothing for
 * three times as long, the parent ends the child and returns GCB_E_IO.
 *
 * With limits.in_process, and under Valgrind, there is no child: the calling process reads the
 * file.
 */
struct gcb_file_child;
struct gcb_port;

/*
 * A record describes one thing in the file, and the child sends it while it lists the file. The
 * lister chooses what the members mean, except that tensor.dataset is texts[0]. A record is sent as
 * the bytes of this struct from `kind` on, with as many dims as the tensor's rank, and then the
 * texts. That works because both processes run the same program.
 */
enum {
    GCB_RECORD_TEXTS = 3,
    GCB_RECORD_TEXT = GCB_READ_PATH + 1, /* bytes of the longest text with its terminator */
};
struct gcb_port_record {
    const char *texts[GCB_RECORD_TEXTS]; /* NULL is sent as "" */
    uint64_t kind;                       /* chosen by the lister, below 254 (child.c) */
    uint64_t numbers[2];
    struct gcb_tensor tensor;
};

struct gcb_lister {
    void *ctx; /* the child has its own copy of *ctx, from the time of gcb_file_child_open */
    /* Lists the file, which the reader has opened as `state`: calls gcb_port_put for each record.
     * Runs in the child, if there is one. */
    int (*list)(void *ctx, void *state, struct gcb_port *port, struct gcb_diag *diag);
    /* Takes one record, whose texts are valid only during the call. Runs in the parent. A result
     * other than 0 ends the listing with that result. */
    int (*take)(void *ctx, const struct gcb_port_record *record, struct gcb_diag *diag);
};

/* Sends a record to the parent and returns 0. Without a child, calls lister->take at once and
 * returns its result. Returns GCB_E_CORRUPT if the record or the whole list is too long. */
int gcb_port_put(struct gcb_port *port, const struct gcb_port_record *record,
                 struct gcb_diag *diag);

/* True if the shape, types and place of a tensor that the child sent agree with each other and with
 * the file. */
bool gcb_tensor_is_plausible(const struct gcb_tensor *t, const struct gcb_infile *file);

/*
 * Opens a file, and lists it unless `lister` is NULL. The caller ends *out with
 * gcb_file_child_close. On failure *out is not set. gcb_infile_find has filled *file, which is
 * copied; its strings must live as long as *out.
 */
int gcb_file_child_open(struct gcb_file_child **out, const struct gcb_infile *file,
                        const struct gcb_lister *lister, struct gcb_diag *diag);
void gcb_file_child_close(struct gcb_file_child *child); /* the argument may be NULL */

/*
 * Reads all elements of tensors[number] into `out`: as float32, or as bytes if they are
 * GCB_ELEMENT_BYTE. A finite float64 beyond the range of float32 is GCB_E_CORRUPT. Most tensors are
 * stored in one piece, which the caller's process reads. The child reads all others. If the caller
 * reads tensors in order, the child reads up to 4 MiB of the next tensors of the same file while
 * the caller works on the current tensor. `tensors` has `count` tensors, in the order in which the
 * caller will most likely read them. tensors[number] must be in the child's file, others may be in
 * other files. Pass the same array in each call.
 */
int gcb_file_child_read(struct gcb_file_child *child, const struct gcb_tensor *tensors,
                        size_t count, size_t number, void *out, struct gcb_diag *diag);

/* Reads `count` elements of a tensor whose `offset` is not 0, from element `from` on. Converts them
 * like gcb_file_child_read. */
int gcb_file_child_read_part(const struct gcb_file_child *child, const struct gcb_tensor *t,
                             uint64_t from, uint64_t count, void *out, struct gcb_diag *diag);

/* ---- conversion of elements (element.c) ---- */

/* Returns the number of scales of a tensor with scales: 1 or, if `blocked`, one for each block. */
uint64_t gcb_tensor_scales(const struct gcb_tensor *t);

/* Bytes of an element after conversion: 4, or 1 if the elements are GCB_ELEMENT_BYTE. */
size_t gcb_tensor_wide(const struct gcb_tensor *t);
/* Converts n stored elements to float32, or copies them if they are GCB_ELEMENT_BYTE. Applies no
 * scales. The first of the n elements is element `from` of the tensor; only the message of a
 * failure uses `from`. `in` may lie at the end of `out`. Returns GCB_E_CORRUPT if a finite float64
 * is beyond the range of float32. */
int gcb_tensor_convert(const struct gcb_infile *file, const struct gcb_tensor *t, uint64_t from,
                       const void *in, uint64_t n, void *out, struct gcb_diag *diag);
/* Reads `count` elements of a tensor whose `offset` is not 0, from element `from` on, through a
 * descriptor of its file. Converts them, and multiplies them by the tensor's scales if it has any.
 * Returns GCB_E_CORRUPT also if the file has changed since gcb_infile_find. */
int gcb_tensor_read_stored(const struct gcb_infile *file, int descriptor,
                           const struct gcb_tensor *t, uint64_t from, uint64_t count, void *out,
                           struct gcb_diag *diag);

/* ---- the sandbox of the child (sandbox.c) ---- */

/*
 * Separates the calling process from the process `parent`, which has just forked it. From now on,
 * the calling process ends when `parent` ends. Closes all descriptors except `keep`, and returns
 * the number that `keep` then has. The process ignores SIGTERM and the signals of a terminal, which
 * the parent handles, prints nothing, and leaves no core dump.
 */
int gcb_sandbox_part(int keep, pid_t parent);

/*
 * Takes away all rights of the calling process that reading a file does not need. The process then
 *   - writes no file;
 *   - can map at most `address_space` bytes more than at the start, if /proc can be read;
 *   - can make only the system calls that reading needs, if gcb_sandbox_filters returns true: all
 *     others fail with EPERM, and *trace notes the first of them except clock_nanosleep, unless
 *     `trace` is NULL. Files can be opened for reading until gcb_sandbox_close_files.
 *
 * A build with AddressSanitizer, ThreadSanitizer or MemorySanitizer keeps its standard error. It
 * has no limit on files and address space, and no rule on system calls. The sanitizers map
 * terabytes, and read /proc and write to report what they find.
 */
void gcb_sandbox_enter(uint64_t address_space, struct gcb_trace *trace);

/* Returns the name of the first system call that the child was refused, or "unknown" if the name is
 * not known. NULL: none was refused. */
const char *gcb_sandbox_refused(const struct gcb_trace *trace);

/* Forbids the calling process to open more files, if gcb_sandbox_filters returns true. */
void gcb_sandbox_close_files(void);

/* True if this build restricts system calls and the kernel supports it. */
bool gcb_sandbox_filters(void);

#endif
