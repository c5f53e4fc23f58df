#ifndef SRC_LIB_SPARSE_STAGES_H
#define SRC_LIB_SPARSE_STAGES_H

#include <math.h>

#include "src/lib/codec/codec.h"
#include "src/lib/codec/range.h"

/*
 * The sparse codec is a composition of four stages: transform -> select -> values + index. Each
 * stage has a table of rows (stages.c), in the order of the enum. The enum's numbers are written in
 * messages and never change.
 *
 * A position is what a selection keeps or drops: an element, or a bin of a transform (`width`
 * floats). The positions of a message are cut into segments of at most 2^31. Within a segment,
 * positions are sorted uint32_t. Almost all messages have one segment, so large messages are
 * possible without 64-bit positions.
 */

/* ---- transform ---- */

enum gcb_transform_id {
    GCB_TRANSFORM_NONE,
    GCB_TRANSFORM_FFT,
    GCB_TRANSFORM_DCT,
    GCB_TRANSFORM_HADAMARD,
    GCB_TRANSFORMS
};

/* The precision to which an encoder rounds the elements before the transform. */
enum gcb_transform_input { GCB_TRANSFORM_FP32, GCB_TRANSFORM_FP16 };

/* Zeros after the elements that make the last chunk, or the only one, longer (gcb_fft_zeros). */
enum gcb_transform_pad { GCB_TRANSFORM_PAD_NONE, GCB_TRANSFORM_PAD_SMOOTH };

struct gcb_transform_state {
    struct gcb_codec_env env;
    uint64_t length; /* elements that are transformed: those of the tensor, and zeros */
    uint64_t chunk, positions;
    float *rounded;     /* the elements, rounded to float16; NULL unless the input is rounded */
    uint64_t saturated; /* number of elements that were too large for float16 */
    struct gcb_fft *fft;
    float *coef;      /* width * positions floats; NULL without a transform or elements */
    float *magnitude; /* positions floats; NULL if the coefficients themselves give the order */
    unsigned group;   /* chunks that are transformed at once (src/lib/sparse/chunks.h), or 0 */
    unsigned workers;
    float *room;   /* for each worker: a group's coefficients, and an order of one chunk */
    uint32_t top;  /* fft: a part that is near the largest one; it gives the scale of powers */
    float unitary; /* dct, hadamard: makes the coefficients of any chunk unitary */
    uint64_t key;  /* hadamard: key of the random signs; sent in the payload */
};

/* A function that is NULL does nothing, unless said otherwise. */
struct gcb_transform {
    unsigned width; /* floats per position */
    bool pads;      /* takes zeros after the elements */
    /* number of positions; NULL: one per transformed element */
    uint64_t (*positions)(uint64_t length, uint64_t chunk);
    int (*init)(struct gcb_transform_state *t, const struct gcb_codec_env *env,
                struct gcb_diag *diag);
    void (*fini)(struct gcb_transform_state *t);
    /* bytes that the decoder needs besides the coefficients */
    uint64_t side_bytes;
    void (*put_side)(const struct gcb_transform_state *t, struct gcb_wbuf *out);
    void (*get_side)(struct gcb_transform_state *t, struct gcb_rbuf *in);
    /* True if there is memory for what a library allocates in forward or inverse. NULL: it
     * allocates nothing. */
    bool (*has_room)(const struct gcb_transform_state *t);
    /* coefficients of x, valid until the next call; never allocates. NULL: x itself */
    const float *(*forward)(struct gcb_transform_state *t, const struct gcb_step *at,
                            const float *x);
    /* One float per position whose magnitude orders the coefficients. Returns NULL if a coefficient
     * is not finite. A row without this function orders by the coefficients themselves. */
    const float *(*order)(struct gcb_transform_state *t, const float *coef);
    /* forward and order, or the beginning of inverse, for one chunk of n positions, from position
     * `first` on. order_chunk returns `room`, n floats, or `coef`. NULL: chunks are not taken
     * apart. */
    const float *(*order_chunk)(const struct gcb_transform_state *t, float *coef, uint64_t first,
                                size_t n, float *room);
    void (*unscale_chunk)(const struct gcb_transform_state *t, float *coef, size_t n);
    /* Multiplies the coefficients at n positions so that the transform is unitary. The decoder
     * calls it again before the inverse, which undoes it. `base` is the first position of the
     * segment. */
    void (*scale)(const struct gcb_transform_state *t, float *values, const uint32_t *pos, size_t n,
                  uint64_t base);
    /* the array that takes the kept coefficients when decoding into `out`; NULL: `out` */
    float *(*canvas)(struct gcb_transform_state *t, float *out);
    /* transforms the filled canvas into `out`; NULL: the canvas is `out` */
    void (*inverse)(struct gcb_transform_state *t, float *out);
};

extern const struct gcb_transform gcb_transform_none, gcb_transform_fft, gcb_transform_dct,
    gcb_transform_hadamard;

extern const struct gcb_transform *const gcb_transforms[GCB_TRANSFORMS];
extern const char *const gcb_transform_names[];

/* ---- select ---- */

enum gcb_select_id {
    GCB_SELECT_TOPK,
    GCB_SELECT_CHUNK,
    GCB_SELECT_THRESHOLD,
    GCB_SELECT_ONE_SIDED,
    GCB_SELECT_ALTERNATE,
    GCB_SELECT_TRIMMED,
    GCB_SELECT_SEARCH,
    GCB_SELECT_REDSYNC,
    GCB_SELECT_SAMPLED,
    GCB_SELECTORS
};

/* Parameters of the selectors. The file of each selector explains its own. */
struct gcb_selection_params {
    double density;
    uint64_t chunk;         /* chunk: positions in a chunk; 0: one chunk with all positions */
    double threshold;       /* threshold: smallest magnitude that is kept */
    double sample;          /* sampled: share of positions */
    uint64_t dense_below;   /* redsync: bytes of a tensor */
    uint64_t trimmed_below; /* redsync: bytes of a tensor */
    uint64_t interval;      /* redsync: steps for which a threshold is used */
    int quant;              /* redsync: enum gcb_quant */
};

struct gcb_selection {
    struct gcb_selection_params p;
    uint32_t *pos;          /* kept positions, segment after segment */
    float *value;           /* what orders the kept positions */
    float *pair;            /* borrowed: the bins at the kept positions, or NULL */
    uint64_t *segment_kept; /* number of kept positions in each segment */
    uint64_t kept;
    uint64_t count;     /* elements of the tensor */
    struct gcb_step at; /* step and worker of the message */
    uint64_t positions, segment, segments;
    float *ranked; /* scratch: `positions` floats */
    float *sample; /* scratch */
    uint32_t hint; /* a threshold that about k positions are expected to reach; 0: none */
    bool found;    /* redsync: there is a threshold to use again */
    struct gcb_step found_at;
    uint32_t found_threshold;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

struct gcb_selector {
    bool signed_order; /* keeps values of one sign, so complex bins are impossible */
    bool by_magnitude; /* selects by a given magnitude, so it has no density */
    bool exact;        /* always keeps the largest number of positions */
    bool stateful;     /* the selection depends on earlier steps */
    /* keeps the largest magnitude, and takes infinities and NaNs for larger ones than all others */
    bool keeps_largest;
    /* largest number of positions kept when k are asked for; NULL: k */
    uint64_t (*max_kept)(const struct gcb_selection_params *p, uint64_t positions, uint64_t k);
    /* selects about k positions; `order` has one finite float per position. Fills pos, value,
     * segment_kept and kept. */
    void (*select)(struct gcb_selection *s, const float *order, uint64_t k);
    /* The same while x is transformed, chunk by chunk (src/lib/sparse/chunks.h). Returns false, and
     * then `select` must select, if the message has few chunks, if a sample of them was misleading,
     * or if a coefficient is not finite. NULL: needs all coefficients. */
    bool (*by_chunks)(struct gcb_selection *s, struct gcb_transform_state *t,
                      const struct gcb_transform *ops, const float *x, uint64_t k);
};

extern const struct gcb_selector gcb_selector_topk, gcb_selector_chunk, gcb_selector_threshold,
    gcb_selector_one_sided, gcb_selector_alternate, gcb_selector_trimmed, gcb_selector_search,
    gcb_selector_redsync, gcb_selector_sampled;

extern const struct gcb_selector *const gcb_selectors[GCB_SELECTORS];
extern const char *const gcb_selector_names[];

int gcb_selection_init(struct gcb_selection *s, uint64_t positions, const struct gcb_codec_env *env,
                       struct gcb_diag *diag);
void gcb_selection_fini(struct gcb_selection *s);

/* k for a density: clamp(rint(density * n), 1, n); 0 if n = 0. */
static inline uint64_t gcb_kept_of(double density, uint64_t n)
{
    const double k = rint(density * (double)n);

    if (n == 0)
        return 0;
    return k < 1.0 ? 1 : k >= (double)n ? n : (uint64_t)k;
}

/* ---- values ---- */

enum gcb_values_id {
    GCB_VALUES_FP32,
    GCB_VALUES_FP16,
    GCB_VALUES_RANGE,
    GCB_VALUES_UNIFORM,
    GCB_VALUES_MEAN,
    GCB_VALUES_SIGN_MEAN,
    GCB_VALUES_MEANS,
    GCB_VALUE_CODERS
};

struct gcb_values_state {
    struct gcb_range_params range;
    const struct gcb_kernels *kernels;
    struct gcb_range_stats stats;
    struct gcb_range_format format;
    uint64_t clamped;
    double sum_up, sum_down;  /* means: sum of the positive values, and of the other values */
    uint64_t positive, count; /* means: number of positive values, and of all values */
    float up, down;           /* means: what replaces the values; uniform: `up` is the largest */
};

#define GCB_CODER_BITS_GIVEN UINT32_MAX /* bits per value is the parameter `bits` */

/* Encodes and decodes kept values. Values come in tiles of up to 2 * GCB_TILE floats; each tile
 * except the last fills whole bytes. */
struct gcb_value_coder {
    bool one_sign;        /* only for selections of one sign */
    unsigned bits;        /* bits per value: 0 to 16, 32, or GCB_CODER_BITS_GIVEN */
    uint64_t scale_bytes; /* bytes of the scale, before the values */
    /* sees all tiles before the first put; NULL: not needed */
    void (*measure)(struct gcb_values_state *v, const float *x, size_t n);
    /* NULL: there is no scale */
    void (*put_scale)(struct gcb_values_state *v, struct gcb_wbuf *out);
    int (*get_scale)(struct gcb_values_state *v, struct gcb_rbuf *in);
    /* NULL: values take no bytes */
    void (*put)(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n);
    void (*get)(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n);
};

extern const struct gcb_value_coder gcb_value_coders[GCB_VALUE_CODERS]; /* values.c */
extern const char *const gcb_values_names[];

/* Bits of a value, and bytes of n values without the scale. */
static inline unsigned gcb_values_bits(const struct gcb_value_coder *coder,
                                       const struct gcb_values_state *v)
{
    return coder->bits == GCB_CODER_BITS_GIVEN ? (unsigned)v->range.bits : coder->bits;
}
static inline uint64_t gcb_values_bytes(const struct gcb_value_coder *coder,
                                        const struct gcb_values_state *v, uint64_t n)
{
    return (n * gcb_values_bits(coder, v) + 7) / 8;
}

/* ---- index ---- */

enum gcb_index_id {
    GCB_INDEX_U32,
    GCB_INDEX_BITMAP,
    GCB_INDEX_VARINT,
    GCB_INDEX_GOLOMB,
    GCB_INDEX_ADAPTIVE,
    GCB_INDEX_ELIASFANO,
    GCB_INDEX_BLOCK,
    GCB_INDICES
};

/* Reads the positions of one segment, tile by tile, and checks that they ascend and are below n. */
struct gcb_index_cursor {
    const uint8_t *body, *end;
    const uint8_t *directory;
    uint64_t n, kept, done;
    uint64_t next; /* lowest position that may come next */
    unsigned param;
    uint64_t word; /* bitmap: bits of the current word that are still to come */
    uint64_t word_base;
    /* block: number of the current block, and its positions that are still to come */
    uint64_t block;
    uint64_t block_left;
};

struct gcb_index {
    bool fixed; /* the bytes depend only on the numbers of positions */
    /* most bytes for `kept` of n positions, kept <= n <= 2^31 */
    uint64_t (*bound)(uint64_t n, uint64_t kept);
    void (*encode)(struct gcb_wbuf *out, const uint32_t *pos, uint64_t kept, uint64_t n);
    /* takes a segment's bytes from `in`; returns 0 or GCB_E_CORRUPT */
    int (*open)(struct gcb_index_cursor *c, struct gcb_rbuf *in);
    /* reads the next n = min(GCB_TILE, kept - done) positions; returns 0 or GCB_E_CORRUPT */
    int (*next)(struct gcb_index_cursor *c, uint32_t *pos, size_t n);
};

extern const struct gcb_index gcb_index_u32, gcb_index_bitmap, gcb_index_varint, gcb_index_golomb,
    gcb_index_adaptive, gcb_index_eliasfano, gcb_index_block;

extern const struct gcb_index *const gcb_indices[GCB_INDICES];
extern const char *const gcb_index_names[];

#endif
