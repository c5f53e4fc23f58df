#ifndef SRC_TOOL_READ_HDF5_FILE_H
#define SRC_TOOL_READ_HDF5_FILE_H

#include <hdf5.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "src/lib/base/diag.h"
#include "src/tool/base/filekind.h"

/*
 * Opens HDF5 files of unknown origin. Filter plug-ins are never loaded, and HDF5 never prints. The statuses, here
 * and in h5dataset.h and h5walk.h, mean:
 *
 *   GCB_E_UNSUPPORTED  the file has an external link, external storage or a virtual dataset and these are not allowed;
 *                      or it has an unknown filter
 *   GCB_E_CORRUPT      the file is damaged, contradicts itself, or declares far more data than it stores
 *   GCB_E_NOMEM        the data exceeds a limit on memory
 *   GCB_E_IO           a call to the operating system failed
 *
 * The text of a failure is one line, "FILE: DATASET: cause", with all names escaped.
 *
 * HDF5 is not thread-safe: only one thread may be in it, whichever file it works on. A zeroed struct is closed.
 */

/* Limits far above any real dump. A file that exceeds one of the limits gives GCB_E_CORRUPT. */
enum {
    GCB_H5_DEPTH = 64,        /* most groups inside each other */
    GCB_H5_NAME = 1024,       /* most bytes of a link's name */
    GCB_H5_PATH = 4096,       /* most bytes of an absolute path */
    GCB_H5_OBJECTS = 1 << 22, /* most links in one file */
    GCB_H5_LINKS = 3, /* most links in a path that lead to another place in the tree of groups */
    GCB_H5_REPEATS =
        1 << 19, /* most links that are visited below such links, plus 16 for each other link */
};

/* Start with a zeroed struct. A field that is 0 has its default value. */
struct gcb_h5limits {
    uint64_t max_bytes; /* largest dataset, in its own type; 0 means half of physical memory */
    bool allow_external;
    unsigned seconds; /* processor time that a child may take without progress; 0 means 20 s */
    bool in_process;  /* read in this process and not in a child (h5child.h) */
};

/* The object that HDF5 works on at the moment. Another process reads it, to name the object after a crash. */
struct gcb_h5trace {
    char path[GCB_H5_PATH + 1]; /* path of that object */
    uint64_t steps;             /* a counter that grows while HDF5 makes progress */
};

#define GCB_H5_SHOWN 112 /* most bytes of a name in a message */

struct gcb_h5file {
    hid_t id;
    hid_t access;               /* property list for opening datasets and groups below */
    uint64_t size;              /* size of the file in bytes */
    struct stat found;          /* stat data of the file when it was found */
    struct gcb_h5limits limits; /* the limits, with defaults instead of zeros */
    const char *path;           /* the file's name, borrowed */
    uint64_t begin;             /* offset of the HDF5 signature */
    struct gcb_h5trace *trace;  /* kept up to date unless NULL */
};

/* Checks, without HDF5, that `path` is a regular file with an HDF5 signature; if it is something
 * else that is known, the message says what and how to go on. Fills all members except `id`,
 * `access` and `trace`. `path` must live as long as *out. */
int gcb_h5file_find(struct gcb_h5file *out, const char *path, const struct gcb_h5limits *limits,
                    struct gcb_diag *diag);

/* Checks that `descriptor` is the file that was found and that nobody has written to it. If not, returns
 * GCB_E_CORRUPT. */
int gcb_h5file_check(const struct gcb_h5file *file, int descriptor, const char *dataset,
                     struct gcb_diag *diag);

/* Opens a file that was found, for reading. */
int gcb_h5file_open(struct gcb_h5file *file, const char *path, struct gcb_diag *diag);
void gcb_h5file_close(struct gcb_h5file *file);

/*
 * Prepares HDF5 for hostile files, and starts it. gcb_h5file_open calls this. A process that forks calls it once before
 * it forks. GCB_E_NOMEM: as gcb_h5file_room.
 */
int gcb_h5file_prepare(struct gcb_diag *diag);

/* Where HDF5 1.10 gets no memory, it crashes. So call this before it starts, opens a file or makes an object. GCB_E_NOMEM:
 * less is left than HDF5 may take for one of these. */
int gcb_h5file_room(struct gcb_diag *diag);

/* Records that HDF5 starts work on the object `path`. NULL records progress on the same object as before. */
void gcb_h5file_trace(const struct gcb_h5file *file, const char *path);

/*
 * Sets the text "FILE: DATASET: " followed by the formatted cause, and returns `status`. `dataset` is escaped
 * here; NULL leaves it out.
 */
int gcb_h5file_fail(const struct gcb_h5file *file, const char *dataset, int status,
                    struct gcb_diag *diag, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/*
 * Fails as gcb_h5file_fail does; the cause ends with a colon and the command that rewrites the file
 * (gcb_advice_convert). Words before it are cut after GCB_H5_WORDS bytes, and the command is not.
 */
#define GCB_H5_WORDS 112
int gcb_h5file_fail_convert(const struct gcb_h5file *file, const char *dataset, int status,
                            struct gcb_diag *diag, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Adds the command to a message of a child (h5child.h) that lacks it, which ends with a colon and a
 * blank. */
void gcb_h5file_complete(const struct gcb_h5file *file, struct gcb_diag *diag);

/*
 * Fails because a call of HDF5 failed: "what (cause)", or that the file needs a newer HDF5. Returns GCB_E_CORRUPT. Call
 * this function before the next call of HDF5.
 */
int gcb_h5file_damaged(const struct gcb_h5file *file, const char *dataset, const char *what,
                       struct gcb_diag *diag);

/*
 * Writes why the last call of HDF5 failed: the innermost text of HDF5's error stack, escaped and cut, or "no details".
 * Call this function before the next call of HDF5. Returns out.
 */
char *gcb_h5file_cause(char *out, size_t size);

#endif
