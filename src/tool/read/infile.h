#ifndef SRC_TOOL_READ_INFILE_H
#define SRC_TOOL_READ_INFILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "src/lib/base/diag.h"
#include "src/tool/base/filekind.h"

struct gcb_reader;

/*
 * An input file of unknown origin, in any format. The functions below call no library for that
 * format. The statuses, here and in child.h and reader.h, mean:
 *
 *   GCB_E_UNSUPPORTED  the file refers to data elsewhere and that is not allowed, or it needs
 *                      what gcbench does not have
 *   GCB_E_CORRUPT      the file is damaged, contradicts itself, or declares far more data than it
 *                      stores
 *   GCB_E_NOMEM        the data exceeds a limit on memory, or memory ran out
 *   GCB_E_IO           a call to the operating system failed, or the file is locked, is being
 *                      written or gives no data in time
 *
 * The text of a failure is one line, "FILE: DATASET: cause", with all names escaped.
 */

/* Limits for hostile files. A file that exceeds a limit is refused with GCB_E_CORRUPT. */
enum {
    GCB_READ_NAME = 1024,       /* most bytes of a name in a path */
    GCB_READ_PATH = 4096,       /* most bytes of an absolute path */
    GCB_READ_SMALL = 64 << 10,  /* most bytes of a dataset of which the file may store none */
    GCB_READ_OBJECTS = 1 << 22, /* most objects in one file; each path of an object counts */
};

/* Start with a zeroed struct. A field that is 0 has its default value. */
struct gcb_read_limits {
    uint64_t max_bytes;  /* largest dataset, in its own type; 0 means half of physical memory */
    bool allow_external; /* read data that the file refers to in other files */
    const char *hdf5_plugins; /* folder of plug-ins that HDF5 files may need; NULL: none */
    unsigned seconds; /* processor time that a child may take without progress; 0 means 20 s */
    bool in_process;  /* read in this process and not in a child (child.h) */
};

/* Memory that the child shares with its parent. After a crash of the child, the parent's message
 * names the object that the child was reading. */
struct gcb_trace {
    char path[GCB_READ_PATH + 1]; /* path of the object that the reader works on */
    uint64_t steps;               /* a counter that grows while the reader makes progress */
    int refused; /* 1 + the number of the first system call that the child was refused; 0: none */
};

struct gcb_infile {
    const char *path;                /* the file's name, borrowed */
    const struct gcb_reader *reader; /* the reader of its format */
    struct gcb_read_limits limits;   /* the limits, with defaults instead of zeros */
    uint64_t size;                   /* size of the file in bytes */
    struct stat found;               /* stat data of the file when it was found */
    struct gcb_trace *trace;         /* where gcb_infile_trace writes; NULL: nowhere */
};

/*
 * Checks that `path` is a regular file whose format one of `readers` reads, and fills *out. If the
 * file is of another known kind, the message says which kind and what to do. `readers` ends with
 * NULL. `path` must live as long as *out. Returns 0, GCB_E_IO, GCB_E_INVALID if `path` is not a
 * regular file, or GCB_E_CORRUPT if no reader reads it.
 */
int gcb_infile_find(struct gcb_infile *out, const char *path,
                    const struct gcb_reader *const *readers, const struct gcb_read_limits *limits,
                    struct gcb_diag *diag);

/* Checks that `descriptor` is the file that gcb_infile_find found, and that nobody has written to
 * the file since. If not, returns GCB_E_CORRUPT. `dataset`, which may be NULL, is for the message
 * here and below. */
int gcb_infile_check(const struct gcb_infile *file, int descriptor, const char *dataset,
                     struct gcb_diag *diag);

/* Reads exactly `size` bytes, from byte `at` of the file on. Returns GCB_E_CORRUPT if the file ends
 * before, or GCB_E_IO. */
int gcb_infile_read(const struct gcb_infile *file, int descriptor, const char *dataset, uint64_t at,
                    void *out, size_t size, struct gcb_diag *diag);

/* Checks that a dataset of `bytes` has at most 64 KiB or 1100 times the bytes that are stored,
 * because deflate cannot compress more strongly; if not, returns GCB_E_CORRUPT. Then checks that it
 * has at most limits.max_bytes; if not, returns GCB_E_NOMEM. */
int gcb_infile_check_size(const struct gcb_infile *file, const char *dataset, uint64_t bytes,
                          uint64_t stored, struct gcb_diag *diag);

/* Fails with GCB_E_IO if another program has locked the file. HDF5 locks a file that it writes. */
int gcb_infile_check_lock(const struct gcb_infile *file, int descriptor, struct gcb_diag *diag);

/* Records that the reader starts work on the object `path`. NULL records progress on the same
 * object as before. */
void gcb_infile_trace(const struct gcb_infile *file, const char *path);

/*
 * Sets the text "FILE: DATASET: " followed by the formatted cause, and returns `status`. Escapes
 * both names. If `dataset` is NULL, its name is left out.
 */
int gcb_infile_fail(const struct gcb_infile *file, const char *dataset, int status,
                    struct gcb_diag *diag, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
