#ifndef SRC_TOOL_HDF5_H5TYPE_H
#define SRC_TOOL_HDF5_H5TYPE_H

#include <hdf5.h>

#include "src/lib/base/status.h"

/*
 * A new HDF5 type for elements of `dtype` as they stand in a file, little-endian (bfloat16: float32,
 * for want of a type that other readers know). Below 0 on failure; H5Tclose it.
 */
hid_t gcb_h5type_create(enum gcb_dtype dtype);

#endif
