#ifndef SRC_TOOL_WRITE_DUMP_PRIVATE_H
#define SRC_TOOL_WRITE_DUMP_PRIVATE_H

#include <hdf5.h>

#include "src/tool/write/dump.h"

/*
 * How HDF5 files are written (dump.h).
 *
 * HDF5 cannot close a file whose last writes fail: H5Fclose gives up half-way, and the library
 * crashes at the program's end. So HDF5 never writes to the disk here:
 *   - HDF5 keeps its metadata in a file in memory;
 *   - h5out.c writes the bytes of each dataset to disk, at the offset that HDF5 has assigned;
 *   - after HDF5 has closed its file, h5out.c copies the metadata to disk.
 */

/* Bytes [from, to) of a file. */
struct gcb_h5extent {
    uint64_t from, to;
};

struct gcb_h5out {
    struct gcb_outfile out;
    hid_t file;                  /* HDF5's file in memory; 0 when closed */
    int memory;                  /* descriptor of that file */
    int disk;                    /* descriptor of the temporary file on disk */
    bool failed;                 /* a call has failed, so the file is never committed */
    struct gcb_h5extent *direct; /* places of datasets' bytes, which are only on disk */
    size_t direct_count, direct_cap;
    uint64_t at;     /* offset on disk of the last dataset's next byte */
    uint64_t left;   /* bytes of the last dataset that are still to be written */
    char shown[256]; /* the final name, escaped, for messages */

    /* Used only by container.c, for a file of messages: */
    uint64_t messages;               /* number of messages so far */
    uint64_t sum;                    /* becomes the root attribute gcbench_xxh3 */
    const struct gcb_source *source; /* source of the last message */
    bool several_files;              /* the tensors of `source` come from several files */
};

/* True if `path` is absolute and not "/", and no component is empty or "." (HDF5 would drop such
 * components). */
bool gcb_h5path_plain(const char *path);

/*
 * Makes a contiguous dataset and the groups above it. `type` is the element type in the file. Write
 * all bytes of the dataset next, with gcb_h5out_append. Returns 0 or:
 *   GCB_E_INVALID   the path exists, gcb_h5path_plain or HDF5 rejects it, `rank` is above
 *                   GCB_MAX_RANK, or the dataset is larger than INT64_MAX bytes
 *   GCB_E_IO        the file would exceed the limit on file sizes (ulimit -f)
 *   GCB_E_NOMEM, GCB_E_INTERNAL
 */
int gcb_h5out_set(struct gcb_h5out *f, const char *path, hid_t type, unsigned rank,
                  const uint64_t *dims, struct gcb_diag *diag);
/* Writes the next n bytes of the last dataset. `bytes` are already in the dataset's type. Returns
 * GCB_E_INTERNAL if the dataset has fewer than n bytes left. */
int gcb_h5out_append(struct gcb_h5out *f, const void *bytes, size_t n, struct gcb_diag *diag);

/* Adds an attribute with one value to the object at the path `object`. `value` points to a value of
 * type memory_type; the file stores it as file_type. Errors are those of gcb_h5out_number. */
int gcb_h5out_value(struct gcb_h5out *f, const char *object, const char *name, hid_t file_type,
                    hid_t memory_type, const void *value, struct gcb_diag *diag);

#endif
