#ifndef SRC_TOOL_RUN_INPUT_H
#define SRC_TOOL_RUN_INPUT_H

#include <stdbool.h>

#include "kernels/kernels.h"
#include "src/lib/codec/codec.h"
#include "src/tool/base/watch.h"
#include "src/tool/measure/fidelity.h"
#include "src/tool/read/layout.h"
#include "src/tool/read/source.h"

/* Tensors whose path matches one of the globs belong to the output layer. The globs are
 * borrowed. */
struct gcb_output_layers {
    const char *const *globs;
    size_t count;
};

/* The kernels, threads, device, seed and FFT that messages are coded with. Pointers are
 * borrowed. */
struct gcb_compute {
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    const struct gcb_device *device; /* where messages are coded; NULL: the CPU */
    uint64_t seed;
    enum gcb_fft_engine fft_engine;
};

/* Sets kernels, queue, seed and engine of `env`. */
void gcb_compute_env(struct gcb_codec_env *env, const struct gcb_compute *compute);

/* Sets what gcb_compute_env sets, and the count, shape, rank, joined shapes, role and path of
 * `env`. A message of several tensors has no shape and the role "hidden". A message of a sample
 * (plan->data) has no shape. The path is from gcb_plan_name. Shape, joined shapes and path are
 * borrowed from the source and the plan. */
void gcb_plan_env(struct gcb_codec_env *env, const struct gcb_compute *compute,
                  const struct gcb_source *source, const struct gcb_message_plan *plan,
                  const struct gcb_output_layers *layers);

/* Returns the name of a message among those of its step and worker: the path of its tensor, or
 * "messages/NNNN" for a bucket or a model. The name is borrowed from the source or the plan. */
const char *gcb_plan_name(const struct gcb_message_plan *plan, const struct gcb_source *source);

/* Puts method, step, worker and name of the message in front of the text in `diag`. Returns err. */
int gcb_plan_explain(int err, const char *method, const struct gcb_message_plan *plan,
                     const struct gcb_source *source, struct gcb_diag *diag);

/* The size of a dump, for the line above a table. */
struct gcb_extent {
    uint64_t steps, workers, tensors; /* how many different steps, workers and tensors */
    bool full;                        /* each step has all workers, and each worker all tensors */
    uint64_t elements;
    uint64_t bytes;       /* size in the source's types */
    enum gcb_dtype dtype; /* type of the first tensor */
    bool mixed_dtypes;    /* not all tensors have this type */
    const char *what;     /* what the tensors are, such as "momentum"; NULL: unknown */
};

/* Finds the extent of all tensors of a source. */
void gcb_extent_of(struct gcb_extent *out, const struct gcb_source *source);

/* What to do with a tensor that has an infinity or a NaN. */
enum gcb_nonfinite_policy {
    GCB_POLICY_ERROR, /* fail */
    GCB_POLICY_SKIP,  /* skip the step for all workers, as a loss scaler does */
    GCB_POLICY_ZERO,  /* set these elements to 0 */
    GCB_POLICY_RAW,   /* send the message raw, without any change */
};

/* Counts infinities and NaNs in x[0..n). */
uint64_t gcb_nonfinite_count(const float *x, uint64_t n, const struct gcb_kernels *kernels);

/* Sets infinities and NaNs in x[0..n) to 0. Returns their number. */
uint64_t gcb_nonfinite_zero(float *x, uint64_t n);

/* The infinities and NaNs of the scanned tensors. Starts zeroed. */
struct gcb_nonfinite_scan {
    uint64_t tensors; /* number of tensors with an infinity or NaN */
    uint64_t *steps;  /* the step_count steps that have such a tensor, ascending, without repeats */
    size_t step_count, step_cap;
    bool stopped;   /* the watch ended the scan early, which is no error */
    char text[360]; /* the first three tensors: "step 0 worker 1 fc.weight (3 of 100), ..." */
};

/* Scans all tensors of the source, or if `only` is not NULL, each tensor i with only[i]. `buffer`
 * has room for the largest of these tensors. Returns errors of reading. Release *out with
 * gcb_nonfinite_scan_fini, also after a failure. */
int gcb_nonfinite_scan(struct gcb_nonfinite_scan *out, struct gcb_source *source, const bool *only,
                       float *buffer, const struct gcb_kernels *kernels,
                       const struct gcb_watch *watch, struct gcb_diag *diag);
/* Returns GCB_E_NONFINITE, with a message that names the first few tensors; 0 if the scan found
 * none. */
int gcb_nonfinite_refuse(const struct gcb_nonfinite_scan *scan, struct gcb_diag *diag);
void gcb_nonfinite_scan_fini(struct gcb_nonfinite_scan *scan); /* a zeroed struct is allowed */

/* True if a tensor of this step has an infinity or NaN. */
bool gcb_nonfinite_has_step(const struct gcb_nonfinite_scan *scan, uint64_t step);

#endif
