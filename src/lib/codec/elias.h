#ifndef SRC_LIB_CODEC_ELIAS_H
#define SRC_LIB_CODEC_ELIAS_H

#include "kernels/dither/elias_elem.h"
#include "src/lib/wire/bits.h"

/* Elias' recursive code (kernels/dither/elias_elem.h) in a stream of bits. */

/* Values by the next GCB_ELIAS_PEEK bits; length 0 where a code is longer. */
#define GCB_ELIAS_PEEK 11
struct gcb_elias_table {
    struct {
        uint16_t value;
        uint16_t length;
    } entry[1 << GCB_ELIAS_PEEK];
};
void gcb_elias_table_init(struct gcb_elias_table *t);

/* The next number; 0 (and r->failed) if the stream ends or the number is above `limit`. */
uint32_t gcb_elias_decode_long(struct gcb_bitr *r, uint32_t limit);

static inline uint32_t gcb_elias_decode(struct gcb_bitr *r, const struct gcb_elias_table *t,
                                        uint32_t limit)
{
    uint32_t key, value;

    if (r->fill < GCB_ELIAS_PEEK)
        gcb_bitr_refill(r);
    key = (uint32_t)r->acc & ((1u << GCB_ELIAS_PEEK) - 1);
    value = t->entry[key].value;
    if (t->entry[key].length == 0)
        return gcb_elias_decode_long(r, limit);
    gcb_bitr_skip(r, t->entry[key].length);
    if (value > limit)
        r->failed = true;
    return r->failed ? 0 : value;
}

#endif
