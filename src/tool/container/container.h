#ifndef SRC_TOOL_CONTAINER_CONTAINER_H
#define SRC_TOOL_CONTAINER_CONTAINER_H

#include "src/tool/dump/layout.h"
#include "src/tool/hdf5/outfile.h"

/*
 * Messages in HDF5 (docs/format.md, "The container"). A message of one tensor is a 1-D uint8 dataset at the
 * tensor's own absolute path, with the attributes `shape` ("3x4", "" for a scalar), `dtype` ("fp16") and, if
 * the tensor has one, `index`. A message of a bucket or model is /step_N/worker_N/messages/NNNN with, beside it,
 * NNNN_layout: a table of its tensors (path, dtype, shape, offset, index), the hash of which is the attribute
 * `layout_xxh3` of the message.
 *
 * Paths, types, shapes and indices are mixed into the seed of their message's checksum, and the root keeps the
 * number of messages and a hash over all of them (src/tool/container/container_salt.h): any changed byte of these, a
 * renamed message and a lost one are found. Tensors that come from several files are restored as
 * /step_N/worker_N/PATH, because their own paths could collide; those of one file keep theirs.
 *
 * Every message has its checksum field (src/lib/wire/message.h); the writer fills it, the reader checks it.
 */
struct gcb_container_writer;

int gcb_container_create(struct gcb_container_writer **out, const char *path, bool force,
                         const char *const *inputs, size_t input_count, struct gcb_diag *diag);

/* Root attributes: free text such as method spec and version. */
int gcb_container_note(struct gcb_container_writer *w, const char *name, const char *text,
                       struct gcb_diag *diag);

/*
 * Adds one message, which must have a checksum field (filled here, in `message`). What is known of its
 * tensors comes from the source and the plan, whose name decides where it stands.
 */
int gcb_container_put(struct gcb_container_writer *w, const struct gcb_source *source,
                      const struct gcb_message_plan *plan, uint8_t *message, size_t length,
                      struct gcb_diag *diag);

int gcb_container_commit(struct gcb_container_writer *w, struct gcb_diag *diag);
/* Removes what was not committed, and frees. NULL is fine. */
void gcb_container_destroy(struct gcb_container_writer *w);

/* Reading: the file is as untrusted as any other (src/tool/dump/source.h). */
struct gcb_container;

struct gcb_container_tensor {
    char *dataset; /* absolute path of the tensor in the restored tree */
    enum gcb_dtype dtype;
    unsigned rank;
    uint64_t dims[GCB_MAX_RANK];
    uint64_t count;
    uint64_t offset; /* of its first element in the message */
    int64_t index;
};

struct gcb_container_message {
    const char *dataset; /* where the message stands */
    size_t length;       /* bytes */
    uint64_t count;      /* elements; equals the sum over its tensors */
    const struct gcb_container_tensor *tensors;
    size_t tensor_count;
};

/*
 * Lists the messages. GCB_E_INVALID when the file holds none ("not a file of messages; ..."). GCB_E_NOMEM for
 * a message whose elements take more than max_bytes as float32 (0: half of memory).
 */
int gcb_container_open(struct gcb_container **out, const char *path, uint64_t max_bytes,
                       struct gcb_diag *diag);
void gcb_container_close(struct gcb_container *c); /* NULL is fine */
size_t gcb_container_count(const struct gcb_container *c);
const struct gcb_container_message *gcb_container_message(const struct gcb_container *c, size_t i);

/* Reads message i (length bytes) and checks its checksum, header count and layout. GCB_E_CORRUPT. */
int gcb_container_read(struct gcb_container *c, size_t i, uint8_t *out, struct gcb_diag *diag);

#endif
