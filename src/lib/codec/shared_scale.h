#ifndef SRC_LIB_CODEC_SHARED_SCALE_H
#define SRC_LIB_CODEC_SHARED_SCALE_H

#include "src/lib/codec/codec.h"

/*
 * All-reduce (struct gcb_reduce_ops) for a quantiser that divides elements by a scale and rounds
 * them to integer levels. In the first round the workers find, for each bucket, the largest scale
 * that any worker needs. In the second round their signed levels are added as integers. All workers
 * use the same scales, so the sums of the levels can be turned into the sum of the tensors.
 */
struct gcb_shared_scale {
    uint64_t bucket, buckets; /* most elements in a bucket; number of buckets */
    uint32_t levels;          /* largest magnitude of a level of one worker */
    bool wide;                /* sums of levels need 16 bits, not 8 */
    float *scale;             /* the shared scale of each bucket */
    void *own;                /* the levels of this worker: int8_t, or int16_t if wide */
};

/* The beginning of a quantiser's state. */
struct gcb_quantiser {
    struct gcb_codec_base base;
    struct gcb_shared_scale shared;
};

/* Sets the sizes and the rounds, and allocates the arrays. `bucket` is not 0. Returns 0,
 * GCB_E_NOMEM, or GCB_E_INVALID if the sums of the levels of env.workers workers do not fit 16
 * bits. gcb_shared_scale_fini is due in either case. */
int gcb_shared_scale_init(struct gcb_quantiser *s, uint32_t levels, uint64_t bucket,
                          struct gcb_diag *diag);
void gcb_shared_scale_fini(struct gcb_shared_scale *s); /* accepts an all-zero struct */

/* Sets the level of element i of this worker. |level| <= levels. */
static inline void gcb_shared_scale_put(const struct gcb_shared_scale *s, uint64_t i, int level)
{
    if (s->wide)
        ((int16_t *)s->own)[i] = (int16_t)level;
    else
        ((int8_t *)s->own)[i] = (int8_t)level;
}

/* Copies this worker's levels to `values`, as its contribution to the second round: env.count times
 * int8_t, or int16_t if wide. */
void gcb_shared_scale_send(const struct gcb_quantiser *s, void *values);
/* Functions of struct gcb_reduce_ops; the state begins with struct gcb_quantiser. absorb takes the
 * shared scales. conclude computes update = scale * (combined level / levels) and own = scale *
 * (own level / levels) / weight, or 0 if the weight is 0. */
void gcb_shared_scale_absorb(void *state, unsigned round, const void *combined);
void gcb_shared_scale_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                               const void *combined, float *update, float *own);

#endif
