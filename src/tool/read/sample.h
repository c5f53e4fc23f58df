#ifndef SRC_TOOL_READ_SAMPLE_H
#define SRC_TOOL_READ_SAMPLE_H

#include "src/tool/read/layout.h"

/*
 * A small layout like a large one, whose messages are in memory: of each message it has evenly spread blocks of
 * GCB_SAMPLE_BLOCK elements, in their order. Messages of which no block is taken are left out, and so are dense ones.
 */
#define GCB_SAMPLE_BLOCK (UINT64_C(1) << 14)

struct gcb_sample {
    struct gcb_layout layout; /* its messages' pieces are those of the large layout */
    float *data;
};

/* Takes about `most` elements of the layout, which must outlive the sample. Reads the tensors once. */
int gcb_sample_init(struct gcb_sample *out, struct gcb_source *source,
                    const struct gcb_layout *layout, uint64_t most, struct gcb_diag *diag);
/*
 * The same for a search that needs every tensor: takes whole steps and workers, evenly spread, with about `most` elements.
 * If that is too much for even one of them, tensors of more than GCB_SAMPLE_WHOLE elements are sampled. Some of these are
 * then left out if they are more than most / GCB_SAMPLE_BLOCK.
 */
#define GCB_SAMPLE_WHOLE (UINT64_C(1) << 17)
int gcb_sample_every_tensor(struct gcb_sample *out, struct gcb_source *source,
                            const struct gcb_layout *layout, uint64_t most, struct gcb_diag *diag);
void gcb_sample_fini(struct gcb_sample *sample); /* a zeroed struct is allowed */

/* Number of elements of all messages. */
uint64_t gcb_layout_elements(const struct gcb_layout *layout);

#endif
