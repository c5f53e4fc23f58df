#ifndef SRC_LIB_SPARSE_INDEX_H
#define SRC_LIB_SPARSE_INDEX_H

#include "src/lib/sparse/stages.h"

/*
 * The block directory, which several index coders share. A stream of coded positions is cut into
 * blocks of GCB_TILE positions. Each block starts at a byte. The directory is before the stream.
 * For each block except the first, the directory has the position before the block and the block's
 * byte offset in the stream (32 bits each). So blocks can be decoded independently.
 */

/* Bytes of the directory for `kept` positions. */
uint64_t gcb_directory_bytes(uint64_t kept);

/* Writes a block of m positions at p and returns the end of the block. `next` is 0 for the first
 * block; otherwise it is the previous block's last position plus 1. */
typedef uint8_t *gcb_put_block_fn(uint8_t *p, const uint32_t *pos, uint64_t m, uint32_t next,
                                  const void *code);
/* Appends the stream's length (32 bits), the directory and the stream. They must not take
 * more than `bound` bytes, because `put`, which gets `code`, does not check its writes. Sets
 * out->failed, and appends nothing, if `bound` bytes do not fit. */
void gcb_blocks_put(struct gcb_wbuf *out, uint64_t bound, const uint32_t *pos, uint64_t kept,
                    gcb_put_block_fn *put, const void *code);

/* Takes the length, the directory and the stream from `in`; c then points into them. The caller has
 * set c->kept. Returns 0 or GCB_E_CORRUPT. */
int gcb_blocks_open(struct gcb_index_cursor *c, struct gcb_rbuf *in);
/* The lowest position that may follow the first `done` positions. `done` is a multiple of GCB_TILE,
 * above 0 and below c->kept. */
uint64_t gcb_block_first(const struct gcb_index_cursor *c, uint64_t done);
/*
 * Finds the bytes [*p, *end) of the block that begins with position number c->done. Returns 0, or
 * GCB_E_CORRUPT if an offset is above the next offset or the stream's length, or if the
 * directory contradicts the positions that have been read. So reading in order and reading blocks
 * independently give the same positions.
 */
int gcb_blocks_next(const struct gcb_index_cursor *c, const uint8_t **p, const uint8_t **end);

#endif
