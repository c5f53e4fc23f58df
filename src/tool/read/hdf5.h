#ifndef SRC_TOOL_READ_HDF5_H
#define SRC_TOOL_READ_HDF5_H

#include <hdf5.h>

#include "src/tool/read/infile.h"
#include "src/tool/read/reader.h"

/*
 * HDF5 files of unknown origin. HDF5 loads no filter plug-ins: gcbench loads those of a folder that
 * the user names (hdf5_plugin.c). HDF5 never prints, so the code may call a close function of HDF5
 * with an id that was never opened: the call only fails.
 *
 * Several links of a file may lead to the same group. The link on the path with the fewest groups
 * is the group's main link. The group's other hard links, and all soft and external links, are
 * alias links. If an external link leads to another file, no hard link of that file is an alias
 * link.
 *
 * HDF5 is not thread-safe: only one thread at a time may call HDF5, also for different files.
 */

enum {
    GCB_H5_DEPTH = 64, /* most groups inside each other */
    GCB_H5_LINKS = 3,  /* most alias links to groups in a path */
    /* largest total weight of the links below alias links (admit_link in hdf5_walk.c), in addition
     * to 16 for each other link */
    GCB_H5_REPEATS = 1 << 19,
};

/* An open file: the state of the reader gcb_hdf5. */
struct gcb_h5file {
    const struct gcb_infile *in;
    hid_t id;
    hid_t access; /* property list for opening datasets and groups of the file */
};

/*
 * Prepares HDF5 for hostile files, and starts it. Call this before a file is opened, and before the
 * process forks. Returns GCB_E_NOMEM if gcb_h5file_room does, or GCB_E_INTERNAL if HDF5 fails.
 */
int gcb_h5file_prepare(struct gcb_diag *diag);

/* Returns GCB_E_NOMEM if less memory is left than HDF5 needs to start and to open a file, or to make
 * an object. HDF5 1.10 crashes if it gets no memory. gcb_h5file_prepare calls this function; a
 * writer calls it again before it makes a dataset or closes the file. */
int gcb_h5file_room(struct gcb_diag *diag);

/* Opens for reading the file that gcb_infile_find found. *state is a struct gcb_h5file, which the
 * caller closes even after a failure. */
int gcb_h5file_open(void **state, const struct gcb_infile *in, const char *path,
                    struct gcb_diag *diag);
void gcb_h5file_close(void *state); /* the argument may be NULL */

/*
 * Sets the message for a failed call of HDF5: "WHAT (CAUSE)", or that the file may need a newer
 * HDF5. Returns GCB_E_CORRUPT. Call this function before the next call of HDF5.
 */
int gcb_h5file_damaged(const struct gcb_infile *file, const char *dataset, const char *what,
                       struct gcb_diag *diag);

/*
 * Writes why the last call of HDF5 failed: the innermost text of HDF5's error stack, escaped and
 * cut, or "no details". Call this function before the next call of HDF5. Returns out.
 */
char *gcb_h5file_cause(char *out, size_t size);

/* ---- attributes (hdf5_attr.c) ---- */

/*
 * True if HDF5 can decode all attributes of the object. Check this before HDF5 iterates over them.
 * To iterate, HDF5 1.10.8 makes a table. If an attribute does not decode, HDF5 frees entries of the
 * table that it has not filled yet. This function searches for a name instead, which decodes all
 * attributes without a table.
 */
bool gcb_h5attr_sound(hid_t object);

/*
 * The next two functions read one attribute of an object for which gcb_h5attr_sound is true (the
 * walk, gcb_h5file_open and gcb_h5dataset_open check that). They return false if the attribute is
 * absent, damaged, of another type or too large; *value is then unchanged, and the content of `out`
 * unspecified. A number is a scalar, or an array with one element. The magnitude of an integer is
 * at most 2^53. A text is terminated, and takes at most `size` bytes with its terminator.
 */
bool gcb_h5attr_integer(hid_t object, const char *name, int64_t *value);
bool gcb_h5attr_text(hid_t object, const char *name, char *out, size_t size);

/* ---- datasets (hdf5_dataset.c): first open a dataset, then vet it, then read it ---- */

#define GCB_H5_FILTERS 4 /* most filters of a dataset; a dataset with more is refused */
#define GCB_H5_VALUES 64 /* most parameters of a plug-in's filter */

struct gcb_h5dataset {
    hid_t id;
    hid_t type;       /* type of the elements in the file */
    H5T_class_t kind; /* class of that type: H5T_FLOAT, H5T_INTEGER and so on */
    size_t type_size; /* bytes of an element */
    /* The walk sets `linked` and `object`. gcb_h5dataset_vet sets the shape, `offset`, and `count`,
     * which is 0 for an empty dataset. */
    struct gcb_tensor tensor;

    /* Set by gcb_h5dataset_vet: */
    /* no element was ever written; false if the dataset is empty, or its data is in other files */
    bool unwritten;
    unsigned chunk_rank; /* rank of the chunks; 0 if the data is not chunked */
    uint64_t chunk[GCB_MAX_RANK];
    unsigned filter_count;
    int filters[GCB_H5_FILTERS]; /* H5Z_FILTER_DEFLATE and so on, in the order of writing */
    const H5Z_class2_t *plugin;  /* the filter of a plug-in in `filters`, or NULL */
    size_t value_count;          /* number of parameters of the plug-in's filter */
    unsigned values[GCB_H5_VALUES];
};

/*
 * Opens the dataset `link` in the group or file `at`. Reads its type and checks its attributes, but
 * not its shape and storage, so that the caller can skip a dataset cheaply. `shown` is the path for
 * messages. The caller closes *out. On failure *out is zeroed.
 */
int gcb_h5dataset_open(struct gcb_h5dataset *out, const struct gcb_h5file *file, hid_t at,
                       const char *link, const char *shown, struct gcb_diag *diag);

/*
 * Decides whether the data may be read (hdf5_vet.c), before anything of its size is allocated. The
 * data may be read if
 *   - it is stored in this file, or external storage is allowed;
 *   - its filters are shuffle, fletcher32, and one that packs (deflate, lzf or that of a plug-in),
 *     each at most once, and no shuffle comes after packing;
 *   - its chunks have the dataset's rank and at most 256 MiB;
 *   - it has at most limits.max_bytes;
 *   - it has at most 64 KiB (all of which may be the fill value), or at most 1100 times the
 *     bytes that are stored, because deflate cannot compress more strongly; or a plug-in packed it
 *     and some of it is stored; or it is in other files.
 * Otherwise returns GCB_E_UNSUPPORTED, GCB_E_CORRUPT or, if only limits.max_bytes is exceeded,
 * GCB_E_NOMEM.
 */
int gcb_h5dataset_vet(struct gcb_h5dataset *dataset, const struct gcb_h5file *file,
                      const char *shown, struct gcb_diag *diag);

/*
 * A vetted dataset is read in pieces, which are runs of consecutive elements. Returns the number of
 * elements in the piece that begins at element `from`. A piece has at most `room` elements, unless
 * one row of chunks is already larger. Returns 0 if no piece can begin at `from`, or if the dataset
 * is empty.
 */
uint64_t gcb_h5dataset_piece(const struct gcb_h5dataset *dataset, uint64_t from, uint64_t room);

/*
 * Reads a piece into `out`, as `count` elements of mem_type, which must have the same class as the
 * dataset's type. `from` and `count` must be those of a piece that gcb_h5dataset_piece gives.
 * Chunked data is read chunk by chunk, so HDF5 itself needs only a few MiB and memory for one
 * chunk. On failure the content of `out` is unspecified.
 */
int gcb_h5dataset_read(const struct gcb_h5dataset *dataset, const struct gcb_infile *file,
                       const char *shown, hid_t mem_type, uint64_t from, uint64_t count, void *out,
                       struct gcb_diag *diag);

void gcb_h5dataset_close(struct gcb_h5dataset *dataset); /* a zeroed struct is allowed */

/* ---- the filter LZF (hdf5_lzf.c) ---- */

#define GCB_H5_LZF 32000 /* LZF's number in The HDF Group's list of registered filters */

/* Unpacks n bytes into `out`, which has room for `limit` bytes, or only counts if `out` is NULL.
 * Returns the number of unpacked bytes, or limit + 1 if they are more than `limit` or the data is
 * damaged. */
uint64_t gcb_h5lzf_unpack(const uint8_t *in, uint64_t n, uint8_t *out, uint64_t limit);
/* Lets HDF5 unpack LZF. Returns false on failure. */
bool gcb_h5lzf_register(void);

/* ---- plug-ins (hdf5_plugin.c) ---- */

/* Loads the filters of the shared objects (.so) in the folder limits.hdf5_plugins, which may be
 * NULL. That runs code of the plug-ins. Files that cannot be loaded are left out. */
void gcb_h5plugin_load(const struct gcb_infile *file);
/* Returns the loaded filter with this number, or NULL. */
const H5Z_class2_t *gcb_h5plugin_find(H5Z_filter_t id);
/* Returns the number of bytes to which d->plugin unpacks the n bytes of `stored`; 0 if it fails. */
uint64_t gcb_h5plugin_unpacked(const struct gcb_h5dataset *d, const void *stored, uint64_t n);

/* ---- the walk (hdf5_walk.c) ---- */

/*
 * Functions that the walk calls, depth-first in the bytewise order of link names. A result other
 * than 0 ends the walk with that result. `path` is absolute and valid only during the call.
 */
struct gcb_h5visitor {
    void *ctx;
    /* Called for a dataset that is open but not vetted. The walk closes it after the call. */
    int (*dataset)(void *ctx, struct gcb_h5dataset *dataset, const char *path,
                   struct gcb_diag *diag);
    /* True if the object at this path is wanted or, if `below`, an object below it. An object that
     * is not wanted may be damaged. NULL: all are wanted, and left_out may be NULL too. */
    bool (*wanted)(void *ctx, const char *path, bool below);
    /*
     * Called for an object that is left out. `why` is
     *   GCB_REMARK_LINKS       if a soft link's target is missing, or in a file that may not be
     *                          read; if a link leads to a group of its own path; or if an alias
     *                          link to a group follows GCB_H5_LINKS others in the path
     *   GCB_REMARK_DEEP        if GCB_H5_DEPTH groups are around the group
     *   GCB_REMARK_UNREADABLE  if the object is refused or damaged, but not wanted
     */
    int (*left_out)(void *ctx, enum gcb_remark why, const char *path, struct gcb_diag *diag);
};

/*
 * Visits each dataset of a file under each of its paths. Hard links and soft links are followed. A
 * link that leads back to a group of its own path is left out, and so is a fourth alias link to a
 * group in one path. External links that are not allowed, and user-defined links, are refused if
 * the visitor may want an object there, otherwise left out. A file in which links lead to the same
 * groups in very many ways is refused.
 */
int gcb_h5walk(const struct gcb_h5file *file, const struct gcb_h5visitor *visitor,
               struct gcb_diag *diag);

#endif
