#ifndef SRC_LIB_CODEC_TERNGRAD_H
#define SRC_LIB_CODEC_TERNGRAD_H

#include <stdint.h>

/* What TernGrad on the CPU (src/lib/codec/terngrad.c) and on a device share. */

enum gcb_terngrad_packing { GCB_TERNGRAD_2BIT, GCB_TERNGRAD_BASE3 };

/* The parameter table writes this struct. It is the first part of the codec's state, on the CPU and on a device. */
struct gcb_terngrad_params {
    double clip;
    int packing;
};

/* Elements that are coded together: a multiple of 5 (base 3), of 4 (two bits) and of 16 (random draws). */
#define GCB_TERNGRAD_TILE 4080

/* The number of bytes that n codes take. */
static inline uint64_t gcb_terngrad_code_bytes(const struct gcb_terngrad_params *p, uint64_t n)
{
    return p->packing == GCB_TERNGRAD_BASE3 ? (n + 4) / 5 : (n + 3) / 4;
}

#endif
