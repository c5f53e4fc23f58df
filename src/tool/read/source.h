#ifndef SRC_TOOL_READ_SOURCE_H
#define SRC_TOOL_READ_SOURCE_H

#include <stdbool.h>

#include "src/lib/base/diag.h"
#include "src/lib/tensor/tensor.h"
#include "src/tool/read/infile.h"
#include "src/tool/read/reader.h"
#include "src/tool/read/shuffle.h"
#include "src/tool/read/synthetic.h"

/*
 * A list of tensors: those in files of HDF5, NumPy or safetensors, or synthetic tensors. They are
 * read one at a time, so a file may be larger than memory. Each dataset (or array) of float16,
 * bfloat16, fp8, float32 or float64 anywhere in a file is a tensor, except scales of fp8 and netCDF
 * dimensions without values. So is a dataset of integers or bytes if --as or its attribute
 * source_dtype (docs/dataset.md) says which floats they are. Other datasets are skipped.
 * gcb_source_remark says what was skipped, and what is doubtful.
 *
 * A tensor's step comes from the names of its groups, else from the name of the file, else from its
 * folders (docs/dataset.md); without any of them it is 0. The same holds for its worker.
 *
 * A tensor with several names is listed under each name. But a name without a step or without a
 * worker is left out if another name says more of them (mark_aliases in source_open.c).
 *
 * A file is untrusted (src/tool/read/child.h). Messages name the file, the dataset and the cause,
 * escaped.
 */
struct gcb_source;

enum gcb_order {
    GCB_ORDER_NAME,     /* by path, component by component, bytewise */
    GCB_ORDER_RECORDED, /* by attribute `index`; tensors without it come last, by name */
};

/* Selects tensors: a tensor is listed if all selectors accept it. */
struct gcb_tensor_selection {
    const char *const *include; /* globs for paths below the worker group; no globs: all paths */
    size_t include_count;
    const char *const *exclude;
    size_t exclude_count;
    /* NULL or "all"; else "N", "A-B", "A-B/STRIDE", "last", or several of these with commas */
    const char *steps;
    const char *workers; /* like `steps`, without "last" */
};

struct gcb_source_config {
    const char *const *files; /* files, and folders, which stand for the files below them */
    size_t file_count;        /* number of files and folders, at least 1 */
    struct gcb_tensor_selection selection;
    enum gcb_order order;
    struct gcb_reading reading;    /* formats of integers and bytes; zeroed: as source_dtype says */
    struct gcb_read_limits limits; /* max_bytes also limits a tensor's size as float32 */
};

/*
 * Opens the files and lists their tensors as one dump, ordered by step, worker, then `order`. In a
 * folder and its folders, it opens the files with a reader's ending, but no links, and nothing
 * whose name begins with a dot. The caller owns *out, which is not set on failure. The strings of
 * `config` need to be valid only during the call, except limits.hdf5_plugins. Returns the statuses
 * of infile.h, and GCB_E_INVALID if
 *   - `file_count` is 0, or a path is neither a regular file nor a folder;
 *   - a folder has too many files or levels (source_open.c);
 *   - tensors of two files have the same step, worker and path;
 *   - a selector is malformed, or no tensor is selected;
 *   - a step or worker that was asked for by its number is absent;
 *   - no file has float data, and one of the files has messages.
 * Returns GCB_E_CORRUPT also if two tensors of one file have the same step, worker and path, or if
 * no file has float data or messages.
 */
int gcb_source_open(struct gcb_source **out, const struct gcb_source_config *config,
                    struct gcb_diag *diag);
void gcb_source_close(struct gcb_source *source); /* the argument may be NULL */

/* Synthetic tensors: the parameters of a network, or one tensor. */
struct gcb_source_synthetic {
    const char *name; /* name of the distribution, with which the tensors' paths begin */
    struct gcb_synthetic dist;
    const char *layout; /* a name for gcb_network_layout; NULL: one tensor of `elements` */
    uint64_t elements;
};
#define GCB_SOURCE_SYNTHETIC "synthetic" /* the `file` of each synthetic tensor */

/*
 * Makes a source of synthetic float32 tensors of step 0, worker 0, in the order given. The caller
 * owns *out, which is not set on failure. Each read generates the values again; they are finite
 * and, for given inputs, depend only on `seed` and libm. Paths look like "normal/64K" and
 * "normal/resnet50/conv1.weight". The strings of `inputs` need to be valid only during the call.
 * Returns GCB_E_INVALID if a layout is unknown, a path repeats or `count` is 0.
 */
int gcb_source_open_synthetic(struct gcb_source **out, const struct gcb_source_synthetic *inputs,
                              size_t count, uint64_t seed, struct gcb_diag *diag);

/* Returns the number of tensors, which is at least 1. */
size_t gcb_source_count(const struct gcb_source *source);
/* Returns tensor i, which lives as long as the source. */
const struct gcb_tensor *gcb_source_tensor(const struct gcb_source *source, size_t i);

/*
 * True if glob i of the selection matched any tensor of the files, selected or not. A glob of
 * `exclude` may also match an object of a remark. A glob without a match is probably a typing
 * error. The globs of `include` come first, then those of `exclude`. Do not call this for synthetic
 * tensors, which have no selection.
 */
bool gcb_source_met(const struct gcb_source *source, size_t i);
/* True if this glob matches the path of any tensor of the source. */
bool gcb_source_matches(const struct gcb_source *source, const char *glob);

#define GCB_REMARK_TEXT 440 /* bytes of the longest remark, with its terminator */
/* Writes a remark as one line: how many objects there are of this kind, an example, and what the
 * user can do, if anything. Returns false if there are no such objects. */
bool gcb_source_remark(char out[GCB_REMARK_TEXT], const struct gcb_source *source,
                       enum gcb_remark kind);

/*
 * Reads all `count` elements of tensor i, converted to float32, into `out`. A finite float64 beyond
 * the range of float32 is GCB_E_CORRUPT. On failure returns a status of infile.h, or GCB_E_INVALID
 * if the mask's tensor has another number of elements; the content of `out` is then unspecified.
 */
int gcb_source_read(struct gcb_source *source, size_t i, float *out, struct gcb_diag *diag);

/* From now on, tensors of files are read and then permuted by gcb_shuffle. Unless `how` is
 * GCB_SHUFFLE_NONE, no tensor has parts. Synthetic tensors stay as they are. */
void gcb_source_shuffle(struct gcb_source *source, enum gcb_shuffle how, uint64_t seed);

/* From now on, elements that are 0 in the first tensor of `mask` with the same path are read as 0,
 * and no tensor has parts. Synthetic tensors stay as they are. `source` owns the mask, even after a
 * failure. Returns GCB_E_INVALID if no tensor of the mask has the path of a tensor of the source.
 * Call this at most once. */
int gcb_source_mask(struct gcb_source *source, struct gcb_source *mask, struct gcb_diag *diag);

/* True if parts of tensor i can be read: its elements lie one after the other in a file, and the
 * source has neither a mask nor a shuffle. */
bool gcb_source_has_parts(const struct gcb_source *source, size_t i);
/* Reads `count` elements of a tensor that has parts, from element `from` on. Otherwise works like
 * gcb_source_read. */
int gcb_source_read_part(struct gcb_source *source, size_t i, uint64_t from, uint64_t count,
                         float *out, struct gcb_diag *diag);

/* Returns what the tensors are, such as "momentum": the attribute `what` (docs/dataset.md) of the
 * first file that has it. Returns NULL if no file has it. The text lives as long as the source.
 * Escape it before showing it. */
const char *gcb_source_what(const struct gcb_source *source);

#endif
