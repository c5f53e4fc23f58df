#ifndef SRC_TOOL_WRITE_DUMP_H
#define SRC_TOOL_WRITE_DUMP_H

#include "src/tool/read/reader.h"
#include "src/tool/read/synthetic.h"
#include "src/tool/write/outfile.h"

/*
 * An HDF5 file that is being written. It appears under its name complete or not at all. If the disk
 * is full, functions return GCB_E_IO. The file is a dump in the schema of docs/dataset.md
 * (`decompress`, `generate`), or a file of messages (container.h).
 */
struct gcb_h5out;

/* Starts a file. Arguments are those of gcb_outfile_init. Returns errors of gcb_outfile_init, and
 * of opening the file with HDF5. The caller releases *out with gcb_h5out_destroy. */
int gcb_h5out_create(struct gcb_h5out **out, const char *path, bool force,
                     const char *const *inputs, size_t input_count, struct gcb_diag *diag);

/* These two functions add an attribute, a text or a number, to the group or dataset at the path
 * `object`. They return GCB_E_INVALID if the object does not exist, if it already has the
 * attribute, or if the text is longer than 65000 bytes. */
int gcb_h5out_note(struct gcb_h5out *f, const char *object, const char *name, const char *text,
                   struct gcb_diag *diag);
int gcb_h5out_number(struct gcb_h5out *f, const char *object, const char *name, double value,
                     struct gcb_diag *diag);

/* Closes the file, syncs it and renames it to its final name. Returns GCB_E_IO also if an earlier
 * function has failed for this file. Call this function at most once, and then
 * gcb_h5out_destroy. */
int gcb_h5out_commit(struct gcb_h5out *f, struct gcb_diag *diag);

/* Removes the file unless it was committed, and frees `f`, which may be NULL. */
void gcb_h5out_destroy(struct gcb_h5out *f);

/* ---- tensors (dump.c) ---- */

/*
 * Adds the dataset of a tensor, and the groups above it. Uses only the tensor's dataset, dtype,
 * rank, dims and index. An index below 0 is not written. `data` has as many floats as the product
 * of dims, and they are converted to `dtype`. GCB_BF16 is stored as float32 with the attribute
 * source_dtype. Returns GCB_E_IO also if the disk is full, and GCB_E_INVALID if the path exists.
 */
int gcb_dump_put(struct gcb_h5out *dump, const struct gcb_tensor *tensor, const float *data,
                 struct gcb_diag *diag);

/* ---- generated tensors (generate.c) ---- */

/* What to generate: each step and worker gets all tensors of the layout. */
struct gcb_generate {
    struct gcb_synthetic dist;
    const char *layout; /* a name for gcb_network_layout; NULL or "flat": one tensor */
    uint64_t elements;  /* elements of that one tensor */
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
int gcb_generate_write(struct gcb_h5out *dump, const struct gcb_generate *config,
                       struct gcb_diag *diag);

#endif
