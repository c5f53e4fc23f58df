#ifndef SRC_LIB_SPARSE_GAP_CODES_H
#define SRC_LIB_SPARSE_GAP_CODES_H

#include "kernels/index/gap_elem.h"
#include "src/lib/sparse/prefix.h"

/*
 * The codes of src/lib/sparse/index_adaptive.c, made from the gaps they are to write. Kept positions of real
 * gradients stand in clusters: a short gap tends to follow short ones. So a gap becomes a symbol, and the
 * symbols of the two gaps before it choose, by the sum of their magnitudes, which of up to
 * GCB_GAP_CODES prefix codes writes it (kernels/index/gap_elem.h).
 */

/* Gaps that come after an interval of sums, and what they take. */
struct gcb_gap_group {
    unsigned from; /* lowest sum */
    uint32_t *count;
    uint64_t cost, joined; /* alone, and together with the next group; in 2^-16 bits */
};

/* Some 16 KiB: fits the stack. */
struct gcb_gap_codes {
    uint32_t count[GCB_GAP_SUMS][GCB_PREFIX_SYMBOLS];
    struct gcb_gap_group group[GCB_GAP_SUMS]; /* in the end one for each code */
    unsigned groups;
    uint8_t of_sum[GCB_GAP_SUMS]; /* which code */
    uint8_t length[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint16_t code[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint8_t bits[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint64_t head_bits;   /* of the codes themselves as they are sent */
    uint64_t gap_bits;    /* of all gaps in these codes */
    uint64_t golomb_bits; /* of all gaps in Golomb's code with parameter b */
};

/* The best codes this search finds for the gaps between kept >= 1 ascending positions. */
void gcb_gap_codes_make(struct gcb_gap_codes *m, const uint32_t *pos, uint64_t kept, unsigned b);

#endif
