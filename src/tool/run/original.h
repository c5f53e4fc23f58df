#ifndef SRC_TOOL_TRIAL_ORIGINAL_H
#define SRC_TOOL_TRIAL_ORIGINAL_H

#include "src/tool/measure/fidelity.h"
#include "src/tool/read/layout.h"

/*
 * The input of a large message whose memory the decoded tensor has taken. The input is read again, a window at a time, to
 * compare the decoded tensor with it. So input and decoded tensor are never in memory together.
 */
struct gcb_original {
    struct gcb_source *source;
    const struct gcb_message_plan *plan;
    float *data;   /* plan->count elements: first the input, later the decoded tensor */
    bool zero;     /* infinities and NaNs of the input are set to 0 */
    float *window; /* room for `window_elements` */
    /* a multiple of GCB_SUM_BLOCK, so that sums are the same bits as without windows */
    uint64_t window_elements;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

/* Can all tensors of the message be read in parts? */
bool gcb_original_possible(const struct gcb_source *source, const struct gcb_message_plan *plan);

/* Reads the input into o->data. */
int gcb_original_load(const struct gcb_original *o, struct gcb_diag *diag);

/* Adds the error of `count` decoded elements, from element `from` on, to `f`, as gcb_fidelity_add would. */
int gcb_original_compare(const struct gcb_original *o, struct gcb_fidelity *f, uint64_t from,
                         uint64_t count, struct gcb_diag *diag);

#endif
