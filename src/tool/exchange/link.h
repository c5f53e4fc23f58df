#ifndef SRC_TOOL_EXCHANGE_LINK_H
#define SRC_TOOL_EXCHANGE_LINK_H

#include "src/tool/exchange/net.h"
#include "src/tool/rows/row.h"

/* Measures the network with transfers of several sizes, in both patterns of gcb_net_transfer. */
#define GCB_LINK_SIZES 16 /* most sizes of a pattern */

struct gcb_link {
    size_t count; /* items of `sizes` in use: those of the pattern `shift`, then those of `pair` */
    struct gcb_link_size {
        enum gcb_pattern pattern;
        int bytes;
        unsigned inner;  /* transfers in a sample: the first, and those that follow at once */
        double *first;   /* samples: seconds of the first transfer on the slowest rank */
        double *seconds; /* samples: mean seconds of the transfers that follow */
        size_t samples;
    } sizes[GCB_PATTERNS * GCB_LINK_SIZES];
    uint8_t *out, *in; /* what a rank sends, and what it receives */
};

/* Prepares sizes from 4 bytes on, each four times the size before, and as the last size `largest`,
 * or 256 MiB if `largest` is more. Makes room for `repeats` samples of each size. Returns 0 or
 * GCB_E_NOMEM. Release with gcb_link_fini, also after a failure. */
int gcb_link_init(struct gcb_link *link, uint64_t largest, unsigned ranks, size_t repeats,
                  struct gcb_diag *diag);
void gcb_link_fini(struct gcb_link *link); /* a zeroed struct is fine */

/* Takes one sample of each size. Called by all ranks, at most `repeats` times. */
void gcb_link_sample(struct gcb_link *link, struct gcb_net *net);

/* Starts a row `link` of one size (docs/rows.md). The caller releases the row. */
void gcb_rows_link(struct gcb_row *row, const struct gcb_net *net,
                   const struct gcb_link_size *size);

#endif
