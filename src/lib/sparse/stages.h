#ifndef SRC_LIB_SPARSE_STAGES_H
#define SRC_LIB_SPARSE_STAGES_H

#include <math.h>

#include "src/lib/codec/codec.h"
#include "src/lib/codec/range.h"

/*
 * The sparse codec is a composition of four stages: transform -> select -> values + index. Each
 * stage has a table of rows (stages.c; values.c), in the order of the enum. The numbers of
 * transforms, value coders and index coders are written in messages and never change.
 *
 * A position is what a selection keeps or drops: an element, or a bin of a transform (`width`
 * floats). The positions of a message are cut into segments of at most 2^31. Within a segment,
 * positions are sorted uint32_t, so 32 bits are enough for a position in a message of any length.
 * Almost all messages have one segment.
 */

/* ---- transform ---- */

/* FFT, DCT and HADAMARD transform the message, its chunks or its tiles; MEAN, HAAR and RANDOM only
 * tiles (transform_tiles.c). */
enum gcb_transform_id {
    GCB_TRANSFORM_NONE,
    GCB_TRANSFORM_FFT,
    GCB_TRANSFORM_DCT,
    GCB_TRANSFORM_HADAMARD,
    GCB_TRANSFORM_MEAN,
    GCB_TRANSFORM_HAAR,
    GCB_TRANSFORM_RANDOM,
    GCB_TRANSFORMS
};

/* The precision to which an encoder rounds the elements before the transform. */
enum gcb_transform_input { GCB_TRANSFORM_FP32, GCB_TRANSFORM_FP16 };

/* PAD_SMOOTH: zeros follow the elements of the last chunk, so that it has a length for which FFTs
 * are fast (gcb_fft_zeros). */
enum gcb_transform_pad { GCB_TRANSFORM_PAD_NONE, GCB_TRANSFORM_PAD_SMOOTH };

/* State of a transform. It owns its arrays. */
struct gcb_transform_state {
    struct gcb_codec_env env;
    uint64_t length; /* number of transformed elements: those of the tensor, and zeros */
    /* the parameter: elements in a chunk; 0: all elements or, for hadamard, the largest power of
     * two that fits */
    uint64_t chunk;
    uint64_t positions; /* number of coefficients; fft: of complex bins */
    float *rounded;     /* the elements, rounded to float16; NULL unless the input is rounded */
    uint64_t saturated; /* number of the message's elements that were too large for float16 */
    struct gcb_fft *fft;
    float *coef; /* width * positions floats; may be NULL without a transform or elements */
    /* fft, encoding: the scaled power of each bin, which ranks the bin; NULL without elements */
    float *magnitude;
    /* chunks that a task transforms at once (src/lib/sparse/blocks.h); 0: `forward` and `inverse`
     * transform the whole message */
    unsigned group;
    unsigned workers; /* tasks that transform chunks, or tiles, at the same time */
    /* for each of the `workers` tasks: the coefficients of a group of chunks, and the floats that
     * rank the positions of one chunk; NULL if group is 0 */
    float *room;
    /* fft, chunk by chunk: bits of the largest part (re or im) in a group of sampled chunks; the
     * scale of powers follows from it */
    uint32_t top;
    float unitary; /* dct, hadamard: the factor of `scale`, the same for all chunks */
    uint64_t key;  /* hadamard: key of the random signs; sent in the payload */
    /* The members below are for transforms of tiles (transform_tiles.c). */
    enum gcb_transform_id id;
    uint64_t tile;             /* GCB_TILE_NONE, ... (src/lib/codec/param.h) */
    struct gcb_tiling *tiling; /* NULL: no tiles, or a decoder that has read no message yet */
    float *scratch;            /* two groups of tiles for each worker */
    /* get_side refuses a message whose tiles differ from `tiling`; set while a message is added to
     * others */
    bool joins;
};

/* A NULL function does nothing, unless its comment says otherwise. */
struct gcb_transform {
    unsigned width; /* floats per position */
    bool pads;      /* accepts zeros after the elements */
    /* Number of positions. NULL: one per transformed element. */
    uint64_t (*positions)(uint64_t length, uint64_t chunk);
    /* Allocates what `forward` or, in a decoder, `inverse` needs. Returns 0 or an error; fini is
     * called in either case. */
    int (*init)(struct gcb_transform_state *t, const struct gcb_codec_env *env,
                struct gcb_diag *diag);
    void (*fini)(struct gcb_transform_state *t);
    /* Bytes in the payload that the decoder needs besides the coefficients. `side_bytes_of` returns
     * their number, if it is not always `side_bytes`. get_side returns 0, or an error of `read`
     * (struct gcb_codec_ops); it sets in->failed if bytes are missing. */
    uint64_t side_bytes;
    uint64_t (*side_bytes_of)(const struct gcb_transform_state *t);
    void (*put_side)(const struct gcb_transform_state *t, struct gcb_wbuf *out);
    int (*get_side)(struct gcb_transform_state *t, struct gcb_rbuf *in);
    /* True if there is memory for what FFTW allocates in `forward` or `inverse`. NULL: nothing is
     * allocated there. */
    bool (*has_room)(const struct gcb_transform_state *t);
    /* Called in an encoder before a message is transformed: sets what depends on the step. */
    void (*begin)(struct gcb_transform_state *t, const struct gcb_step *at);
    /* Returns the coefficients of x, valid until the next call. NULL: they are x itself. */
    const float *(*forward)(struct gcb_transform_state *t, const float *x);
    /* Returns one float per position. Positions are selected by the magnitude of this float.
     * Returns NULL if a coefficient is not finite. A row without this function selects by the
     * coefficients themselves. */
    const float *(*order)(struct gcb_transform_state *t, const float *coef);
    /* Transforms some chunks of x to coef, as gcb_fft_forward_chunks. If x is NULL, transforms the
     * chunks in coef back, to `out`, as gcb_fft_inverse_chunks. Needed if `init` sets t->group. */
    void (*chunks)(const struct gcb_transform_state *t, float *coef, const float *x, float *out,
                   const struct gcb_fft_chunks *which);
    /* Finishes the coefficients of a chunk of n positions, the first of which is position `first`,
     * in place, as `forward` does. Returns the n floats that rank the positions, as `order` does,
     * in `room` or `coef`; never NULL, even if they are not finite. Needed with `chunks`. */
    const float *(*order_chunk)(const struct gcb_transform_state *t, float *coef, uint64_t first,
                                size_t n, float *room);
    /* Begins the inverse of a chunk of n positions: changes the coefficients in place as `inverse`
     * does before it transforms them. */
    void (*unscale_chunk)(const struct gcb_transform_state *t, float *coef, size_t n);
    /*
     * Multiplies the coefficients at n ascending positions of a segment (width * n floats) in place
     * by the factors that make the transform unitary. `base` is the first position of the segment.
     * The encoder scales the kept coefficients. The decoder scales them again, because `inverse` is
     * not unitary either.
     */
    void (*scale)(const struct gcb_transform_state *t, float *values, const uint32_t *pos, size_t n,
                  uint64_t base);
    /* Returns the array of all coefficients, which a decoder fills. NULL: the array is `out`. */
    float *(*canvas)(struct gcb_transform_state *t, float *out);
    /* Transforms the filled canvas into `out`. NULL: the canvas is `out`. */
    void (*inverse)(struct gcb_transform_state *t, float *out);
};

extern const struct gcb_transform gcb_transform_none, gcb_transform_fft, gcb_transform_dct,
    gcb_transform_hadamard, gcb_transform_tiles;

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
    GCB_SELECT_SIDCO,
    GCB_SELECT_MASK,
    GCB_SELECTORS
};

/* Parameters of the selectors. The words before a colon name the selectors that use a parameter. */
struct gcb_selection_params {
    double density;         /* share of positions to keep */
    uint64_t chunk;         /* chunk: positions in a chunk; 0: all, or those of a tile */
    double threshold;       /* threshold: smallest magnitude that is kept */
    double sample;          /* sampled: share of positions in the sample */
    uint64_t dense_below;   /* redsync: tensors with fewer bytes are kept whole */
    uint64_t trimmed_below; /* redsync: tensors with fewer bytes are trimmed, not searched */
    uint64_t interval;      /* redsync: steps for which a threshold is used */
    int quant;              /* redsync, mask: enum gcb_quant */
    int fit;                /* sidco: number of a name in gcb_sidco_fit_names */
    uint64_t stages;        /* sidco: most fits; 0: as many as the density needs */
};

/* What a selection selects from (src/lib/sparse/blocks.h). */
struct gcb_source {
    const float *x; /* the elements */
    /* one float per position, whose magnitude ranks the position; NULL: the floats are not all in
     * memory at once (struct gcb_block has some) */
    const float *order;
    struct gcb_transform_state *t; /* NULL: the source is one block (select_chunk.c) */
    const struct gcb_transform *ops;
};

#define GCB_SAMPLE_MAX ((size_t)1 << 15) /* most values in a sample */

/* State of a selection. It owns its arrays. */
struct gcb_selection {
    struct gcb_selection_params p;
    struct gcb_source from; /* borrowed */
    uint32_t *pos;          /* kept positions, each within its segment; room for all positions */
    float *value;           /* the floats that rank the kept positions (struct gcb_source) */
    /* borrowed: the bins at the kept positions, two floats each; NULL: not gathered yet, or there
     * are no bins */
    float *pair;
    uint64_t *segment_kept;     /* number of kept positions in each segment */
    uint64_t kept;              /* number of kept positions in all segments */
    uint32_t largest;           /* bits of the largest magnitude that was collected */
    bool nonfinite;             /* an infinity or NaN was collected */
    uint64_t count;             /* elements of the tensor */
    struct gcb_step at;         /* step and worker of the message */
    uint64_t positions;         /* number of positions to select from */
    uint64_t segment, segments; /* most positions in a segment; number of segments */
    float *ranked;              /* scratch: positions + 1 floats */
    float *sample;              /* scratch: GCB_SAMPLE_MAX values */
    uint32_t hint;              /* a magnitude that k positions probably reach; 0: unknown */
    bool found;                 /* redsync: there is a threshold to use again */
    struct gcb_step found_at;   /* redsync: step and worker that found the threshold */
    uint32_t found_threshold;   /* redsync: the threshold's bits; 0: keep the k largest */
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

struct gcb_selector {
    bool signed_order; /* keeps values of one sign, so complex bins are impossible */
    bool by_magnitude; /* a parameter gives the smallest kept magnitude, so there is no density */
    bool exact;        /* always keeps max_kept positions */
    bool stateful;     /* the selection depends on earlier steps */
    /* Returns the largest number of positions that `select` keeps if k are requested. NULL: k. Not
     * for select=chunk with tiles, which keeps gcb_select_kept_of_tiles. */
    uint64_t (*max_kept)(const struct gcb_selection_params *p, uint64_t positions, uint64_t k);
    /* Selects about k positions of s->from. Fills pos, value, segment_kept and kept. Always
     * collects infinities and NaNs, whose magnitudes exceed all others, and sets s->nonfinite.
     * Returns false if a coefficient of a transform is not finite. */
    bool (*select)(struct gcb_selection *s, uint64_t k);
};

extern const struct gcb_selector gcb_selector_topk, gcb_selector_chunk, gcb_selector_threshold,
    gcb_selector_one_sided, gcb_selector_alternate, gcb_selector_trimmed, gcb_selector_search,
    gcb_selector_redsync, gcb_selector_sampled, gcb_selector_sidco;

extern const struct gcb_selector *const gcb_selectors[GCB_SELECTORS];
extern const char *const gcb_selector_names[];
extern const char *const gcb_sidco_fit_names[]; /* select_sidco.c */

/* Allocates arrays that have room for a selection of all `positions` positions. s->p stays as it
 * is. Returns 0 or GCB_E_NOMEM. Call gcb_selection_fini in either case. */
int gcb_selection_init(struct gcb_selection *s, uint64_t positions, const struct gcb_codec_env *env,
                       struct gcb_diag *diag);
void gcb_selection_fini(struct gcb_selection *s);

/* k for a density: clamp(rint(density * n), 1, n); 0 if n = 0. */
static inline uint64_t gcb_kept_of(double density, uint64_t n)
{
    const double k = rint(density * (double)n);

    if (k >= (double)n)
        return n;
    return k < 1.0 ? 1 : (uint64_t)k;
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
    GCB_VALUES_BINS,
    GCB_VALUES_FIT,
    GCB_VALUE_CODERS
};

#define GCB_VALUE_BINS 4

/* fit: a curve in pieces through the sorted values (values_fit.c). An encoder puts empty pieces
 * last. */
#define GCB_FIT_PIECES 8
#define GCB_FIT_TERMS 6
struct gcb_fit_piece {
    uint32_t end; /* the rank after the piece's last */
    float coefficient[GCB_FIT_TERMS];
};
struct gcb_fit_scratch;
/* Returns scratch for an encoder of at most `most` values, or NULL if there is no memory. Free it
 * with gcb_fit_destroy. */
struct gcb_fit_scratch *gcb_fit_create(uint64_t most);
void gcb_fit_destroy(struct gcb_fit_scratch *s); /* NULL is fine */

/* State of a value coder. The words before a colon, or without one, name the coders that use a
 * member; "means" stands for the three coders mean, sign-mean and means. */
struct gcb_values_state {
    struct gcb_range_params range; /* range, uniform */
    const struct gcb_kernels *kernels;
    struct gcb_range_stats stats;   /* range; uniform: only max_bits */
    struct gcb_range_format format; /* range */
    uint64_t clamped;               /* number of clamped values, to which `put` adds */
    /* means: sum of the positive values, and of the other values; bins: sum of the values, and of
     * their squares */
    double sum_up, sum_down;
    uint64_t positive; /* means: number of positive values */
    uint64_t count; /* means, bins, fit: number of all values; while measuring: of those so far */
    struct gcb_bins bins;       /* bins: mean and width */
    int64_t parts[GCB_BOOK];    /* bins: sums of distances from a bin's middle (GCB_BIN_PART) */
    uint64_t in_bin[GCB_BOOK];  /* bins: number of values in each bin */
    float mean[GCB_VALUE_BINS]; /* bins, decoding: what replaces the values of each bin */
    uint8_t *scale;             /* bins, encoding: where the means go (borrowed) */
    struct gcb_fit_piece piece[GCB_FIT_PIECES]; /* fit */
    struct gcb_fit_scratch *fit;                /* fit: NULL in a decoder */
    unsigned rank_bits;                         /* fit: bits of a rank (gcb_values_set_count) */
    /* means: what replaces the positive values, and the others (coder mean: `up` replaces all);
     * uniform: `up` is the largest level */
    float up, down;
};

/* Forgets what `measure` has found in an earlier message. `clamped` stays as it is. */
static inline void gcb_values_begin(struct gcb_values_state *v)
{
    v->stats = (struct gcb_range_stats){0};
    v->positive = v->count = 0;
    v->sum_up = v->sum_down = 0.0;
}

#define GCB_CODER_BITS_GIVEN UINT32_MAX      /* the parameter `bits` gives the bits per value */
#define GCB_CODER_BITS_RANK (UINT32_MAX - 1) /* as many bits as a rank takes (gcb_rank_bits) */

/* Encodes and decodes kept values, tile by tile. An encoder's tiles have GCB_TILE floats, the last
 * maybe fewer; tiles of `get` have up to 2 * GCB_TILE + 7. Each tile begins at a whole byte. */
struct gcb_value_coder {
    bool one_sign;        /* only for selections of one sign */
    unsigned bits;        /* bits per value: 0 to 16, 32, or GCB_CODER_BITS_... */
    uint64_t scale_bytes; /* bytes of the scale, before the values */
    /* Called for each tile, before put_scale and the first put. NULL: not needed. */
    void (*measure)(struct gcb_values_state *v, const float *x, size_t n);
    /* Chooses and writes the scale; bins: takes its bytes, which `put` fills. NULL: there is no
     * scale. */
    void (*put_scale)(struct gcb_values_state *v, struct gcb_wbuf *out);
    /* Reads the scale. Returns 0 or GCB_E_CORRUPT. NULL: there is no scale. */
    int (*get_scale)(struct gcb_values_state *v, struct gcb_rbuf *in);
    /* `put` writes a tile, `get` reads a tile. `put` is NULL if values take no bytes. */
    void (*put)(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n);
    void (*get)(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n);
};

/* The functions of the value coder `fit` (values_fit.c). */
void gcb_fit_measure(struct gcb_values_state *v, const float *x, size_t n);
void gcb_fit_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out);
void gcb_fit_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n);
int gcb_fit_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in);
void gcb_fit_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n);

extern const struct gcb_value_coder gcb_value_coders[GCB_VALUE_CODERS]; /* values.c */
extern const char *const gcb_values_names[];

/* Bits that a value takes in a payload. */
static inline unsigned gcb_values_bits(const struct gcb_value_coder *coder,
                                       const struct gcb_values_state *v)
{
    if (coder->bits == GCB_CODER_BITS_RANK)
        return v->rank_bits;
    return coder->bits == GCB_CODER_BITS_GIVEN ? (unsigned)v->range.bits : coder->bits;
}
/* Bits of the rank of one of n values. */
static inline unsigned gcb_rank_bits(uint64_t n)
{
    return n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 0;
}
/* Tells the state that n values follow. Call it before their scale is chosen or read. */
static inline void gcb_values_set_count(struct gcb_values_state *v, uint64_t n)
{
    v->count = n;
    v->rank_bits = gcb_rank_bits(n);
}
/* Bytes of n values, without the scale. */
static inline uint64_t gcb_values_bytes(const struct gcb_value_coder *coder,
                                        const struct gcb_values_state *v, uint64_t n)
{
    return (n * gcb_values_bits(coder, v) + 7) / 8;
}

/* ---- index ---- */

struct gcb_bloom_params {
    int policy; /* enum gcb_bloom_policy */
    /* wanted share of the unselected positions that the filter finds; 0: a tenth of the density */
    double fpr;
};
extern const char *const gcb_bloom_policy_names[]; /* index_bloom.c */

enum gcb_index_id {
    GCB_INDEX_U32,
    GCB_INDEX_BITMAP,
    GCB_INDEX_VARINT,
    GCB_INDEX_GOLOMB,
    GCB_INDEX_ADAPTIVE,
    GCB_INDEX_ELIASFANO,
    GCB_INDEX_BLOCK,
    GCB_INDEX_BLOOM,
    GCB_INDICES
};

/* Reads the positions of one segment, tile by tile, and checks that they ascend and are below n.
 * The words before a colon name the index coders that use a member, or use it in another way. */
struct gcb_index_cursor {
    const uint8_t *body, *end; /* the bytes of the positions; bitmap: those not yet read */
    const uint8_t *directory;  /* where the blocks are (index.h); block: counts of positions */
    uint64_t n, kept, done;    /* numbers of positions: in the segment; kept; read so far */
    uint64_t next; /* lowest position that may come next; bitmap: first position of the next word */
    unsigned param;             /* golomb, adaptive, block: the first byte */
    uint64_t word, word_base;   /* bitmap: unread flags of a word, and its first position */
    uint64_t block, block_left; /* block: number of the current block, and its unread positions */
    /* borrowed: what the row keeps between calls (table_bytes, position_bytes); NULL: nothing is
     * kept, which bloom does not allow */
    void *tables;
};

struct gcb_index {
    bool fixed;         /* `encode` always appends exactly `bound` bytes */
    size_t table_bytes; /* bytes of tables; without them, `next` makes the tables in each call */
    /* bloom: bytes of tables for each position of the tensor. Encoders and decoders must have them.
     * `encode` is NULL; the end of this file has the functions that encode. */
    size_t position_bytes;
    /* Returns the most bytes for `kept` of n positions, kept <= n <= 2^31. */
    uint64_t (*bound)(uint64_t n, uint64_t kept);
    /* Appends `kept` >= 1 of n positions. Sets out->failed if `bound` bytes do not fit. */
    void (*encode)(struct gcb_wbuf *out, const uint32_t *pos, uint64_t kept, uint64_t n);
    /* Takes a segment's bytes from `in`. The caller has set n, kept and tables, and all else to 0.
     * Returns 0 or GCB_E_CORRUPT. */
    int (*open)(struct gcb_index_cursor *c, struct gcb_rbuf *in);
    /* Reads the next n = min(GCB_TILE, kept - done) positions. Returns 0 or GCB_E_CORRUPT. */
    int (*next)(struct gcb_index_cursor *c, uint32_t *pos, size_t n);
};

extern const struct gcb_index gcb_index_u32, gcb_index_bitmap, gcb_index_varint, gcb_index_golomb,
    gcb_index_adaptive, gcb_index_eliasfano, gcb_index_block, gcb_index_bloom;

extern const struct gcb_index *const gcb_indices[GCB_INDICES];
extern const char *const gcb_index_names[];

/* ---- what an encoder with index=bloom needs besides the row ---- */

/* Which positions that the filter finds are kept: all; or as many as were selected, drawn at
 * random, or (CONFLICT) first those that account for the bits of the filter. */
enum gcb_bloom_policy { GCB_BLOOM_ALL, GCB_BLOOM_RANDOM, GCB_BLOOM_CONFLICT };

/* Bytes of scratch for each position: 4 for the list of found positions, 1 for the count of a bit,
 * and 7 for the encoded filters: a filter for n positions has at most 5 + (n + 7) / 8 <= 7 n
 * bytes. */
#define GCB_BLOOM_ROOM 12

/*
 * Encodes the filter of a segment of n positions, of which kept >= 1 are selected, to `message`.
 * Lists in `found` the positions that a decoder keeps, and returns their number: `kept`, or with
 * positives=all maybe more. `message` has room for 5 + (n + 7) / 8 bytes, `found` for n numbers,
 * `count` (scratch) for n bytes.
 */
uint64_t gcb_bloom_choose(const struct gcb_bloom_params *p, uint8_t *message, uint32_t *found,
                          const uint32_t *pos, uint64_t kept, uint64_t n, uint8_t *count);
/* Appends a filter that gcb_bloom_choose has encoded. Sets out->failed if it does not fit. */
void gcb_bloom_put(struct gcb_wbuf *out, const uint8_t *message);

#endif
