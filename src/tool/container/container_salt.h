#ifndef SRC_TOOL_CONTAINER_CONTAINER_SALT_H
#define SRC_TOOL_CONTAINER_CONTAINER_SALT_H

#include "src/lib/tensor/tensor.h"
#include "src/tool/hdf5/h5type.h"

/*
 * What the writer and the reader of the container agree on (docs/format.md, "The container").
 *
 * The root has the attributes gcbench_container ("1"), gcbench_messages (how many) and gcbench_xxh3 (the sum
 * over all messages of the hash of their dataset's path, seeded with their salt), so that a file that lost
 * a message or had one renamed is told apart from a whole one.
 */
#define GCB_CONTAINER_VERSION "1"
#define GCB_CONTAINER_DTYPE 5 /* a type's name, terminated */
#define GCB_CONTAINER_HEX 17  /* a hash as text, terminated */

/*
 * Mixes a tensor into the salt of its message, which begins as 0 and takes its tensors in order: each of
 * path, type, shape and index, as text, is hashed with XXH3-64 seeded with the salt before it.
 */
uint64_t gcb_container_salt(uint64_t salt, const char *path, enum gcb_dtype dtype,
                            const char *shape, int64_t index);
/* What a message adds to the sum. */
uint64_t gcb_container_share(uint64_t salt, const char *path);

void gcb_container_hex(char out[GCB_CONTAINER_HEX], uint64_t hash);

/*
 * The type of a row of a layout: text of path_size bytes "path", "dtype" of 5, "shape" of shape_size, u64
 * "offset", i64 "index", packed in this order; texts are terminated. Below 0 on failure; H5Tclose it.
 */
hid_t gcb_container_row_type(size_t path_size, size_t shape_size);
#endif
