#ifndef SRC_LIB_SPARSE_RANDOMK_H
#define SRC_LIB_SPARSE_RANDOMK_H

#include "kernels/strata/strata_elem.h"
#include "src/lib/codec/codec.h"
#include "src/lib/sparse/stages.h"

/* What random-k on the CPU (src/lib/sparse/randomk.c) and on a device share. */

enum gcb_randomk_scaling { GCB_RANDOMK_PLAIN, GCB_RANDOMK_UNBIASED };

/* The parameters, as the parameter table stores them. */
struct gcb_randomk_params {
    double theta;
    int scaling;
};

/* The state. */
struct gcb_randomk {
    struct gcb_randomk_params p;
    uint64_t k;
    float factor; /* of kept elements */
    uint64_t key; /* on the CPU: of the step of the last contribution */
    struct gcb_codec_env env;
};

#define GCB_RANDOMK_KEY_BYTES sizeof(uint64_t) /* of a payload, before the values */

static inline int gcb_randomk_init(void *state, const struct gcb_codec_env *env,
                                   struct gcb_diag *diag)
{
    struct gcb_randomk *s = state;

    s->env = *env;
    s->k = gcb_kept_of(1.0 - s->p.theta, env->count);
    s->factor = s->p.scaling == GCB_RANDOMK_UNBIASED && s->k
                    ? (float)((double)env->count / (double)s->k)
                    : 1.0f;
    return 0;
}

static inline uint64_t gcb_randomk_max_payload(const void *state)
{
    return GCB_RANDOMK_KEY_BYTES + ((const struct gcb_randomk *)state)->k * sizeof(float);
}

/* The key of the places. All workers have the same key in a step. */
static inline uint64_t gcb_randomk_key(const struct gcb_codec_env *env, uint64_t step)
{
    return gcb_draw_stream(env, &(struct gcb_step){.step = step}, GCB_DRAW_PLACES) ^ env->seed;
}

/* May a payload have this length? */
static inline bool gcb_randomk_fits(uint64_t length, uint64_t count)
{
    const uint64_t bytes = length - GCB_RANDOMK_KEY_BYTES;

    return length >= GCB_RANDOMK_KEY_BYTES && bytes % sizeof(float) == 0 &&
           bytes / sizeof(float) <= count && (count == 0 || bytes);
}

#endif
