#ifndef SRC_TOOL_READ_HDF5_DATASET_H
#define SRC_TOOL_READ_HDF5_DATASET_H

#include "src/lib/tensor/tensor.h"
#include "src/tool/read/hdf5_file.h"

/* Reads a dataset of a file of unknown origin: first open the dataset, then vet it, then read it. */

#define GCB_H5_FILTERS 4

struct gcb_h5dataset {
    hid_t id;
    hid_t type;       /* type of the elements in the file */
    H5T_class_t kind; /* class of that type: H5T_FLOAT, H5T_INTEGER and so on */
    size_t type_size; /* bytes of an element */
    /* Set by the walk: bit i says that component i of the path is a link to another place; which object it is, the same
     * under each of its paths. */
    uint64_t linked, object;

    /* Set by gcb_h5dataset_vet: */
    bool vetted;
    unsigned rank;
    uint64_t dims[GCB_MAX_RANK];
    uint64_t count;      /* product of dims: 1 for a scalar, 0 for an empty or null dataset */
    bool in_place;       /* the elements lie one after the other in this file, without gaps */
    uint64_t offset;     /* if in_place: offset of the first element in the file */
    bool unwritten;      /* it has elements, but none was ever written: all are the fill value */
    unsigned chunk_rank; /* rank of the chunks; 0 if the data is not chunked */
    uint64_t chunk[GCB_MAX_RANK];
    unsigned filter_count;
    int filters[GCB_H5_FILTERS]; /* H5Z_FILTER_DEFLATE and so on, in the order of writing */
};

/*
 * Opens the dataset `link` below the group or file `at` and reads only its type. So the caller can skip a dataset that
 * it does not need. `shown` is the path for messages. On failure *out is zeroed.
 */
int gcb_h5dataset_open(struct gcb_h5dataset *out, const struct gcb_h5file *file, hid_t at,
                       const char *link, const char *shown, struct gcb_diag *diag);

/*
 * Decides whether the data may be read, before anything of its size is allocated. The data may be read if
 *   - it is stored in this file, or external storage is allowed;
 *   - its filters are deflate, shuffle and fletcher32, each at most once;
 *   - its chunks have the dataset's rank and at most 256 MiB;
 *   - it has at most limits.max_bytes;
 *   - it has at most 64 KiB (all of which may be the fill value), or at most 1100 times the bytes that are stored.
 *     Deflate cannot compress more strongly.
 */
int gcb_h5dataset_vet(struct gcb_h5dataset *dataset, const struct gcb_h5file *file,
                      const char *shown, struct gcb_diag *diag);

/*
 * A vetted dataset is read in pieces, which are runs of consecutive elements. Returns the number of elements in the
 * piece that begins at element `from`. A piece has at most `room` elements, unless one row of chunks is already
 * larger. Returns 0 if no piece can begin at `from`.
 */
uint64_t gcb_h5dataset_piece(const struct gcb_h5dataset *dataset, uint64_t from, uint64_t room);

/*
 * Reads a piece into `out`, as `count` elements of mem_type, which must have the same class as the dataset's type.
 * Chunked data is read in boxes of whole chunks, so HDF5 itself needs only a few MiB and memory for one chunk. On
 * failure the content of `out` is unspecified.
 */
int gcb_h5dataset_read(const struct gcb_h5dataset *dataset, const struct gcb_h5file *file,
                       const char *shown, hid_t mem_type, uint64_t from, uint64_t count, void *out,
                       struct gcb_diag *diag);

void gcb_h5dataset_close(struct gcb_h5dataset *dataset);

#endif
