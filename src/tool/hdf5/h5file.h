#ifndef SRC_TOOL_HDF5_H5FILE_H
#define SRC_TOOL_HDF5_H5FILE_H

#include <hdf5.h>
#include <stdbool.h>

#include "src/lib/base/diag.h"
#include "src/lib/tensor/tensor.h"

/*
 * The one place that opens an HDF5 file of unknown origin and decides what of it may be read. Filter
 * plug-ins are never loaded and HDF5 never prints. External links, external storage and virtual datasets
 * give GCB_E_UNSUPPORTED unless allowed; what is damaged, absurd or inflates beyond belief GCB_E_CORRUPT;
 * what passes a limit on memory GCB_E_NOMEM; what the system refuses GCB_E_IO. The words of a failure are
 * one line, "FILE: DATASET: cause", with every name escaped.
 *
 * HDF5 is not thread-safe: one thread at a time, whatever the file. All structs may be zeroed (closed).
 */

/* Zero-initialise; a zero field means its default. */
struct gcb_h5limits {
    uint64_t max_bytes; /* of one dataset as its elements are typed; 0: half of physical memory */
    bool allow_external;
};

#define GCB_H5_SHOWN 112

struct gcb_h5file {
    hid_t id;
    hid_t access; /* property list for whatever is opened below: the barriers against the outside */
    uint64_t size;              /* of the file in bytes */
    struct gcb_h5limits limits; /* defaults filled in */
    char shown[GCB_H5_SHOWN];   /* the file's name, escaped */
};

/* Opens a regular file for reading. On failure *out is zeroed. */
int gcb_h5file_open(struct gcb_h5file *out, const char *path, const struct gcb_h5limits *limits,
                    struct gcb_diag *diag);
void gcb_h5file_close(struct gcb_h5file *file);

/*
 * Fails with `status` and the words "FILE: DATASET: " and the format's; `dataset` is escaped here and may
 * be NULL. Returns status.
 */
int gcb_h5file_fail(const struct gcb_h5file *file, const char *dataset, int status,
                    struct gcb_diag *diag, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/*
 * What HDF5 itself says of the last call, if that failed: its innermost description, escaped and cut, or
 * "no details". Must be asked for before the next call of HDF5. Returns out.
 */
char *gcb_h5file_cause(char *out, size_t size);

#define GCB_H5_FILTERS 4

struct gcb_h5dataset {
    hid_t id;
    hid_t type;       /* as in the file */
    H5T_class_t kind; /* of type: H5T_FLOAT, H5T_INTEGER, ... */
    size_t type_size; /* bytes of an element */

    /* After gcb_h5dataset_vet only: */
    bool vetted;
    unsigned rank;
    uint64_t dims[GCB_MAX_RANK];
    uint64_t count;      /* product of dims: 1 for a scalar, 0 for an empty or null dataset */
    unsigned chunk_rank; /* 0: not chunked */
    uint64_t chunk[GCB_MAX_RANK];
    unsigned filter_count;
    int filters[GCB_H5_FILTERS]; /* H5Z_FILTER_DEFLATE and so on, in the order of writing */
};

/*
 * Opens the dataset `link` below the group or file `at` and looks at its type, nothing else: enough to
 * decide whether it is of interest. `shown` is the path for words. On failure *out is zeroed.
 */
int gcb_h5dataset_open(struct gcb_h5dataset *out, const struct gcb_h5file *file, hid_t at,
                       const char *link, const char *shown, struct gcb_diag *diag);

/*
 * Decides whether the data may be read, before anything of its size is allocated: storage in this file (or
 * allowed elsewhere); deflate, shuffle and fletcher32 only, each at most once; chunks of the dataset's
 * rank and at most 256 MiB; at most limits.max_bytes; and at most 1100 times the bytes stored
 * (more than deflate can reach), except that 64 KiB may always be all fill value.
 */
int gcb_h5dataset_vet(struct gcb_h5dataset *dataset, const struct gcb_h5file *file,
                      const char *shown, struct gcb_diag *diag);

/*
 * Reads all of a vetted dataset into out: count elements of mem_type, which must be of the same class.
 * Chunked data is read in boxes of whole chunks, so that HDF5's own memory stays at a few MiB (and one
 * chunk); a chunk that would not unpack to its size is never given to HDF5. On failure out is unspecified.
 */
int gcb_h5dataset_read(const struct gcb_h5dataset *dataset, const struct gcb_h5file *file,
                       const char *shown, hid_t mem_type, void *out, struct gcb_diag *diag);

void gcb_h5dataset_close(struct gcb_h5dataset *dataset);

#endif
