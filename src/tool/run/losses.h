#ifndef SRC_TOOL_TRIAL_LOSSES_H
#define SRC_TOOL_TRIAL_LOSSES_H

#include "src/tool/run/run.h"

/* Which tensors lose most: each tensor's squared error, summed over steps and workers, as a share of the method's whole
 * squared error. If a message covers several tensors, the error of each is measured again. */
struct gcb_loss {
    const char *path; /* path of the tensor, borrowed from the source; not escaped */
    double share;     /* share of the method's squared error, 0 to 1 */
};

struct gcb_losses;

int gcb_losses_create(struct gcb_losses **out, size_t methods, struct gcb_diag *diag);
void gcb_losses_destroy(struct gcb_losses *l); /* NULL is fine */

int gcb_losses_add(struct gcb_losses *l, const struct gcb_source *source,
                   const struct gcb_run_trial *trial, const struct gcb_trial_config *config,
                   struct gcb_diag *diag);

/* Writes the tensors with the largest shares, at most `count`, largest first. Returns how many, 0 for a method without
 * error. */
size_t gcb_losses_top(const struct gcb_losses *l, size_t method, struct gcb_loss *out,
                      size_t count);

#endif
