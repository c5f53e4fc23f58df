#ifndef SRC_LIB_SPARSE_INDEX_H
#define SRC_LIB_SPARSE_INDEX_H

#include "src/lib/sparse/stages.h"

/* The coders, one file each; src/lib/sparse/index.c holds the table and the block directory they share. */
extern const struct gcb_index gcb_index_u32;       /* index_fixed.c */
extern const struct gcb_index gcb_index_bitmap;    /* index_fixed.c */
extern const struct gcb_index gcb_index_varint;    /* index_varint.c */
extern const struct gcb_index gcb_index_golomb;    /* index_golomb.c */
extern const struct gcb_index gcb_index_adaptive;  /* index_adaptive.c */
extern const struct gcb_index gcb_index_eliasfano; /* index_eliasfano.c */
extern const struct gcb_index gcb_index_block;     /* index_block.c */

/*
 * Streams of gaps stand in blocks of GCB_TILE positions, each starting at a byte. In front is a directory
 * with, for every block but the first, the position before the block and the block's byte offset in
 * the stream (32 bits each), so that blocks decode apart.
 */
#define GCB_DIRECTORY_ENTRY 8
uint64_t gcb_directory_bytes(uint64_t kept);
/* Records block b >= 1. */
void gcb_directory_put(uint8_t *directory, uint64_t b, uint32_t before, uint64_t offset);

/* Takes directory and stream; total stream bytes stand in front (32 bits). 0 or GCB_E_CORRUPT. */
int gcb_blocks_open(struct gcb_index_cursor *c, struct gcb_rbuf *in);
/*
 * Bytes [*p, *end) of the block that starts at c->done. GCB_E_CORRUPT unless the directory agrees with
 * where the decoder stands, so that decoding in order and by block give the same.
 */
int gcb_blocks_next(const struct gcb_index_cursor *c, const uint8_t **p, const uint8_t **end);

#endif
