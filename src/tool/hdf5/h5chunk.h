#ifndef SRC_TOOL_HDF5_H5CHUNK_H
#define SRC_TOOL_HDF5_H5CHUNK_H

#include "src/tool/hdf5/h5file.h"

/*
 * Reads all of a vetted chunked dataset, as gcb_h5dataset_read does. Returns GCB_E_NOMEM, or 0 with *ok
 * saying whether it could be read; if not, `cause` (size bytes) says why.
 *
 * Filtered chunks are checked before HDF5 unpacks them. HDF5 (1.10.8, seen under AddressSanitizer) believes
 * that one unpacks to the chunk's size: a shorter one makes it read past its buffer, a longer one takes all
 * the memory it asks for. So each is inflated into nothing first, and only counted. That doubles the time of
 * inflating, which is never inside a timed region.
 */
int gcb_h5chunk_read(const struct gcb_h5dataset *dataset, hid_t mem_type, void *out, bool *ok,
                     char *cause, size_t size);

#endif
