#ifndef SRC_LIB_LOWRANK_TILES_H
#define SRC_LIB_LOWRANK_TILES_H

#include "src/lib/codec/parts.h"

/*
 * The tiles of a message (src/lib/codec/parts.h) as products P Q^T of few vectors, whose elements
 * are rounded to integers. A "vector" of a tile is a column of P with the same column of Q. Loops
 * work on several tiles at a time, a lane for each tile. A tile's operations do not depend on its
 * lane, so results are the same on every machine.
 *
 * In a message, a vector is its scale (the upper half of a float32), then an integer for each row
 * (P) and each column (Q) of the tile, plus 2^(bits - 1) - 1, packed to whole bytes. Bit 15 of the
 * scale says that another vector of the tile follows. A tile without vectors is a scale of 0.
 */
#define GCB_TILE_STEPS 4 /* steps of power iteration for each vector */

struct gcb_tiles {
    /* set by the caller, who zeroes the rest */
    const struct gcb_codec_env *env;
    uint64_t tile, rank; /* the parameter tile= (src/lib/codec/param.h); most vectors of a tile */
    unsigned bits;       /* of an integer, 2 to 8 */

    uint8_t *wire; /* the parts as in a message (src/lib/codec/parts.h) */
    size_t wire_bytes;
    struct gcb_part *part;
    size_t parts;
    uint64_t tiles; /* number of tiles */
    /* if each tile has as many vectors as it can: floats of Q, number of vectors, and their bytes
     * in a message */
    uint64_t q_floats, vectors, bytes;
    /* where the vectors of each tile begin, in bytes: in `record` or, after gcb_tiles_find, in the
     * message's vectors */
    uint64_t *at;
    uint8_t *ranks; /* number of vectors of each tile */
    float *scratch;
    size_t scratch_floats; /* floats of `scratch` for each thread */
};

/* Reads and copies the parts, which may be hostile, unless *t has them already. `room`: bytes that
 * the message has for the vectors; an encoder passes UINT64_MAX. The caller calls gcb_tiles_drop in
 * any case. Returns 0, GCB_E_NOMEM, or GCB_E_CORRUPT (also if `room` is less than two bytes for
 * each tile). */
int gcb_tiles_make(struct gcb_tiles *t, const uint8_t *wire, size_t bytes, uint64_t room);
void gcb_tiles_drop(struct gcb_tiles *t);

/* Arrays of an encoder. Q has q_floats floats: those of the first tile's first vector, one for each
 * column of the tile; those of its other vectors; then those of the second tile, and so on. */
struct gcb_tile_factors {
    const float *first; /* the Q to begin with. A vector that is 0 is drawn at random */
    struct gcb_step at; /* step and worker of the random draws */
    float *kept;        /* becomes Q before rounding, with which the next step may begin */
    uint8_t *record;    /* becomes all vectors as in a message: `bytes` bytes */
    float *gain;        /* becomes the gain of each vector: `vectors` floats */
};

/*
 * Factors the tiles of x, whose elements are at most 2^90 in magnitude. Each vector is found by
 * power iteration on what is left of the tile. P is scaled and rounded, and Q is the best for the
 * rounded P. What the decoder will rebuild is subtracted from a copy of the tile. gain becomes
 * about the root of the squared error that a vector takes away per byte.
 */
void gcb_tiles_factor(const struct gcb_tiles *t, const struct gcb_tile_factors *f, const float *x);
/* Appends the vectors with a gain above a limit: the lowest limit at which they fit `budget` bytes.
 * A tile's vectors end before its first one that is not above the limit. Tiles with one row or
 * column ignore the limit, and a tile without vectors takes two bytes: these are appended even if
 * they exceed the budget. Changes f->record. Sets out->failed if `out` is too small. */
void gcb_tiles_put(const struct gcb_tiles *t, const struct gcb_tile_factors *f, uint64_t budget,
                   struct gcb_wbuf *out);

/* Finds the vectors of all tiles in the rest of `in`. Returns false unless they are sound and no
 * byte is left. */
bool gcb_tiles_find(struct gcb_tiles *t, struct gcb_rbuf *in);
/* Rebuilds the tiles from the vectors that gcb_tiles_find has found in `record`. */
void gcb_tiles_rebuild(const struct gcb_tiles *t, const uint8_t *record, float *out);

#endif
