#ifndef SRC_LIB_CODEC_PARTS_H
#define SRC_LIB_CODEC_PARTS_H

#include "src/lib/codec/codec.h"

/*
 * The tiles of a message. Its tensors are a series of parts: a part is some matrices of one size.
 * Each matrix is cut into tiles, whose sides are the largest divisors of the matrix's sides that
 * the parameter `tile` allows. So tiles never reach over the end of a tensor.
 *
 * In a message, each part is the number of matrices, the rows and the columns. Each is written 7
 * bits at a time, the lowest first; bit 7 of a byte says that another byte follows.
 */
struct gcb_part {
    uint64_t matrices, rows, cols;
    uint64_t tiles;         /* of all matrices */
    unsigned height, width; /* of a tile */
};

/* Reads parts up to the end of `in`, which may be hostile, and sets *parts to their number. They
 * must have `count` elements. `tile` is not GCB_TILE_NONE. Returns 0, GCB_E_CORRUPT or GCB_E_NOMEM.
 * The caller frees *part (gcb_free) in any case. */
int gcb_parts_read(struct gcb_part **part, size_t *parts, struct gcb_rbuf *in, uint64_t tile,
                   uint64_t count);

/* Most bytes that gcb_parts_write appends. */
size_t gcb_parts_bound(const struct gcb_codec_env *env);
/* Writes the parts of the tensors of `env`. A tensor of unknown shape is a vector. Neighbours of
 * the same size become one part, and a tensor without elements none. */
void gcb_parts_write(struct gcb_wbuf *out, const struct gcb_codec_env *env, uint64_t tile);

/* Returns the index of element (0, 0) of tile k among the elements of the part. */
uint64_t gcb_part_tile_at(const struct gcb_part *p, uint64_t k);

#endif
