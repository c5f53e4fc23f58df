#ifndef SRC_TOOL_READ_HDF5_ITEM_H
#define SRC_TOOL_READ_HDF5_ITEM_H

#include "src/lib/tensor/tensor.h"
#include "src/tool/read/format.h"
#include "src/tool/read/hdf5_dataset.h"

/* A dataset, as it was when the file was listed. It is read as floats; a dataset of bytes is read as bytes. */
struct gcb_h5item {
    const char *path;         /* absolute path of the dataset */
    bool bytes;               /* the dataset is 1-D and has the type uint8 */
    enum gcb_dtype dtype;     /* type that the elements count as; not used if `bytes` is true */
    enum gcb_h5format format; /* GCB_H5_OWN if `bytes` is true */
    unsigned rank;
    const uint64_t *dims;
    uint64_t count; /* product of dims */
    /* If `stored` is not 0, the elements can be read without HDF5: each is little-endian and has `stored` bytes, and
     * they lie one after the other in the file, from `offset` on. */
    unsigned stored;
    uint64_t offset;
};

/* Sets `stored` and `offset` of an item from its vetted dataset. The item's other members must be set. */
void gcb_h5item_locate(struct gcb_h5item *item, const struct gcb_h5dataset *dataset);

/* Could `stored` and `offset` of this item come from gcb_h5item_locate? The child that sends them is not trusted. */
bool gcb_h5item_plausible(const struct gcb_h5item *item, const struct gcb_h5file *file);

/* Reads `count` elements, from element `from` on, of an item whose `stored` is not 0, through a descriptor of its file.
 * The result is that of gcb_h5item_read. */
int gcb_h5item_read_stored(const struct gcb_h5file *file, int descriptor,
                           const struct gcb_h5item *item, uint64_t from, uint64_t count, void *out,
                           struct gcb_diag *diag);

/* Returns the bytes of an element as gcb_h5item_read gives it: 1 for bytes, 8 for a float64, 4 for other floats. */
size_t gcb_h5item_size(const struct gcb_h5item *item);

/*
 * Reads a piece of an item (gcb_h5dataset_piece), which begins at element `from`. On input, *count is the number of
 * elements that fit into `out`. On output, it is the number of elements read. If not even one row of chunks fits, *count
 * becomes the number of elements of the row, and `out` is unchanged. Returns GCB_E_CORRUPT also if the type or shape of
 * the dataset has changed since the listing.
 */
int gcb_h5item_read(const struct gcb_h5file *file, const struct gcb_h5item *item, uint64_t from,
                    uint64_t *count, void *out, struct gcb_diag *diag);

/*
 * Copies `count` elements, from element `from` on, as gcb_h5item_read gave them to where the caller wants them: as bytes or
 * float32. Returns GCB_E_CORRUPT if a finite float64 is beyond the range of float32.
 */
int gcb_h5item_take(const struct gcb_h5file *file, const struct gcb_h5item *item, uint64_t from,
                    const void *data, uint64_t count, void *out, struct gcb_diag *diag);

#endif
