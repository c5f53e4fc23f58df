#ifndef SRC_LIB_SPARSE_RANDOMK_H
#define SRC_LIB_SPARSE_RANDOMK_H

#include "kernels/strata/strata_elem.h"
#include "src/lib/codec/codec.h"
#include "src/lib/sparse/stages.h"

/* What random-k on the CPU (src/lib/sparse/randomk.c) and on a device share. */

enum gcb_randomk_scaling { GCB_RANDOMK_PLAIN, GCB_RANDOMK_UNBIASED };

struct gcb_randomk {
    struct gcb_codec_base base;
    double theta; /* parameter: share of elements that are dropped */
    int scaling;  /* parameter: enum gcb_randomk_scaling */
    uint64_t k;   /* number of kept elements */
    float factor; /* multiplies the kept elements */
    uint64_t key; /* all-reduce on the CPU: key of the step; contribute sets it for conclude */
};

#define GCB_RANDOMK_KEY_BYTES sizeof(uint64_t) /* the key, before the values of a payload */

/* `init` of the codec, on the CPU and on a device. Always returns 0. */
static inline int gcb_randomk_init(void *state, const struct gcb_codec_env *env,
                                   struct gcb_diag *diag)
{
    struct gcb_randomk *s = state;

    s->k = gcb_kept_of(1.0 - s->theta, env->count);
    s->factor = s->scaling == GCB_RANDOMK_UNBIASED && s->k
                    ? (float)((double)env->count / (double)s->k)
                    : 1.0f;
    s->base.max_payload = GCB_RANDOMK_KEY_BYTES + s->k * sizeof(float);
    s->base.may_send_raw = s->scaling == GCB_RANDOMK_UNBIASED;
    s->base.density = 1.0 - s->theta;
    s->base.nominal_bits = 32.0 * s->base.density;
    s->base.rounds = 1;
    s->base.round[0] = (struct gcb_reduce_round){GCB_SUM_F32, s->k};
    return 0;
}

/* The key from which a step's places are drawn, the same for all workers. */
static inline uint64_t gcb_randomk_key(const struct gcb_codec_env *env, uint64_t step)
{
    return gcb_draw_stream(env, &(struct gcb_step){.step = step}, GCB_DRAW_PLACES) ^ env->seed;
}

/* True if a payload of a tensor with `count` elements may have this length: from 1 to `count`
 * values follow the key; none if the tensor is empty. */
static inline bool gcb_randomk_fits(uint64_t length, uint64_t count)
{
    const uint64_t k = (length - GCB_RANDOMK_KEY_BYTES) / sizeof(float);

    return length >= GCB_RANDOMK_KEY_BYTES && length % sizeof(float) == 0 && k <= count &&
           (k > 0 || count == 0);
}

#endif
