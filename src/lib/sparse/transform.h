#ifndef SRC_LIB_SPARSE_TRANSFORM_H
#define SRC_LIB_SPARSE_TRANSFORM_H

#include "src/lib/sparse/stages.h"

/* Functions that several transforms share. They are in transform.c. */

/* The number of elements in a whole chunk, with zeros. */
uint64_t gcb_transform_chunk(const struct gcb_transform_state *t);

/* Frees all memory that a transform of any kind may have. */
void gcb_transform_fini(struct gcb_transform_state *t);

/* For the transforms that use FFTW: allocates the coefficients and makes a plan. There must be at
 * least one element. Returns 0 or GCB_E_NOMEM. */
int gcb_transform_plan(struct gcb_transform_state *t, enum gcb_fft_kind kind,
                       struct gcb_diag *diag);
/* `has_room` of the transforms that use FFTW. */
bool gcb_transform_has_room(const struct gcb_transform_state *t);

/* `order`, `scale` and `canvas` of the transforms whose coefficients are as many real numbers as
 * the elements. */
const float *gcb_transform_order(struct gcb_transform_state *t, const float *coef);
void gcb_transform_scale(const struct gcb_transform_state *t, float *values, const uint32_t *pos,
                         size_t n, uint64_t base);
float *gcb_transform_canvas(struct gcb_transform_state *t, float *out);

/*
 * Rounds the elements to float16 as an encoder with input=fp16 does, to the nearest, ties to even.
 * Elements that are too large become the largest float16. Returns t->rounded, which
 * gcb_transform_round_init has allocated.
 */
int gcb_transform_round_init(struct gcb_transform_state *t, struct gcb_diag *diag);
const float *gcb_transform_round(struct gcb_transform_state *t, const float *x);

/* ---- hadamard, here and on a device ---- */

/* The number of elements in a whole chunk: a power of two; 1 for an empty tensor. */
static inline uint64_t gcb_hadamard_length(uint64_t count, uint64_t chunk)
{
    if (count == 0)
        return 1;
    return chunk == 0 || chunk > count ? UINT64_C(1) << (63 - __builtin_clzll(count)) : chunk;
}

/* The key of the signs of a step, the same for all workers. */
static inline uint64_t gcb_hadamard_key(const struct gcb_codec_env *env, uint64_t step)
{
    return gcb_draw_stream(env, &(struct gcb_step){.step = step}, GCB_DRAW_SIGNS) ^ env->seed;
}

#endif
