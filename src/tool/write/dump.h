#ifndef SRC_TOOL_WRITE_DUMP_H
#define SRC_TOOL_WRITE_DUMP_H

#include "src/lib/tensor/tensor.h"
#include "src/tool/read/synthetic.h"
#include "src/tool/write/outfile.h"

/*
 * Writes tensors to an HDF5 file in the schema of docs/dataset.md, for `decompress` and `generate`.
 * The file appears under its name only when it is committed.
 */
struct gcb_dump;

/* Starts a file. Arguments and errors are those of gcb_outfile_init. The caller owns *out. */
int gcb_dump_create(struct gcb_dump **out, const char *path, bool force, const char *const *inputs,
                    size_t input_count, struct gcb_diag *diag);

/*
 * Adds the dataset of a tensor, and the groups above it. `data` has as many floats as the product
 * of dims; gcb_dump_put converts them to `dtype`. GCB_BF16 is stored as float32 with the attribute
 * source_dtype. Returns GCB_E_IO also if the disk is full, and GCB_E_INVALID if the path exists.
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

/* ---- generated tensors (generate.c) ---- */

/* What to generate: each step and worker gets all tensors of the layout. */
struct gcb_generate {
    struct gcb_synthetic dist;
    /* NULL or "flat": one tensor of `elements`; or a name for gcb_network_layout */
    const char *layout;
    uint64_t elements;
    uint64_t steps;
    uint64_t workers;
    /*
     * Correlation r of two workers' gradients of the same step, in [0, 1]. The distribution of each
     * worker's values stays the same. Normal and autoregressive values are mixed: sqrt(r) * common
     * + sqrt(1 - r) * own. With other distributions, a worker takes the common value with
     * probability sqrt(r), otherwise its own value.
     */
    double correlation;
    enum gcb_dtype dtype;
    uint64_t seed;
};

/*
 * Writes the tensors into `dump`; the caller commits it. Allocates 4 bytes per element of the
 * largest tensor, or 12 bytes with a correlation. Returns GCB_E_INVALID if the layout is unknown.
 */
int gcb_generate_write(struct gcb_dump *dump, const struct gcb_generate *config,
                       struct gcb_diag *diag);

#endif
