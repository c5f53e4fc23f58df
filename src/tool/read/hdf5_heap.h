#ifndef SRC_TOOL_READ_HDF5_HEAP_H
#define SRC_TOOL_READ_HDF5_HEAP_H

#include <hdf5.h>
#include <stdbool.h>

/*
 * Reads the text of an attribute that is one variable-length string. The attribute only says where the text is: in
 * which collection of the file's "global heap", and at which index. HDF5 1.10.8 does not check that index, so this
 * function reads the collection without HDF5. The file must have 8-byte addresses and sizes, as files usually have.
 *
 * Returns false if the text is damaged or has `size` bytes or more. The copy is terminated.
 */
bool gcb_h5heap_text(hid_t attribute, char *out, size_t size);

#endif
