#ifndef SRC_LIB_SPARSE_PREFIX_H
#define SRC_LIB_SPARSE_PREFIX_H

#include "kernels/index/prefix_elem.h"
#include "src/lib/wire/bits.h"

/* Prefix codes that are made for the gaps of a message and sent before them
 * (kernels/index/prefix_elem.h). The array `length` has the code length of each of
 * GCB_PREFIX_SYMBOLS symbols; 0: the symbol does not occur. */

/*
 * Fills a decoding table of GCB_PREFIX_ENTRIES entries. The next GCB_PREFIX_BITS bits of a stream
 * are the number of an entry. They begin with the code of a symbol s; the entry is value[s] plus
 * the length of this code, or plus 0 if s is the only symbol that occurs. Returns 0, or
 * GCB_E_CORRUPT if the lengths are not those of a complete code.
 */
int gcb_prefix_table(uint16_t *table, const uint8_t *length, const uint16_t *value);

/*
 * Writes the lengths: 6 bits with the number of the last symbol that occurs; then, for each symbol
 * up to the last, a number of ones, and a zero. The number of ones compares the symbol's length
 * with that of the last symbol before it that occurs (with 4 for the first):
 *   0  the same length
 *   1  the symbol does not occur
 *   2  one bit longer
 *   3  one bit shorter
 *   4  the length follows in 4 bits
 * At least one symbol occurs.
 */
void gcb_prefix_put(struct gcb_bitw *w, const uint8_t *length);
/* Reads what gcb_prefix_put writes. Returns 0 or GCB_E_CORRUPT. */
int gcb_prefix_get(struct gcb_bitr *r, uint8_t *length);

#endif
