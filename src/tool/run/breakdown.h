#ifndef SRC_TOOL_RUN_BREAKDOWN_H
#define SRC_TOOL_RUN_BREAKDOWN_H

#include "src/tool/rows/fields.h"
#include "src/tool/rows/row.h"
#include "src/tool/run/run.h"

/* Tallies for each message, tensor, step or worker, for the tables of --per. */
enum gcb_per { GCB_PER_MESSAGE, GCB_PER_TENSOR, GCB_PER_STEP, GCB_PER_WORKER };

struct gcb_group {
    char *name;    /* name of the first message, without its worker; not escaped */
    uint64_t step; /* step of the first message */
    uint32_t worker;
    struct gcb_tally *tallies; /* one for each method */
    struct gcb_shape *shapes;  /* of gcb_shapes: of the input, then of each method; else NULL */
    double key;                /* for sorting */
    size_t place;              /* place before sorting */
};

struct gcb_groups {
    enum gcb_per per;
    size_t methods;
    struct gcb_group *items; /* in the order in which they were added */
    size_t count, cap;
    size_t next; /* where the next search begins */
};

void gcb_groups_init(struct gcb_groups *g, enum gcb_per per, size_t methods);
void gcb_groups_fini(struct gcb_groups *g); /* zeroed is fine */
int gcb_groups_add(struct gcb_groups *g, const struct gcb_run_trial *trial, struct gcb_diag *diag);

/* Sorts groups by a figure of method 0, largest first, groups without the figure last. Equal groups
 * keep their order. */
void gcb_groups_sort(struct gcb_groups *g, enum gcb_field figure);

/* Writes the order of the totals, sorted by the same rule, as method_count indices. */
void gcb_totals_order(size_t *order, const struct gcb_run_result *result, enum gcb_field figure);

/* Which tensors lose most: each tensor's squared error, summed over steps and workers, as a share
 * of the method's whole squared error. If a message covers several tensors, the error of each is
 * measured again. */
struct gcb_loss {
    const char *path; /* path of the tensor, borrowed from the groups; not escaped */
    double share;     /* share of the method's squared error, 0 to 1 */
};

/* Adds what a trial loses to a group for each tensor; `losses` was made with GCB_PER_TENSOR. */
int gcb_losses_add(struct gcb_groups *losses, const struct gcb_source *source,
                   const struct gcb_run_trial *trial, const struct gcb_trial_config *config,
                   struct gcb_diag *diag);

/* Writes the tensors with the largest shares, at most `count`, largest first, and sorts `losses`
 * so. Returns how many, 0 for a method without error. */
size_t gcb_losses_top(struct gcb_groups *losses, size_t method, struct gcb_loss *out, size_t count);

/*
 * Histograms and spectra of inputs and decoded tensors, for each tensor (or bucket), summed over
 * steps and workers. The rows are those of `inspect` with a field `of`: "input", "decoded" or
 * "error" (input minus decoded, only in histograms). Rows of decoded tensors and of errors have
 * `method` and `spec` too. A spectrum leaves out messages with infinities or NaNs, and messages
 * whose size differs from the first of the same name.
 */
struct gcb_shapes_config {
    bool histogram, spectrum;
    size_t methods;
    const struct gcb_queue *queue; /* borrowed until the shapes are destroyed */
};

struct gcb_shapes;

int gcb_shapes_create(struct gcb_shapes **out, const struct gcb_shapes_config *config,
                      struct gcb_diag *diag);
void gcb_shapes_destroy(struct gcb_shapes *s); /* NULL is fine */

/* Adds the input and the decoded tensor of a trial. For each message the trial of method 0 must
 * come first. */
int gcb_shapes_add(struct gcb_shapes *s, const struct gcb_run_trial *trial, struct gcb_diag *diag);

/* Makes the rows. `put` receives each row and releases it. */
int gcb_shapes_rows(const struct gcb_shapes *s, const struct gcb_method *methods,
                    int (*put)(void *ctx, struct gcb_row *row, struct gcb_diag *diag), void *ctx,
                    struct gcb_diag *diag);

#endif
