#ifndef SRC_TOOL_READ_HDF5_TYPE_H
#define SRC_TOOL_READ_HDF5_TYPE_H

#include "src/tool/read/format.h"
#include "src/tool/read/hdf5_dataset.h"

/*
 * Makes the HDF5 type of elements of `dtype` in a file, little-endian. bfloat16 becomes float32, because other
 * readers know no bfloat16. Returns a negative id on failure; the caller closes the type.
 */
hid_t gcb_h5type_create(enum gcb_dtype dtype);

/* The elements of a dataset: the type that they count as, and how they are stored. */
struct gcb_h5element {
    enum gcb_dtype dtype;
    enum gcb_h5format format;
};

/*
 * Finds the element type of an open dataset. A dataset of floats has its own: GCB_BF16 is a 2-byte bfloat16, or a float32
 * dataset whose attribute source_dtype says "bfloat16". A dataset of integers or opaque bytes is in the format that its
 * source_dtype names, or else in that of `reading`. Returns false if the dataset is no tensor.
 */
bool gcb_h5type_of(struct gcb_h5element *out, const struct gcb_h5dataset *dataset,
                   const struct gcb_h5reading *reading);

/* Could the elements be floats in integers or opaque bytes of 1 or 2 bytes? */
bool gcb_h5type_plain(const struct gcb_h5dataset *dataset);

#endif
