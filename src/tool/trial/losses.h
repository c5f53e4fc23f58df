#ifndef SRC_TOOL_TRIAL_LOSSES_H
#define SRC_TOOL_TRIAL_LOSSES_H

#include "src/tool/trial/run.h"

/*
 * Which tensors lose most energy: the squared error of each tensor, over steps and workers, as a share
 * of a method's whole squared error. Where a message covers several tensors, each tensor's part of it is
 * compared again on its own.
 */
struct gcb_loss {
    const char *path; /* of the tensor, borrowed from the source; escape it */
    double share;     /* of the method's squared error, 0 to 1 */
};

struct gcb_losses;

int gcb_losses_create(struct gcb_losses **out, size_t methods, struct gcb_diag *diag);
void gcb_losses_destroy(struct gcb_losses *l); /* NULL is fine */

int gcb_losses_add(struct gcb_losses *l, const struct gcb_source *source,
                   const struct gcb_run_trial *trial, const struct gcb_trial_config *config,
                   struct gcb_diag *diag);

/* The `count` tensors of the largest shares, largest first; returns how many there are (none for a
 * method that lost nothing). */
size_t gcb_losses_top(const struct gcb_losses *l, size_t method, struct gcb_loss *out,
                      size_t count);

#endif
