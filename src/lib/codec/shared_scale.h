#ifndef SRC_LIB_CODEC_SHARED_SCALE_H
#define SRC_LIB_CODEC_SHARED_SCALE_H

#include "src/lib/codec/codec.h"

/*
 * All-reduce for a quantiser whose levels are multiples of a scale (struct gcb_reduce_ops). In round 0 the workers agree
 * on the largest scale that one of them needs, for each bucket. In round 1 their signed levels are added as integers.
 * All workers divide by the same scales, so the sum of the levels stands for the sum of the tensors.
 */
struct gcb_shared_scale {
    uint64_t count, bucket, buckets;
    uint32_t levels; /* largest level of one worker */
    bool wide;       /* sums need 16 bits, not 8 */
    float *scale;    /* of each bucket */
    void *own;       /* levels of this worker: int8_t or int16_t */
    const struct gcb_queue *queue;
};

/* Do sums of the levels of so many workers need 16 bits? */
static inline bool gcb_shared_scale_is_wide(unsigned workers, uint32_t levels)
{
    return (uint64_t)workers * levels > INT8_MAX;
}

/* Makes the arrays. GCB_E_INVALID: sums of the levels of env->workers workers do not fit 16 bits. GCB_E_NOMEM. */
int gcb_shared_scale_init(struct gcb_shared_scale *s, const struct gcb_codec_env *env,
                          uint32_t levels, uint64_t bucket, struct gcb_diag *diag);
void gcb_shared_scale_fini(struct gcb_shared_scale *s); /* accepts zeros */

/* Sets the level of element i of this worker. |level| <= levels. */
static inline void gcb_shared_scale_put(const struct gcb_shared_scale *s, uint64_t i, int level)
{
    if (s->wide)
        ((int16_t *)s->own)[i] = (int16_t)level;
    else
        ((int8_t *)s->own)[i] = (int8_t)level;
}

/* The functions of struct gcb_reduce_ops. The codec computes scales and levels. */
enum gcb_reduction gcb_shared_scale_reduction(const struct gcb_shared_scale *s, unsigned round);
uint64_t gcb_shared_scale_count(const struct gcb_shared_scale *s, unsigned round);
/* Writes the levels that were put. */
void gcb_shared_scale_send(const struct gcb_shared_scale *s, void *values);
/* Takes the scales of round 0. */
void gcb_shared_scale_absorb(struct gcb_shared_scale *s, const void *combined);
/* update: scale * (combined level / levels); own: scale * (level / levels) / weight, or 0 if the weight is 0. */
void gcb_shared_scale_conclude(const struct gcb_shared_scale *s, float weight, const void *combined,
                               float *update, float *own);

#endif
