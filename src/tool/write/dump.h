#ifndef SRC_TOOL_WRITE_DUMP_H
#define SRC_TOOL_WRITE_DUMP_H

#include "src/lib/tensor/tensor.h"
#include "src/tool/write/outfile.h"

/*
 * Writes tensors to an HDF5 file in the schema of docs/dataset.md, for `decompress` and `generate`. The file appears
 * under its name only when it is committed.
 */
struct gcb_dump;

/* Starts a file. Arguments and errors are those of gcb_outfile_init. The caller owns *out. */
int gcb_dump_create(struct gcb_dump **out, const char *path, bool force, const char *const *inputs,
                    size_t input_count, struct gcb_diag *diag);

/*
 * Adds the dataset of a tensor, and the groups above it. `data` has as many floats as the product of dims;
 * gcb_dump_put converts them to `dtype`. GCB_BF16 is stored as float32 with the attribute source_dtype. Returns
 * GCB_E_IO also if the disk is full, and GCB_E_INVALID if the path exists.
 */
struct gcb_dump_tensor {
    const char *dataset; /* absolute path of the dataset */
    enum gcb_dtype dtype;
    unsigned rank;
    const uint64_t *dims;
    int64_t index; /* value of the attribute `index`; below 0: no attribute */
};
int gcb_dump_put(struct gcb_dump *dump, const struct gcb_dump_tensor *tensor, const float *data,
                 struct gcb_diag *diag);

/* Adds a text or a number as an attribute of an existing group; "/" is the root. */
int gcb_dump_note(struct gcb_dump *dump, const char *group, const char *name, const char *text,
                  struct gcb_diag *diag);
int gcb_dump_value(struct gcb_dump *dump, const char *group, const char *name, double value,
                   struct gcb_diag *diag);

/* Closes the file, syncs it and renames it to its final name. Frees nothing. */
int gcb_dump_commit(struct gcb_dump *dump, struct gcb_diag *diag);

/* Removes the file unless it was committed, and frees `dump`, which may be NULL. */
void gcb_dump_destroy(struct gcb_dump *dump);

#endif
