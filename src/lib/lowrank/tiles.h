#ifndef SRC_LIB_LOWRANK_TILES_H
#define SRC_LIB_LOWRANK_TILES_H

#include "src/lib/codec/parts.h"

/*
 * The tiles of a message (src/lib/codec/parts.h) as matrices of low rank. A tile of h x w elements
 * has at most min(rank, h, w) vectors. P has the vectors of the first tile, h floats each, then
 * those of the second tile; so has Q, with w floats. Loops work on several tiles at a time, a lane
 * for each tile. A tile's operations do not depend on its lane, so results are the same on every
 * machine.
 */
struct gcb_tile_totals {
    uint64_t tiles, vectors, p, q; /* p, q: floats */
};

struct gcb_tiles {
    uint64_t rank; /* most vectors of a tile */
    const struct gcb_queue *queue;
    struct gcb_part *part;
    size_t parts;
    struct gcb_tile_totals all; /* if each tile has as many vectors as it can have */
    float *scratch;
    size_t scratch_floats; /* of a thread */
};

/* Reads the parts up to the end of `in`, which may be hostile, and allocates scratch. The caller
 * zeroes *t, sets rank and queue, and calls gcb_tiles_drop in either case. Returns 0, GCB_E_CORRUPT
 * or GCB_E_NOMEM. */
int gcb_tiles_make(struct gcb_tiles *t, struct gcb_rbuf *in, uint64_t tile, uint64_t count);
void gcb_tiles_drop(struct gcb_tiles *t);

/* Counts what a message has if tile k has ranks[k] vectors. Returns false if a tile cannot have so
 * many. In all functions, `ranks` NULL means: as many as a tile can have. */
bool gcb_tiles_count(const struct gcb_tiles *t, const uint8_t *ranks, struct gcb_tile_totals *out);

/* P = weight M Q, for each tile M of x. */
void gcb_tiles_to_p(const struct gcb_tiles *t, float *p, float weight, const float *x,
                    const float *q);
/* Q = weight M^T P. */
void gcb_tiles_to_q(const struct gcb_tiles *t, float *q, float weight, const float *x,
                    const float *p);
/* M = P Q^T. If `scale` is not NULL, it has a factor for each vector: the upper half of a float32. */
void gcb_tiles_rebuild(const struct gcb_tiles *t, float *out, const float *p, const float *q,
                       const uint8_t *ranks, const uint8_t *scale);
/* Makes the vectors of each tile of P orthonormal (gcb_orthonormalise). */
void gcb_tiles_orthonormalise_p(const struct gcb_tiles *t, float *p);
/* Does so with Q, after each vector v that is 0 has become the beginning of
 * drawn[v * GCB_TILE_SIDE...]. */
void gcb_tiles_orthonormalise_q(const struct gcb_tiles *t, float *q, const float *drawn);

/* The factors of a message. */
struct gcb_tile_factors {
    unsigned bits;  /* of an element, 2 to 16; 32: float32 */
    float *p, *q;   /* integers, unless `bits` is 32 */
    uint8_t *scale; /* 2 bytes for each vector, unless `bits` is 32 */
    float *exact;   /* Q before it was rounded; q if `bits` is 32 */
    /* The square root of the squared error that each vector takes away per bit; never more than
     * that of the vector before it. NULL: not wanted. */
    float *gain;
};

/* Bits of a vector of P and of Q, and of their scale. */
uint64_t gcb_tile_vector_bits(const struct gcb_tile_factors *f, const struct gcb_part *p);

#define GCB_TILE_STEPS 4 /* of power iteration */

/*
 * Factors the tiles of x. Each vector is found by power iteration on what is left of the tile,
 * beginning with the vector in `first`. P is scaled and rounded; Q is the best for the rounded P.
 * What the decoder will rebuild is subtracted from the tile.
 */
void gcb_tiles_factor(const struct gcb_tiles *t, const struct gcb_tile_factors *f, const float *x,
                      const float *first);
/* Sets ranks[k] of each tile so that the vectors take at most `budget` bits, the largest gains
 * first. Moves these vectors to the front of f->p, f->q and f->scale. */
void gcb_tiles_choose(const struct gcb_tiles *t, const struct gcb_tile_factors *f, uint8_t *ranks,
                      uint64_t budget);

/* Write and read n floats of P or Q: integers plus 2^(bits - 1) - 1, packed, or float32. Reading
 * returns false if bytes are missing, or if an integer is invalid. */
uint64_t gcb_tile_floats_bytes(uint64_t n, unsigned bits);
void gcb_tile_floats_put(struct gcb_wbuf *out, const float *x, uint64_t n, unsigned bits,
                         const struct gcb_kernels *kernels);
bool gcb_tile_floats_get(float *x, struct gcb_rbuf *in, uint64_t n, unsigned bits,
                         const struct gcb_kernels *kernels);

#endif
