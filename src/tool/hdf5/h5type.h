#ifndef SRC_TOOL_HDF5_H5TYPE_H
#define SRC_TOOL_HDF5_H5TYPE_H

#include "src/tool/hdf5/h5dataset.h"

/*
 * Makes the HDF5 type of elements of `dtype` in a file, little-endian. bfloat16 becomes float32, because other
 * readers know no bfloat16. Returns a negative id on failure; the caller closes the type.
 */
hid_t gcb_h5type_create(enum gcb_dtype dtype);

/*
 * Finds the element type of an open dataset. GCB_BF16 is a 2-byte bfloat16, or a float32 dataset whose attribute
 * source_dtype says "bfloat16". Returns false if enum gcb_dtype lacks the type.
 */
bool gcb_h5type_of(enum gcb_dtype *out, const struct gcb_h5dataset *dataset);

#endif
