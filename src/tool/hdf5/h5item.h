#ifndef SRC_TOOL_HDF5_H5ITEM_H
#define SRC_TOOL_HDF5_H5ITEM_H

#include "src/lib/tensor/tensor.h"
#include "src/tool/hdf5/h5dataset.h"

/* A dataset, as it was when the file was listed. It is read as floats; a dataset of bytes is read as bytes. */
struct gcb_h5item {
    const char *path;     /* absolute */
    bool bytes;           /* a 1-D dataset of uint8 */
    enum gcb_dtype dtype; /* the source type, unless `bytes` */
    unsigned rank;
    const uint64_t *dims;
    uint64_t count; /* product of dims */
    /* If not 0: each element has `stored` bytes, little-endian, and all are in one piece from `offset` on in the file. Then
     * they can be read without HDF5. */
    unsigned stored;
    uint64_t offset;
};

/* Sets `stored` and `offset` of a vetted dataset, whose type and count are set. */
void gcb_h5item_locate(struct gcb_h5item *item, const struct gcb_h5dataset *dataset);

/* Are these values of an item possible results of gcb_h5item_locate? */
bool gcb_h5item_plausible(const struct gcb_h5item *item, const struct gcb_h5file *file);

/* Reads `count` elements, from element `from` on, of an item with `stored` through a descriptor of its file, as
 * gcb_h5item_read would. */
int gcb_h5item_read_stored(const struct gcb_h5file *file, int descriptor,
                           const struct gcb_h5item *item, uint64_t from, uint64_t count, void *out,
                           struct gcb_diag *diag);

/* Bytes of an element as it is read: 4 or 1. */
size_t gcb_h5item_size(const struct gcb_h5item *item);

/*
 * Reads a piece of an item (gcb_h5dataset_piece): elements from `from` on, as float32 or bytes. On input, *count is
 * the number of elements that fit into `out`; on output, the number read. If not even one row of chunks fits, *count
 * becomes the number of elements of the row, and `out` is unchanged. A float64 beyond the range of float32 becomes an infinity.
 * Returns GCB_E_CORRUPT also if the type or shape of the dataset has changed since the file was listed.
 */
int gcb_h5item_read(const struct gcb_h5file *file, const struct gcb_h5item *item, uint64_t from,
                    uint64_t *count, void *out, struct gcb_diag *diag);

#endif
