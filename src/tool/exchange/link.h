#ifndef SRC_TOOL_EXCHANGE_LINK_H
#define SRC_TOOL_EXCHANGE_LINK_H

#include "src/tool/exchange/net.h"
#include "src/tool/rows/row.h"

/* Measures the network with transfers of several sizes, in both patterns of gcb_net_transfer. */
#define GCB_LINK_SIZES 16

struct gcb_link {
    size_t count; /* of `sizes`: each size in the pattern `shift`, then in `pair` */
    struct gcb_link_size {
        enum gcb_pattern pattern;
        int bytes;
        unsigned inner; /* transfers in a sample: the first, and those that follow it at once */
        /* samples, of the slowest rank: of the first transfer, and of one that follows */
        double *first, *seconds;
        size_t samples;
    } sizes[GCB_PATTERNS * GCB_LINK_SIZES];
    uint8_t *out, *in;
};

/* Sizes from 4 bytes to `largest` (4 or more; at most 256 MiB), each four times the one before,
 * with room for `repeats` samples. GCB_E_NOMEM. Release with gcb_link_fini, also on failure. */
int gcb_link_init(struct gcb_link *link, uint64_t largest, unsigned ranks, size_t repeats,
                  struct gcb_diag *diag);
void gcb_link_fini(struct gcb_link *link); /* zeroed is fine */

/* Takes one sample of each size. Called by all ranks, at most `repeats` times. */
void gcb_link_sample(struct gcb_link *link, struct gcb_net *net);

/* Row `link` of one size (docs/rows.md). Release it with gcb_row_fini. */
void gcb_rows_link(struct gcb_row *row, const struct gcb_net *net,
                   const struct gcb_link_size *size);

#endif
