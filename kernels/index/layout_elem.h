#ifndef KERNELS_INDEX_LAYOUT_ELEM_H
#define KERNELS_INDEX_LAYOUT_ELEM_H

/* Sizes that encoders choose: the number of low bits for Elias-Fano, and the width of block-local
 * positions. */
#include "kernels/base/hd.h"

/* The number l of low bits that gives the shortest Elias-Fano code of m positions, whose last is
 * `span`. The code has m (l + 1) + (span >> l) bits. As l grows, the code becomes shorter until
 * ceil((span >> l) / 2) <= m, and never shorter after that. */
GCB_HD unsigned gcb_eliasfano_low_bits(uint64_t span, uint64_t m)
{
    unsigned l = 0;

    while (((span >> l) + 1) / 2 > m)
        l++;
    return l;
}

/* Bytes of a block-local index that keeps `kept` of n positions in blocks of 2^width positions;
 * width is 12 or 16. There is a byte for the width, a count of 2 or 4 bytes per block, and `width`
 * bits per kept position. */
GCB_HD uint64_t gcb_block_bytes(uint64_t n, uint64_t kept, unsigned width)
{
    const uint64_t blocks = (n + (UINT64_C(1) << width) - 1) >> width;

    return 1 + blocks * (width == 12 ? 2 : 4) + (kept * width + 7) / 8;
}

/* The width that gives the smaller index; 12 if both are equal. */
GCB_HD unsigned gcb_block_width(uint64_t n, uint64_t kept)
{
    return gcb_block_bytes(n, kept, 12) <= gcb_block_bytes(n, kept, 16) ? 12 : 16;
}

#endif
