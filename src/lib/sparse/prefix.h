#ifndef SRC_LIB_SPARSE_PREFIX_H
#define SRC_LIB_SPARSE_PREFIX_H

#include "kernels/index/prefix_elem.h"
#include "src/lib/wire/bits.h"

/* Prefix codes that are made for a message and sent before it (kernels/index/prefix_elem.h). */

/*
 * Fills the decoding table: for each value of the next GCB_PREFIX_BITS bits, symbol << 4 | length
 * of the code that they begin with. GCB_E_CORRUPT if the lengths are not those of a complete code.
 */
int gcb_prefix_table(uint16_t *table, const uint8_t *length);

/*
 * Lengths on the wire: 6 bits with the number of the last symbol that occurs; then, for each symbol
 * up to it, some ones and a zero. "Before" is the length of the last symbol that occurred, 4 at
 * first. The number of ones means:
 *   0  the length before
 *   1  the symbol does not occur
 *   2  one bit more than before
 *   3  one bit less than before
 *   4  the length follows in 4 bits
 */
void gcb_prefix_put(struct gcb_bitw *w, const uint8_t *length);
/* Reads the lengths. Returns 0 or GCB_E_CORRUPT. */
int gcb_prefix_get(struct gcb_bitr *r, uint8_t *length);

#endif
