#ifndef SRC_TOOL_DUMP_SOURCE_H
#define SRC_TOOL_DUMP_SOURCE_H

#include <stdbool.h>

#include "src/lib/base/diag.h"
#include "src/lib/tensor/tensor.h"
#include "src/tool/dump/synthetic.h"

/*
 * Tensors out of HDF5 files, read one at a time: a file larger than memory works. Every float16, bfloat16
 * (see `source_dtype` in docs/dataset.md), float32 and float64 dataset anywhere in a file is a tensor.
 * Groups named step* and worker* at any depth give step and worker (the number behind the letters and
 * an optional '_'), the outermost of each; what is absent is step 0, worker 0, or N for a file called
 * *rankN*. Integer and other datasets are skipped and counted. An object with several names is listed
 * once, under the first; soft links are passed over, for what they lead to has a name of its own.
 *
 * A file is untrusted: filter plug-ins are never loaded; external links, external storage and virtual
 * datasets are refused (GCB_E_UNSUPPORTED) unless allowed, and so is any filter but deflate, shuffle and
 * fletcher32; declared sizes are checked before anything is allocated; link cycles end. Words name the file,
 * the dataset and the cause, escaped.
 */
struct gcb_source;

enum gcb_order {
    GCB_ORDER_NAME, /* depth-first by link name, bytewise, component by component */
    GCB_ORDER_RECORDED, /* by attribute `index`; tensors without one after those that have it, by name */
};

/* Which tensors: every selector that is given must accept. */
struct gcb_tensor_selection {
    const char *const *include; /* globs on the path below the worker; none: all */
    size_t include_count;
    const char *const *exclude;
    size_t exclude_count;
    const char *steps;   /* NULL or "all"; "N", "A-B", "A-B/STRIDE", "A,B,C" and mixtures; "last" */
    const char *workers; /* NULL or "all"; as steps, without "last" */
    uint64_t min_elements; /* 0: none. Not applied here: callers send smaller ones dense */
};

struct gcb_source_config {
    const char *const *files;
    size_t file_count; /* at least 1 */
    struct gcb_tensor_selection selection;
    enum gcb_order order;
    /* of one tensor, widened to float32 and as stored; 0: half of physical memory */
    uint64_t max_bytes;
    bool allow_external;
};

struct gcb_tensor {
    const char *path;    /* below the worker, as in the file (escape before showing) */
    const char *dataset; /* absolute path in its file */
    const char *file;    /* as given */
    uint64_t step;
    uint32_t worker;
    /* GCB_BF16 for a float32 dataset whose attribute source_dtype says bfloat16 */
    enum gcb_dtype dtype;
    unsigned rank;
    uint64_t dims[GCB_MAX_RANK];
    uint64_t count; /* product of dims; 1 for a scalar, 0 for an empty one */
    int64_t index;  /* attribute `index`, or -1 */
};

/*
 * Opens and lists the files as one dump, ordered by step, worker, then `order`. GCB_E_INVALID if a
 * (step, worker, tensor) repeats (both places are named), a selector is malformed, or nothing is left (the
 * words say whether the file has no float data or the selection excluded all), or if a single step or
 * worker that was asked for is not there. On success the caller
 * owns *out; strings of `config` must stay valid only for the call.
 */
int gcb_source_open(struct gcb_source **out, const struct gcb_source_config *config,
                    struct gcb_diag *diag);
void gcb_source_close(struct gcb_source *source); /* NULL is fine */

/* Synthetic tensors: of `layout` those of a network, else one of `elements`. */
struct gcb_source_synthetic {
    const char *name; /* of the distribution, first part of the tensors' paths */
    struct gcb_synthetic dist;
    const char *layout; /* as gcb_synthetic_layout; NULL: none */
    uint64_t elements;
};
#define GCB_SOURCE_SYNTHETIC "synthetic" /* the file that they say they come from */

/*
 * A source without a file: step 0, worker 0, float32, in the order given, made anew at each reading; all of it
 * finite, and the same for the same seed. Paths are "normal/64K" and "normal/layer1.weight". Strings must stay
 * valid only for the call. GCB_E_INVALID: an unknown layout, a tensor twice.
 */
int gcb_source_open_synthetic(struct gcb_source **out, const struct gcb_source_synthetic *inputs,
                              size_t count, uint64_t seed, struct gcb_diag *diag);

size_t gcb_source_count(const struct gcb_source *source);
const struct gcb_tensor *gcb_source_tensor(const struct gcb_source *source, size_t i);

/*
 * Did glob i of the selection, those of `include` counted before those of `exclude`, match a tensor of the files,
 * selected or not? One that did not is likely a slip.
 */
bool gcb_source_met(const struct gcb_source *source, size_t i);
/* Does a tensor of the source, a selected one, match this glob? */
bool gcb_source_matches(const struct gcb_source *source, const char *glob);

/* Datasets that were passed over because they are not floats. */
size_t gcb_source_skipped(const struct gcb_source *source);

/*
 * Reads tensor i, all of its count elements, converted to float32, into out. A float64 that float32
 * cannot hold becomes an infinity. GCB_E_IO or GCB_E_CORRUPT on failure; out is unspecified then.
 */
int gcb_source_read(struct gcb_source *source, size_t i, float *out, struct gcb_diag *diag);

/*
 * A number attached to a step group ("loss", "lr", "epoch", "loss_scale", ...). Returns false when the step
 * has none.
 */
bool gcb_source_step_value(const struct gcb_source *source, uint64_t step, const char *name,
                           double *value);

/* Text of a root attribute of the first file that has it ("model", "dataset"; a number as decimal text,
 * "momentum"), or NULL. Escape it. */
const char *gcb_source_note(const struct gcb_source *source, const char *name);

#endif
