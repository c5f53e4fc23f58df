#ifndef SRC_LIB_SPARSE_TRANSFORM_H
#define SRC_LIB_SPARSE_TRANSFORM_H

#include "src/lib/sparse/stages.h"

/* Functions that several transforms share. They are in transform.c unless a comment names another
 * file. */

/* Number of elements in a whole chunk, the appended zeros included. */
uint64_t gcb_transform_chunk(const struct gcb_transform_state *t);

/* `fini` of FFT, DCT and Hadamard transform. */
void gcb_transform_fini(struct gcb_transform_state *t);

/* For FFT and DCT: allocates the coefficients, plans the transform, and sets t->group and
 * t->workers. There must be at least one element. Returns 0, GCB_E_NOMEM, or GCB_E_UNSUPPORTED if
 * this build lacks an FFT of this length. */
int gcb_transform_plan(struct gcb_transform_state *t, enum gcb_fft_kind kind,
                       struct gcb_diag *diag);
/* `has_room` and `chunks` of FFT and DCT. */
bool gcb_transform_has_room(const struct gcb_transform_state *t);
void gcb_transform_chunks(const struct gcb_transform_state *t, float *coef, const float *x,
                          float *out, const struct gcb_fft_chunks *which);

/* `order` of the transforms that have one real coefficient for each transformed element: returns
 * coef, or NULL if a coefficient is not finite. */
const float *gcb_transform_order(struct gcb_transform_state *t, const float *coef);
/* `scale` of DCT and Hadamard transform. */
void gcb_transform_scale(const struct gcb_transform_state *t, float *values, const uint32_t *pos,
                         size_t n, uint64_t base);
/* `canvas` of all transforms except none. */
float *gcb_transform_canvas(struct gcb_transform_state *t, float *out);

/* A part of a message's tiles (transform_tiles.c): coefficient i of tile k is at position first +
 * i * tiles + k. The caller zeroes the struct before the first part. */
struct gcb_tiles_part {
    size_t number; /* of this part, from 1 on */
    uint64_t first, tiles;
    unsigned area; /* coefficients of a tile */
};
/* Goes to the next part. Returns false after the last. t->tiling must not be NULL. */
bool gcb_tiles_next(const struct gcb_transform_state *t, struct gcb_tiles_part *part);

/* For encoders with input=fp16: allocates t->rounded, which the caller frees. Returns 0 or
 * GCB_E_NOMEM. */
int gcb_transform_round_init(struct gcb_transform_state *t, struct gcb_diag *diag);
/* Rounds the elements x to float16: to the nearest, ties to even. Elements that are too large
 * become the largest float16, and t->saturated counts them. Returns t->rounded. */
const float *gcb_transform_round(struct gcb_transform_state *t, const float *x);

/* ---- hadamard, here and on a device ---- */

/* Number of elements in a whole chunk: `chunk`, a power of two. If `chunk` is 0 or above `count`:
 * the largest power of two up to `count`. 1 if `count` is 0. */
static inline uint64_t gcb_hadamard_length(uint64_t count, uint64_t chunk)
{
    if (count == 0)
        return 1;
    return chunk == 0 || chunk > count ? UINT64_C(1) << (63 - __builtin_clzll(count)) : chunk;
}

/* The key of a step's random signs, the same for all workers. It is also the key of the matrices of
 * transform=random (step 0), and of the signs of agree=sketch. */
static inline uint64_t gcb_hadamard_key(const struct gcb_codec_env *env, uint64_t step)
{
    return gcb_draw_stream(env, &(struct gcb_step){.step = step}, GCB_DRAW_SIGNS) ^ env->seed;
}

#endif
