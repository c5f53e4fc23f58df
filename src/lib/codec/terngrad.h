#ifndef SRC_LIB_CODEC_TERNGRAD_H
#define SRC_LIB_CODEC_TERNGRAD_H

#include "src/lib/codec/shared_scale.h"

/* What TernGrad on the CPU (src/lib/codec/terngrad.c) and on a device share. */

enum gcb_terngrad_packing { GCB_TERNGRAD_2BIT, GCB_TERNGRAD_BASE3 };

/* The beginning of a state, on the CPU and on a device. */
struct gcb_terngrad {
    struct gcb_quantiser q;
    double clip; /* parameter, in standard deviations; 0: nothing is clipped */
    int packing; /* parameter: enum gcb_terngrad_packing */
};

/* Elements that are coded together: a multiple of 5 (base 3), of 4 (two bits) and of 16 (random
 * draws). */
#define GCB_TERNGRAD_TILE 4080

/* Number of bytes that n codes take: four codes in a byte, or five with base 3. */
static inline uint64_t gcb_terngrad_code_bytes(const struct gcb_terngrad *s, uint64_t n)
{
    return s->packing == GCB_TERNGRAD_BASE3 ? (n + 4) / 5 : (n + 3) / 4;
}

/* Sets the base's fields that depend on the parameters. */
static inline void gcb_terngrad_bind(struct gcb_terngrad *s)
{
    s->q.base.max_payload = sizeof(float) + gcb_terngrad_code_bytes(s, s->q.base.env.count);
    s->q.base.nominal_bits = s->packing == GCB_TERNGRAD_BASE3 ? log2(3.0) : 2.0;
}

#endif
