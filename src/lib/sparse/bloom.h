#ifndef SRC_LIB_SPARSE_BLOOM_H
#define SRC_LIB_SPARSE_BLOOM_H

#include "src/lib/sparse/stages.h"

/* What an encoder needs of index=bloom, besides the row of the index coder. */

enum gcb_bloom_policy { GCB_BLOOM_ALL, GCB_BLOOM_RANDOM, GCB_BLOOM_CONFLICT };

/* Bytes of scratch for each position: 4 for the list of found positions, 1 for the count of a bit,
 * and 7 for the encoder's messages: a segment of n positions needs 5 + (n + 7) / 8 <= 7 n bytes. */
#define GCB_BLOOM_ROOM 12

/*
 * Writes the message of a segment of n positions, of which kept >= 1 are selected, and lists the
 * positions that a decoder finds. Returns their number: `kept`, or with positives=all more.
 * `message` has room for 5 + (n + 7) / 8 bytes, `found` for n numbers, `count` for n bytes.
 */
uint64_t gcb_bloom_choose(const struct gcb_bloom_params *p, uint8_t *message, uint32_t *found,
                          const uint32_t *pos, uint64_t kept, uint64_t n, uint8_t *count);
/* Appends the message. */
void gcb_bloom_put(struct gcb_wbuf *out, const uint8_t *message);

#endif
