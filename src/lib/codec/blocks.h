#ifndef SRC_LIB_CODEC_BLOCKS_H
#define SRC_LIB_CODEC_BLOCKS_H

#include "kernels/block/block.h"
#include "src/lib/codec/packed.h"

/*
 * Codecs that round each element to a code: float, affine and codebook. In most modes, the elements
 * of a block share a scale.
 *
 * Payload: a head of `head` bytes, the scales of all blocks, `scale` bytes each, then a code of
 * `width` bits for each element. `head` and `scale` may be 0.
 */
struct gcb_blocks {
    struct gcb_codec_base base;
    const struct gcb_blocks_ops *ops;
    unsigned width, head, scale;
    unsigned log2;     /* 2^log2 elements share a scale; GCB_BLOCKS_ALL: there are no scales */
    bool drawn;        /* codes are rounded stochastically */
    uint8_t scale_top; /* scales of one byte are at most this */
    /* a tensor with this magnitude (bits of a float32) or a larger one is sent raw; GCB_INF_BITS:
     * none is; 0: book=uniform decides itself */
    uint32_t too_much;
};

#define GCB_BLOCKS_ALL 63
#define GCB_BLOCK_LEAST 16      /* fewest elements of a block */
#define GCB_BLOCK_MOST GCB_TILE /* most elements of a block, so that a tile has whole blocks */
#define GCB_TILE_BLOCKS (GCB_TILE / GCB_BLOCK_LEAST)

/* Elements of a tile to encode, and where their codes and scales go. */
struct gcb_blocks_encoding {
    const float *x;
    size_t n;
    uint16_t *code;
    uint8_t *scale;
    const struct gcb_tile_draw *draw; /* NULL: codes are rounded to the nearest */
    uint32_t most;  /* result: bits of x's largest magnitude; not needed after `begin` */
    size_t clamped; /* result: number of elements that saturate */
};

struct gcb_blocks_ops {
    /* Writes the head. `most` is the tensor's largest magnitude, as the bits of a float32. Not
     * called if `head` is 0. NULL: gcb_blocks_encode writes no head. */
    void (*begin)(struct gcb_blocks *s, uint32_t most, uint8_t *head);
    /* Encodes a tile: writes codes, scales and results. Results that do not apply stay 0. */
    void (*encode)(const struct gcb_blocks *s, struct gcb_blocks_encoding *e);
    /* Reads the head. Returns false if it is invalid. Not called if `head` is 0. */
    bool (*open)(struct gcb_blocks *s, const uint8_t *head);
    /* True if the scale at `scale`, of more than one byte, is valid. */
    bool (*valid)(const struct gcb_blocks *s, const uint8_t *scale);
    uint8_t top; /* codes of 8 bits, without bit 7, are at most this; 0: all codes are valid */
    /* Decodes n elements, whose first scale is at `scale`. */
    void (*decode)(const struct gcb_blocks *s, float *x, const uint16_t *code, size_t n,
                   const uint8_t *scale);
};

/* Returns the random numbers of the tile that begins at element `first`, a multiple of
 * GCB_DRAW_TILE. `stream` is that of gcb_draw_stream. */
static inline struct gcb_tile_draw gcb_tile_draw(uint64_t seed, uint64_t first, uint64_t stream)
{
    return gcb_tile_draw_of(gcb_philox(seed, first / GCB_DRAW_TILE, stream));
}

/* Names of the choices of `rounding`; NULL ends them. */
extern const char *const gcb_block_rounding_names[];

/* The number of blocks in `count` elements. */
static inline uint64_t gcb_blocks_count(const struct gcb_blocks *s, uint64_t count)
{
    return count ? ((count - 1) >> s->log2) + 1 : 0;
}

/* Byte offset of the scale of element i in a payload. */
static inline uint64_t gcb_blocks_scale_at(const struct gcb_blocks *s, uint64_t i)
{
    return s->head + (i >> s->log2) * s->scale;
}

/* Byte offset of the codes in a payload. */
static inline uint64_t gcb_blocks_codes_at(const struct gcb_blocks *s)
{
    return s->head + (s->scale ? gcb_blocks_count(s, s->base.env.count) * s->scale : 0);
}

/* Refuses a block that is not a power of two from 16 to 4096: returns 0 or GCB_E_INVALID. */
int gcb_blocks_check(uint64_t block, struct gcb_diag *diag);

/* Functions of struct gcb_codec_ops; the state begins with struct gcb_blocks. */
int gcb_blocks_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                      struct gcb_wbuf *out);
int gcb_blocks_read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *to);
int gcb_blocks_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts);

/* The beginning of a state of the codec `float`, on the CPU and on a device. */
struct gcb_floats {
    struct gcb_blocks b;
    uint64_t block;
    int format, scale, scale_format, rule, rounding;
    struct gcb_scaling scaling;
};
/* Values of `scale`. */
enum { GCB_FLOAT_NONE, GCB_FLOAT_TENSOR, GCB_FLOAT_BLOCK, GCB_FLOAT_TENSOR_BLOCK };
/* Sets what follows from the parameters, except ops. Returns 0 or GCB_E_INVALID. */
int gcb_floats_bind(struct gcb_floats *s, struct gcb_diag *diag);

/* The beginning of a state of the codec `affine`, as struct gcb_floats is for `float`. */
struct gcb_affines {
    struct gcb_blocks b;
    uint64_t bits, block;
    int offset, rounding;
};
int gcb_affines_bind(struct gcb_affines *s, struct gcb_diag *diag); /* as gcb_floats_bind */

/* The beginning of a state of the codec `codebook`, as struct gcb_floats is for `float`. */
struct gcb_books {
    struct gcb_blocks b;
    uint64_t block;
    int book;
};
/* Values of `book`. */
enum { GCB_BOOK_DYNAMIC, GCB_BOOK_UNIFORM };
int gcb_books_bind(struct gcb_books *s, struct gcb_diag *diag); /* as gcb_floats_bind */

/* The beginning of a state of the codecs fp16 and bf16, on the CPU and on a device, and of
 * bf16-entropy. */
struct gcb_half {
    struct gcb_codec_base base;
    int rounding;
};

#endif
