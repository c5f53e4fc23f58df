#ifndef SRC_TOOL_HDF5_H5OUT_H
#define SRC_TOOL_HDF5_H5OUT_H

#include <hdf5.h>

#include "src/tool/hdf5/outfile.h"

struct gcb_h5extent {
    uint64_t from, to;
};

/*
 * An HDF5 file that is being written: it appears whole or not at all, and a full disk is an ordinary error.
 *
 * HDF5 cannot close a file whose last writes fail: H5Fclose gives up half-way, and the library crashes
 * over the rest when the program ends. So HDF5 never writes to the disk here. It keeps its metadata in a
 * file in memory; the bytes of the datasets go past it to the place on disk that it has assigned to them;
 * and when it has closed its file, the metadata are copied there too. Every write that can fail is ours.
 */
struct gcb_h5out {
    struct gcb_outfile out;
    hid_t file;                  /* of HDF5's own file in memory; 0 when closed */
    int memory;                  /* that file */
    int disk;                    /* the temporary file */
    bool failed;                 /* something is missing: never committed */
    struct gcb_h5extent *direct; /* what is on disk already: the bytes of datasets */
    size_t direct_count, direct_cap;
    char shown[256]; /* the final name, escaped, for words */
};

/* As gcb_outfile_init. On failure *f is empty. */
int gcb_h5out_init(struct gcb_h5out *f, const char *path, bool force, const char *const *inputs,
                   size_t input_count, struct gcb_diag *diag);

/* Is it an absolute path without empty and "." components, and not "/" itself? HDF5 would drop those. */
bool gcb_h5path_plain(const char *path);

/* A dataset whose bytes are being written, in order. */
struct gcb_h5set {
    hid_t id;
    uint64_t at;   /* where its next byte goes, in the file */
    uint64_t left; /* bytes still to come */
};

/*
 * Makes a contiguous dataset (and the groups above it) of type `type` as it is in the file. GCB_E_INVALID
 * if the path exists or is not plain. To be closed with gcb_h5set_close, also when something fails later.
 */
int gcb_h5set_create(struct gcb_h5out *f, struct gcb_h5set *set, const char *path, hid_t type,
                     unsigned rank, const uint64_t *dims, struct gcb_diag *diag);
/* The next n bytes, as they stand in the file. */
int gcb_h5set_append(struct gcb_h5out *f, struct gcb_h5set *set, const void *bytes, size_t n,
                     struct gcb_diag *diag);
void gcb_h5set_close(struct gcb_h5set *set);

/* Attributes of an open object. GCB_E_INVALID if the attribute exists or the text is too long (64 KiB). */
int gcb_h5out_text(struct gcb_h5out *f, hid_t object, const char *name, const char *text,
                   struct gcb_diag *diag);
/* One number, of type `memory_type` at `value`. */
int gcb_h5out_value(struct gcb_h5out *f, hid_t object, const char *name, hid_t file_type,
                    hid_t memory_type, const void *value, struct gcb_diag *diag);

/* Closes the file, copies the metadata to disk, syncs, renames. Once only. */
int gcb_h5out_commit(struct gcb_h5out *f, struct gcb_diag *diag);

/* Removes what was not committed. Zeroed is fine. */
void gcb_h5out_fini(struct gcb_h5out *f);

#endif
