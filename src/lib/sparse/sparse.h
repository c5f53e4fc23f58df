#ifndef SRC_LIB_SPARSE_SPARSE_H
#define SRC_LIB_SPARSE_SPARSE_H

#include "src/lib/sparse/stages.h"

/*
 * The sparse codec keeps some of a tensor's elements, or of its transform's bins, and sends their
 * values and positions (src/lib/sparse/stages.h).
 *
 * Payload: the number of kept positions of each segment (uint32); the transform's side bytes; the
 * scale of the values; the values, in the order of positions; the positions of each segment that
 * keeps any.
 */

/* State of an encoder or decoder. The parameters are `theta` to `every`, selection.p and v.range.
 * gcb_sparse_bind derives sizes and tables of functions from them. */
struct gcb_sparse {
    struct gcb_codec_base base;
    double theta;
    int transform, select, values, index; /* ids of the stages (enum gcb_transform_id, ...) */
    /* elements in a chunk of the transform or of the selection, or in a row of agree=sketch; 0: all
     * or, for hadamard, the largest power of two that fits */
    uint64_t chunk;
    int pad;       /* enum gcb_transform_pad */
    int input;     /* enum gcb_transform_input; not in messages: a decoder does not need it */
    uint64_t tile; /* GCB_TILE_NONE, ... (src/lib/codec/param.h) */
    struct gcb_bloom_params bloom; /* not in headers: each filter in a payload says its policy */
    int agree;                     /* enum gcb_agree */
    uint64_t every;                /* steps for which a mask is kept */
    struct gcb_mask *mask;         /* in an encoder of an all-reduce with select=mask; else NULL */
    struct gcb_transform_state t;
    struct gcb_selection selection;
    struct gcb_values_state v;
    const struct gcb_transform *transform_ops;
    const struct gcb_selector *selector_ops;
    const struct gcb_value_coder *values_ops;
    const struct gcb_index *index_ops;
    uint64_t segments;
    uint64_t k;        /* requested number of positions */
    uint64_t max_kept; /* encoder: most positions that a message keeps; positives=all: all */
    /* tables of the index coder that `init` was called with (struct gcb_index_cursor); NULL if that
     * coder has none, and in an encoder without index=bloom */
    void *tables;
    size_t table_bytes;
    uint32_t *listed; /* scratch: positions of a message; NULL before the first addition */
};

/* In these functions `positions` is the number of positions of the tensor, or of a piece of the
 * tensor (list.h). */

/* Number of segments into which the positions are cut (stages.h). */
static inline uint64_t gcb_sparse_segments(const struct gcb_sparse *s, uint64_t positions)
{
    return (positions + s->t.env.segment - 1) / s->t.env.segment;
}
/* Number of positions in segment g. */
static inline uint64_t gcb_sparse_segment_length(const struct gcb_sparse *s, uint64_t positions,
                                                 uint64_t g)
{
    const uint64_t left = positions - g * s->t.env.segment;

    return left < s->t.env.segment ? left : s->t.env.segment;
}

/* Bytes that the index coder's tables need. */
static inline size_t gcb_sparse_table_bytes(const struct gcb_sparse *s, const struct gcb_index *ops)
{
    return ops->table_bytes + ops->position_bytes * s->t.positions;
}

/* Most bytes of a payload that keeps `kept` positions, without the transform's side bytes. */
uint64_t gcb_sparse_bound(const struct gcb_sparse *s, uint64_t positions, uint64_t kept);

/* Bytes of the transform in a payload, besides the coefficients. */
static inline uint64_t gcb_sparse_side_bytes(const struct gcb_sparse *s)
{
    return s->transform_ops->side_bytes_of ? s->transform_ops->side_bytes_of(&s->t)
                                           : s->transform_ops->side_bytes;
}

/* Selects from the elements x: fills s->selection. Returns false if a coefficient of the transform
 * is not finite. */
bool gcb_sparse_select_from(struct gcb_sparse *s, const struct gcb_step *at, const float *x);

/* ---- select=mask in an all-reduce: mask.c ---- */

/* How the workers agree on a mask. UNION and MOMENT, in which workers vote, come first. */
enum gcb_agree { GCB_AGREE_UNION, GCB_AGREE_MOMENT, GCB_AGREE_LEADER, GCB_AGREE_SKETCH };

/* Makes s->mask. Returns 0, GCB_E_INVALID or GCB_E_NOMEM; call gcb_mask_fini(s->mask) in any
 * case. */
int gcb_mask_init(struct gcb_sparse *s, struct gcb_diag *diag);
void gcb_mask_fini(struct gcb_mask *m); /* NULL is fine */

extern const struct gcb_reduce_ops gcb_mask_reduce;
extern const struct gcb_kept_ops gcb_mask_kept_ops;

/* sparse_params.c: the parameter table, and functions of the descriptor (struct gcb_codec) */
extern const struct gcb_param gcb_sparse_params[];
int gcb_sparse_check(const double *value, struct gcb_diag *diag);
unsigned gcb_sparse_caps(const double *value);
bool gcb_sparse_selects(const double *value, uint64_t count);
unsigned gcb_sparse_collectives(const double *value);

/* The longest chunk that a device transforms by our own FFT. Longer chunks, and lengths that our
 * own FFT does not have, go through cuFFT, so their messages may differ from those of the CPU. */
#define GCB_DEVICE_FFT_MOST 4096

/* True if pad=smooth may append zeros with this parameter `chunk`: 0, or an even number without
 * prime factors above 7. */
bool gcb_sparse_pads(uint64_t chunk);

/* presets.c: sparsifiers that were published, or found by `sweep`; the last row has no name */
extern const struct gcb_preset gcb_sparse_presets[];

/* Most floats in a tile of GCB_TILE positions. */
#define GCB_SPARSE_TILE (2 * GCB_TILE)

/*
 * Derives the stages, sizes, k and the base from the parameters and the environment. First sets
 * select and values if gcb_redsync_quantises is true, and changes tile, chunk and pad if they have
 * no effect. Allocates nothing. States on the CPU and on a device share this function
 * (src/lib/device/module/sparse.c).
 */
void gcb_sparse_bind(struct gcb_sparse *s);

/* Appends the scale and the n values x, and adds the number of clamped values to s->v.clamped. Sets
 * base.clamped, and base.nonfinite if a value is not finite. Returns 0 or GCB_E_NOSPACE. */
int gcb_sparse_put_values(struct gcb_sparse *s, const float *x, uint64_t n, struct gcb_wbuf *out);

/* The beginning of a payload. Pointers borrow the payload. */
struct gcb_sparse_payload {
    const uint8_t *kept; /* number of kept positions of each segment, a uint32 each */
    uint64_t positions, segments;
    uint64_t total; /* number of kept positions of all segments */
    const uint8_t *values;
};
/* decode.c: reads a payload up to the positions of its first segment. Returns 0, GCB_E_CORRUPT or,
 * from the transform, another error of `read` (struct gcb_codec_ops). */
int gcb_sparse_open_payload(struct gcb_sparse *s, uint64_t positions, struct gcb_rbuf *in,
                            struct gcb_sparse_payload *p);
/* decode.c: opens a cursor on the positions of segment g, the next segment in `in`. Returns 0 or
 * GCB_E_CORRUPT. */
int gcb_sparse_open_segment(const struct gcb_sparse *s, const struct gcb_sparse_payload *p,
                            uint64_t g, struct gcb_rbuf *in, struct gcb_index_cursor *c);

/* decode.c: operations of a decoder (struct gcb_codec_ops) */
int gcb_sparse_read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *to);
float *gcb_sparse_canvas(void *state, uint64_t *floats);
int gcb_sparse_inverse(void *state, float *out);
int gcb_sparse_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts);

#endif
