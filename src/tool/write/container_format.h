#ifndef SRC_TOOL_WRITE_CONTAINER_FORMAT_H
#define SRC_TOOL_WRITE_CONTAINER_FORMAT_H

#include <hdf5.h>

#include "src/lib/tensor/tensor.h"

/*
 * The parts of the container's format that writer and reader share (docs/format.md, "The
 * container").
 *
 * The root has the attributes gcbench_container ("1"), gcbench_messages (the number of messages)
 * and gcbench_xxh3 (the sum of gcb_container_share over all messages). So a reader notices a lost
 * or renamed message.
 */
#define GCB_CONTAINER_VERSION "1"
#define GCB_CONTAINER_DTYPE 5 /* bytes of a type's name with its terminator */
#define GCB_CONTAINER_HEX 17  /* bytes of a hash as text with its terminator */

/*
 * Adds one tensor to the salt of a message and returns the new salt. The salt starts as 0; add the
 * tensors in order. XXH3-64 hashes path, type, shape and index as text, one after the other, each
 * seeded with the hash before it.
 */
uint64_t gcb_container_salt(uint64_t salt, const char *path, enum gcb_dtype dtype,
                            const char *shape, int64_t index);
/* Returns the number that a message adds to gcbench_xxh3: the hash of its dataset's path, seeded
 * with its salt. */
uint64_t gcb_container_share(uint64_t salt, const char *path);

/* Writes a hash as 16 hexadecimal digits. */
void gcb_container_hex(char out[GCB_CONTAINER_HEX], uint64_t hash);

/*
 * Makes the HDF5 type of a row of a layout table: the texts "path" (path_size bytes), "dtype" (5
 * bytes) and "shape" (shape_size bytes), the u64 "offset" and the i64 "index", packed in this
 * order. Texts are terminated. Returns a negative id on failure; the caller closes the type.
 */
hid_t gcb_container_row_type(size_t path_size, size_t shape_size);

#endif
