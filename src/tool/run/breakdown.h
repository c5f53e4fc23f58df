#ifndef SRC_TOOL_RUN_BREAKDOWN_H
#define SRC_TOOL_RUN_BREAKDOWN_H

#include "src/tool/rows/fields.h"
#include "src/tool/rows/row.h"
#include "src/tool/run/run.h"

/* What the messages of a group have in common (the option --per). */
enum gcb_per { GCB_PER_MESSAGE, GCB_PER_TENSOR, GCB_PER_STEP, GCB_PER_WORKER };

/* A group of messages, with a tally for each method. */
struct gcb_group {
    char *name; /* gcb_run_trial.name of the first message; not escaped */
    uint64_t step;
    uint32_t worker;           /* step and worker of the first message */
    struct gcb_tally *tallies; /* one for each method */
    /* with gcb_shapes: [0] of the input, [1 + i] of method i; otherwise NULL */
    struct gcb_shape *shapes;
    double key;   /* figure by which groups are sorted */
    size_t place; /* index before sorting */
};

/* All groups of a run. */
struct gcb_groups {
    enum gcb_per per;
    size_t methods;          /* number of methods */
    struct gcb_group *items; /* in the order in which they were added, until they are sorted */
    size_t count, cap;
    size_t next; /* index of the group at which the next search begins */
};

void gcb_groups_init(struct gcb_groups *g, enum gcb_per per, size_t methods);
void gcb_groups_fini(struct gcb_groups *g); /* a zeroed struct is allowed */

/* Adds the trial's tally to the group of its message, which is created if needed. With
 * GCB_PER_MESSAGE, the trials of a message must follow each other: gcb_run must run without
 * gcb_run_config.groups. */
void gcb_groups_add(struct gcb_groups *g, const struct gcb_run_trial *trial);

/* Sorts groups by a figure of method 0: the largest first, and groups without the figure last.
 * Equal groups keep their order. */
void gcb_groups_sort(struct gcb_groups *g, enum gcb_field figure);

/* Writes the indices of a result's totals to `order`, sorted by a figure: the largest first, and
 * totals without the figure last. Equal totals keep their order. `order` has room for
 * result->method_count indices. */
void gcb_totals_order(size_t *order, const struct gcb_run_result *result, enum gcb_field figure);

/* A tensor's part of a method's squared error, summed over steps and workers. */
struct gcb_loss {
    const char *path; /* path of the tensor, borrowed from the groups; not escaped */
    double share;     /* share of the method's squared error, 0 to 1 */
};

/* Adds the squared error of a trial to the group of its tensor. If the message covers several
 * tensors, measures the error of each tensor again and adds it to the tensor's group. `losses` was
 * made with GCB_PER_TENSOR. `config` gives the kernels and threads. Returns errors of reading. */
int gcb_losses_add(struct gcb_groups *losses, const struct gcb_source *source,
                   const struct gcb_run_trial *trial, const struct gcb_trial_config *config,
                   struct gcb_diag *diag);

/* Writes the tensors with the largest shares to `out`, at most `count` of them, largest first.
 * Sorts `losses` in this order. Returns the number of tensors written, which is 0 if the method's
 * error is 0 or not finite. */
size_t gcb_losses_top(struct gcb_groups *losses, size_t method, struct gcb_loss *out, size_t count);

/*
 * Histograms and spectra of inputs and decoded tensors, for each tensor (or bucket), summed over
 * steps and workers. The rows are those of `inspect` with a field `of`: "input", "decoded" or
 * "error" (input minus decoded, only in histograms). Rows of decoded tensors and of errors have
 * `method` and `spec` too. A spectrum leaves out messages whose input has infinities or NaNs, and
 * messages with another size than the first message of the same name.
 */
struct gcb_shapes_config {
    bool histogram, spectrum;
    size_t methods;
    const struct gcb_kernels *kernels; /* borrowed until the shapes are destroyed, as is `queue` */
    const struct gcb_queue *queue;
};

struct gcb_shapes;

/* Copies *config. The caller frees the shapes with gcb_shapes_destroy. */
struct gcb_shapes *gcb_shapes_create(const struct gcb_shapes_config *config);
void gcb_shapes_destroy(struct gcb_shapes *s); /* NULL is fine */

/* Adds the input and the decoded tensor of a trial, which must have trial->input. For each message
 * the trial of method 0 must come first. Returns 0 or GCB_E_NOMEM. */
int gcb_shapes_add(struct gcb_shapes *s, const struct gcb_run_trial *trial, struct gcb_diag *diag);

/* Makes the rows. `put` receives each row and releases it. Returns the first error of `put`. */
int gcb_shapes_rows(const struct gcb_shapes *s, const struct gcb_method *methods,
                    int (*put)(void *ctx, struct gcb_row *row, struct gcb_diag *diag), void *ctx,
                    struct gcb_diag *diag);

#endif
