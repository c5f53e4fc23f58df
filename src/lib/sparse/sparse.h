#ifndef SRC_LIB_SPARSE_SPARSE_H
#define SRC_LIB_SPARSE_SPARSE_H

#include "src/lib/sparse/stages.h"

/*
 * The sparse codec keeps some of a tensor's elements, or of its transform's bins, and sends their
 * values and positions (src/lib/sparse/stages.h).
 *
 * Payload: the number of kept positions of each segment (uint32); the transform's side bytes and
 * the scale of the values; the values, in the order of positions; the positions of each segment
 * that keeps any.
 */

/* State of a coder: parameters, then what init derives from them. */
struct gcb_sparse {
    struct gcb_codec_base base;
    double theta;
    int transform, select, values, index; /* ids of the stages (enum gcb_transform_id, ...) */
    uint64_t chunk;
    int pad;   /* enum gcb_transform_pad */
    int input; /* enum gcb_transform_input; not in messages: a decoder does not need it */
    struct gcb_transform_state t;
    struct gcb_selection selection;
    struct gcb_values_state v;
    const struct gcb_transform *transform_ops;
    const struct gcb_selector *selector_ops;
    const struct gcb_value_coder *values_ops;
    const struct gcb_index *index_ops;
    uint64_t segments;
    uint64_t k;        /* requested number of positions */
    uint64_t max_kept; /* positions that the selector may keep */
    uint32_t *listed;  /* the positions of a message to add; NULL until a message is added */
};

/* Number of segments of so many positions, and of positions in segment g. A piece (list.h) has
 * fewer than the tensor. */
static inline uint64_t gcb_sparse_segments(const struct gcb_sparse *s, uint64_t positions)
{
    return (positions + s->t.env.segment - 1) / s->t.env.segment;
}
static inline uint64_t gcb_sparse_segment_length(const struct gcb_sparse *s, uint64_t positions,
                                                 uint64_t g)
{
    const uint64_t left = positions - g * s->t.env.segment;

    return left < s->t.env.segment ? left : s->t.env.segment;
}

/* The most bytes of a payload that keeps `kept` of so many positions, without the transform's side
 * bytes. */
uint64_t gcb_sparse_bound(const struct gcb_sparse *s, uint64_t positions, uint64_t kept);

/* sparse_params.c: the parameter table, and combinations that are refused */
extern const struct gcb_param gcb_sparse_params[];
int gcb_sparse_check(const double *value, struct gcb_diag *diag);
unsigned gcb_sparse_caps(const double *value);
/* A device transforms longer chunks by cuFFT, and its messages are not those of the CPU. */
#define GCB_DEVICE_FFT_MOST 4096

/* True if pad=smooth has a meaning with these chunks: they are even, with the factors 2, 3, 5 and 7.
 */
bool gcb_sparse_pads(uint64_t chunk);
bool gcb_sparse_selects(const double *value, uint64_t count);
unsigned gcb_sparse_collectives(const double *value);

/* presets.c: published sparsifiers; the last row has no name */
extern const struct gcb_preset gcb_sparse_presets[];

/* The most floats in a tile of positions. */
#define GCB_SPARSE_TILE (2 * GCB_TILE)

/*
 * Derives stages, sizes, k and the base from parameters and environment, without allocating. A
 * state on a device begins in the same way (src/lib/device/module/sparse.c).
 */
void gcb_sparse_bind(struct gcb_sparse *s);

/* Sets base.clamped and base.largest after values were written. `largest` is NAN if the values need
 * none, if the parameter `max` gives it, or if all values are 0. */
void gcb_sparse_count_values(struct gcb_sparse *s);

/* decode.c: the beginning of a payload of so many positions. The cursor of a segment;
 * GCB_E_CORRUPT. */
struct gcb_sparse_payload {
    const uint8_t *kept; /* a uint32 per segment */
    uint64_t positions, segments;
    uint64_t total; /* kept positions */
    const uint8_t *values;
};
int gcb_sparse_open_payload(struct gcb_sparse *s, uint64_t positions, struct gcb_rbuf *in,
                            struct gcb_sparse_payload *p);
int gcb_sparse_open_segment(const struct gcb_sparse *s, const struct gcb_sparse_payload *p,
                            uint64_t g, struct gcb_rbuf *in, struct gcb_index_cursor *c);

/* decode.c: operations of a decoder (struct gcb_codec_ops) */
int gcb_sparse_read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *to);
float *gcb_sparse_canvas(void *state, uint64_t *floats);
int gcb_sparse_inverse(void *state, float *out);
int gcb_sparse_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts);

#endif
