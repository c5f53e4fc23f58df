#ifndef SRC_TOOL_WRITE_CONTAINER_H
#define SRC_TOOL_WRITE_CONTAINER_H

#include "src/tool/read/layout.h"
#include "src/tool/write/dump.h"

/*
 * Messages in an HDF5 file (docs/format.md, "The container").
 *
 * A message of one tensor is a 1-D uint8 dataset at the tensor's absolute path. Its attributes are
 * `shape` ("3x4", "" for a scalar), `dtype` ("fp16") and, if the tensor has one, `index`.
 *
 * A message of a bucket or model is the dataset /step_N/worker_N/messages/NNNN. The dataset
 * NNNN_layout in the same group is a table of the message's tensors (path, dtype, shape, offset,
 * index). The message's attribute `layout_xxh3` is the message's salt (see below), which the
 * reader computes again from that table.
 *
 * Each message has a checksum field (src/lib/wire/message.h), which the writer fills and the reader
 * checks. The checksum's seed is the message's salt, which depends on the paths, types, shapes and
 * indices of its tensors. So a reader also finds a changed path, type, shape or index.
 *
 * The root has attributes with the number of messages and the sum of hashes of their paths. So a
 * reader also finds a lost or renamed message.
 *
 * Tensors from one file keep their paths. Tensors from several files are restored as
 * /step_N/worker_N/PATH, because their paths could be the same.
 */

/*
 * Adds a message of `length` bytes. The message must have a checksum field, which this function
 * fills in. `source` and `plan` describe the message's tensors. If plan->name is "", the message
 * covers one tensor and is written at the path that the restored tensor will have.
 */
int gcb_container_put(struct gcb_h5out *w, const struct gcb_source *source,
                      const struct gcb_message_plan *plan, uint8_t *message, size_t length,
                      struct gcb_diag *diag);

/* Writes the root attributes and commits the file (gcb_h5out_commit). Call this function instead of
 * gcb_h5out_commit, and then gcb_h5out_destroy. */
int gcb_container_commit(struct gcb_h5out *w, struct gcb_diag *diag);

/*
 * Adds one tensor to the salt of a message, and returns the new salt. The salt starts as 0. Add the
 * tensors in order. XXH3-64 hashes path, type, shape and index as text, one after the other, each
 * seeded with the hash before it.
 */
uint64_t gcb_container_salt(uint64_t salt, const char *path, enum gcb_dtype dtype,
                            const char *shape, int64_t index);

/* A file of messages that is open for reading. The file is untrusted (src/tool/read/infile.h). */
struct gcb_container;

struct gcb_container_message {
    const char *dataset; /* absolute path of the message */
    size_t length;       /* length of the message in bytes */
    uint64_t count;      /* elements of all its tensors together */
    /* Only `dataset`, which is the path in the restored tree, dtype, rank, dims, count and index
     * are set. */
    struct gcb_tensor *tensors;
    size_t tensor_count;
};

/*
 * Opens a file of messages and lists them. The caller owns *out; `path` must live as long as *out.
 * Returns GCB_E_CORRUPT also if the file is not a file of messages, and GCB_E_UNSUPPORTED if a
 * newer version wrote it. Returns GCB_E_NOMEM if the elements of a message take more than max_bytes
 * as float32 (0 means half of physical memory). If in_process is true, this process reads the file,
 * else a child (src/tool/read/child.h).
 */
int gcb_container_open(struct gcb_container **out, const char *path, uint64_t max_bytes,
                       bool in_process, struct gcb_diag *diag);
void gcb_container_close(struct gcb_container *c); /* the argument may be NULL */
/* Messages are numbered from 0, depth-first in the bytewise order of the names in each group. They
 * live as long as `c`. */
size_t gcb_container_count(const struct gcb_container *c);
const struct gcb_container_message *gcb_container_message(const struct gcb_container *c, size_t i);

/* Reads message i to `out`, which has room for the `length` bytes of the message. Returns
 * GCB_E_CORRUPT if the checksum or the number of elements is wrong. */
int gcb_container_read(struct gcb_container *c, size_t i, uint8_t *out, struct gcb_diag *diag);

#endif
