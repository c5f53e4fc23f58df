#ifndef SRC_LIB_SPARSE_GAP_CODES_H
#define SRC_LIB_SPARSE_GAP_CODES_H

#include "kernels/index/gap_elem.h"
#include "src/lib/codec/codec.h" /* for GCB_TILE */
#include "src/lib/sparse/prefix.h"

/*
 * The prefix codes of index_adaptive.c, made from the gaps that they will write. A gap is the
 * number of dropped positions between two kept ones. Kept positions of real gradients form
 * clusters: after short gaps, a short gap is likely. So each gap becomes a symbol, and the two
 * symbols before it select one of up to GCB_GAP_CODES codes by the sum of their magnitudes
 * (kernels/index/gap_elem.h).
 */

/* Gaps that may share a code. The sum of the two magnitudes before such a gap is at least `from`,
 * and below the next group's `from`. Costs are in units of 2^-16 bits. */
struct gcb_gap_group {
    unsigned from;
    uint32_t *count;      /* number of gaps by symbol; in gcb_gap_codes.count */
    uint64_t cost;        /* of a code for this group, and of its gaps in this code */
    uint64_t joined_cost; /* cost of this group joined with the next; unused in the last */
};

/* How a gap is written: the lowest `all` bits of (gap << bits) + add. */
struct gcb_gap_word {
    uint64_t add;      /* code - (lowest gap of the symbol << bits), modulo 2^64 */
    uint8_t bits, all; /* bits of the code only; of the code and the gap's low bits after it */
};

/* The gaps of a block, the symbol of each gap, and the sum of the magnitudes before it. */
struct gcb_gap_block {
    uint32_t gap[GCB_TILE];
    uint16_t symbol[GCB_TILE], sum[GCB_TILE];
};

/* Fills `block` for n positions, 1 <= n <= GCB_TILE. `next` is the lowest value that pos[0] may
 * have. */
void gcb_gap_block_fill(struct gcb_gap_block *block, const uint32_t *pos, size_t n, uint32_t next);

/* The codes of one message. The struct has about 20 KiB. */
struct gcb_gap_codes {
    /* number of gaps by sum and symbol; the row of a group counts all gaps of the group */
    uint32_t count[GCB_GAP_SUMS][GCB_PREFIX_SYMBOLS];
    struct gcb_gap_group group[GCB_GAP_SUMS]; /* in the end, one group for each code */
    unsigned groups;
    uint8_t length[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];           /* lengths that define the codes */
    struct gcb_gap_word word[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS]; /* by code and symbol */
    const struct gcb_gap_word *for_sum[GCB_GAP_SUMS]; /* row of `word` for each sum that occurs */
    uint64_t head_bits;                               /* bits to send the codes */
    uint64_t gap_bits;                                /* bits to send all gaps in these codes */
    uint64_t golomb_bits; /* bits to send all gaps in Golomb's code with parameter b */
};

/* Makes codes for the gaps between kept >= 1 ascending positions. `b` is the Golomb parameter for
 * m->golomb_bits. */
void gcb_gap_codes_make(struct gcb_gap_codes *m, const uint32_t *pos, uint64_t kept, unsigned b);

#endif
