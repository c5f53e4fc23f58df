#ifndef KERNELS_DITHER_ELIAS_ELEM_H
#define KERNELS_DITHER_ELIAS_ELEM_H

/*
 * Elias' recursive (omega) code of the integers from 1 (Elias 1975; QSGD, section 3.1 and
 * appendix). A code ends with a zero. Before the zero is the number in binary. Before the number is
 * its length in bits less one, in binary, and so on; a 1 is not written, so the code of 1 is the
 * zero. The first bit of a code is sent first.
 */
#include "kernels/base/hd.h"

/* The code of an integer up to 65536: its bits, the first bit lowest, and their number (at most
 * 28). */
struct gcb_elias_code {
    uint32_t bits;
    uint32_t length;
};

/* The n low bits of v in reverse order. */
GCB_HD uint32_t gcb_elias_reversed(uint32_t v, unsigned n)
{
    uint32_t out = 0;

    for (unsigned i = 0; i < n; i++)
        out |= (v >> i & 1) << (n - 1 - i);
    return out;
}

/* The code of n, 1 to 65536. */
GCB_HD struct gcb_elias_code gcb_elias_encode(uint32_t n)
{
    struct gcb_elias_code code = {0, 1}; /* the zero at the end */

    while (n > 1) {
        unsigned width = 1;

        while (n >> width)
            width++;
        code.bits = code.bits << width | gcb_elias_reversed(n, width);
        code.length += width;
        n = width - 1;
    }
    return code;
}

#endif
