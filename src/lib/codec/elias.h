#ifndef SRC_LIB_CODEC_ELIAS_H
#define SRC_LIB_CODEC_ELIAS_H

#include "kernels/dither/elias_elem.h"
#include "src/lib/wire/bits.h"

/*
 * Levels with signs in Elias' recursive code (kernels/dither/elias_elem.h), as in the QSGD paper. A
 * level and its sign are one number, called a code: sign * 2^sign_bit + level. Codes are written in
 * blocks of up to GCB_TILE codes:
 *
 *   dense   for each code: Elias(level + 1), and a sign bit unless the level is 0
 *   sparse  for each level that is not 0: Elias(gap), sign bit, Elias(level); if the block ends
 *           with zeros, a last gap that leads to the position after the block. A gap is the
 *           distance from the last level that is not 0, or from the position before the block.
 */

/* A table that decodes short numbers in one step. The next GCB_ELIAS_PEEK bits of the stream are
 * the index of the entry. `length` is the bits of the number's code, or 0 if the code is longer
 * than GCB_ELIAS_PEEK. */
#define GCB_ELIAS_PEEK 11
struct gcb_elias_table {
    struct {
        uint16_t value;
        uint16_t length;
    } entry[1 << GCB_ELIAS_PEEK];
};
/* Fills the table. A code shorter than GCB_ELIAS_PEEK bits has an entry for each value of the bits
 * that may follow the code. */
void gcb_elias_table_init(struct gcb_elias_table *t);

/* Reads a number of any length. Returns 0 and sets r->failed if the stream ends or the number is
 * above `limit`. */
uint32_t gcb_elias_decode_long(struct gcb_bitr *r, uint32_t limit);

/* Like gcb_elias_decode_long, but looks up short numbers in the table. */
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

/* What the next GCB_ELIAS_RUN bits of a dense block decode to: the first codes, at most
 * GCB_ELIAS_CODES, that lie wholly in these bits. They take `length` bits together. */
#define GCB_ELIAS_RUN 10
#define GCB_ELIAS_CODES 4
struct gcb_elias_run {
    uint16_t code[GCB_ELIAS_CODES];
    uint8_t count, length;
};

/* Encodes and decodes levels. The caller zeroes the struct and sets levels, sign_bit and sparse. */
struct gcb_elias {
    uint32_t levels;   /* largest level */
    unsigned sign_bit; /* 2^sign_bit > levels */
    bool sparse;
    struct gcb_elias_code *codes; /* codes[n]: code of n, 1 <= n <= max(levels, GCB_TILE) + 1 */
    struct gcb_elias_table *table;
    /* Dense blocks: the bits of each code with its sign, and the run for each value of the next
     * GCB_ELIAS_RUN bits. NULL if blocks are sparse, or if a code may take more than 14 bits. */
    struct gcb_elias_code *signed_codes;
    struct gcb_elias_run *runs;
};

/* Makes the tables for the fields that the caller has set. Returns 0 or GCB_E_NOMEM; call
 * gcb_elias_fini in both cases. */
int gcb_elias_init(struct gcb_elias *e);
void gcb_elias_fini(struct gcb_elias *e);

/* Most bytes of `count` codes in blocks of GCB_TILE, dense or sparse, including GCB_BITS_SLACK. */
uint64_t gcb_elias_bound(uint64_t count, uint32_t levels);

/* Writes a block of n <= GCB_TILE codes and fills its last byte with zeros. */
void gcb_elias_put(const struct gcb_elias *e, struct gcb_bitw *w, const uint16_t *code, size_t n);

/* Reads a block of n codes from exactly `length` bytes at p. Returns 0 or GCB_E_CORRUPT. p may be
 * NULL, after a failed gcb_rbuf_take; then it returns GCB_E_CORRUPT. */
int gcb_elias_get(const struct gcb_elias *e, const uint8_t *p, size_t length, uint16_t *code,
                  size_t n);

#endif
