#ifndef SRC_TOOL_DUMP_DUMP_H
#define SRC_TOOL_DUMP_DUMP_H

#include "src/lib/tensor/tensor.h"
#include "src/tool/hdf5/outfile.h"

/*
 * Writes an HDF5 dump of tensors in the schema of docs/dataset.md (`decompress` and `generate` use it).
 * Appears under its name only when closed whole.
 */
struct gcb_dump;

/* As gcb_outfile_init; `*out` is owned by the caller. */
int gcb_dump_create(struct gcb_dump **out, const char *path, bool force, const char *const *inputs,
                    size_t input_count, struct gcb_diag *diag);

/*
 * Adds a dataset at the absolute path `dataset` (groups are made as needed) of the given type and shape
 * from count = product of dims floats, narrowed or widened to `dtype` (bf16: stored as float32 with the
 * attribute source_dtype). index < 0: no attribute `index`. GCB_E_IO also for a full disk; GCB_E_INVALID
 * if the path exists.
 */
struct gcb_dump_tensor {
    const char *dataset;
    enum gcb_dtype dtype;
    unsigned rank;
    const uint64_t *dims;
    int64_t index;
};
int gcb_dump_put(struct gcb_dump *dump, const struct gcb_dump_tensor *tensor, const float *data,
                 struct gcb_diag *diag);

/* Attributes of a group that exists ("/" is the root). */
int gcb_dump_note(struct gcb_dump *dump, const char *group, const char *name, const char *text,
                  struct gcb_diag *diag);
int gcb_dump_value(struct gcb_dump *dump, const char *group, const char *name, double value,
                   struct gcb_diag *diag);

/* Closes the file, checks that every byte arrived, renames. Frees nothing. */
int gcb_dump_commit(struct gcb_dump *dump, struct gcb_diag *diag);

/* Removes what was not committed and frees. Never hangs on a full disk. NULL is fine. */
void gcb_dump_destroy(struct gcb_dump *dump);

#endif
