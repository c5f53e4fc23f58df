#ifndef SRC_SPARSE_PREFIX_H
#define SRC_SPARSE_PREFIX_H

#include "src/wire/bits.h"

/*
 * Prefix codes made for a message and sent in front of it. A code is given by its lengths alone: codes are
 * numbered in order of length, then of symbol, and written most significant bit first into the
 * stream. Integer arithmetic throughout, so that every machine makes the same code.
 *
 * Where only one symbol occurs its length stands as 1 and it takes no bits at all.
 */
#define GCB_PREFIX_SYMBOLS 43
#define GCB_PREFIX_BITS 10 /* of the longest code */
#define GCB_PREFIX_ENTRIES (1u << GCB_PREFIX_BITS)

/* The best lengths for these counts, some of which are not 0; 0 where a symbol does not occur. */
void gcb_prefix_lengths(uint8_t *length, const uint32_t *count);

/* Codes with their first bit lowest, and the bits they take. */
void gcb_prefix_codes(uint16_t *code, uint8_t *bits, const uint8_t *length);

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
/* bits gcb_prefix_put writes */
unsigned gcb_prefix_size(const uint8_t *length);

#endif
