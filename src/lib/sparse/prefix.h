#ifndef SRC_LIB_SPARSE_PREFIX_H
#define SRC_LIB_SPARSE_PREFIX_H

#include "kernels/index/prefix_elem.h"
#include "src/lib/wire/bits.h"

/* Prefix codes made for a message and sent in front of it; kernels/index/prefix_elem.h says what they are. */

/*
 * For the next GCB_PREFIX_BITS bits of a stream, symbol << 4 | bits of the code they begin with. GCB_E_CORRUPT
 * unless each such bits begin with exactly one code.
 */
int gcb_prefix_table(uint16_t *table, const uint8_t *length);

/*
 * Lengths on the wire: 6 bits with the number of the last symbol that occurs, then for each symbol up to it
 * ones and a zero. No one: as long as the last one that occurs (4 before the first); 1: does not
 * occur; 2: one longer; 3: one shorter; 4: the length follows in 4 bits.
 */
void gcb_prefix_put(struct gcb_bitw *w, const uint8_t *length);
/* 0 or GCB_E_CORRUPT */
int gcb_prefix_get(struct gcb_bitr *r, uint8_t *length);

#endif
