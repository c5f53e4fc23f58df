#include "src/lib/codec/shared_scale.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

static size_t level_bytes(const struct gcb_shared_scale *s)
{
    return s->wide ? sizeof(int16_t) : sizeof(int8_t);
}

int gcb_shared_scale_init(struct gcb_quantiser *s, uint32_t levels, uint64_t bucket,
                          struct gcb_diag *diag)
{
    const uint64_t count = s->base.env.count, largest = (uint64_t)s->base.env.workers * levels;
    struct gcb_shared_scale *shared = &s->shared;

    if (largest > INT16_MAX)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "collective=allreduce adds levels in 16 bits, but the levels of %u "
                            "workers add up to %llu; use fewer bits or collective=twoshot",
                            s->base.env.workers, (unsigned long long)largest);
    *shared = (struct gcb_shared_scale){.bucket = bucket,
                                        .buckets = (count + bucket - 1) / bucket,
                                        .levels = levels,
                                        .wide = largest > INT8_MAX};
    s->base.rounds = 2;
    s->base.round[0] = (struct gcb_reduce_round){GCB_MAX_F32, shared->buckets};
    s->base.round[1] = (struct gcb_reduce_round){shared->wide ? GCB_SUM_I16 : GCB_SUM_I8, count};
    shared->scale = gcb_alloc_array(shared->buckets, sizeof(*shared->scale));
    shared->own = gcb_alloc_array(count, level_bytes(shared));
    if (shared->scale && shared->own)
        return 0;
    return gcb_diag_nomem(diag, count * level_bytes(shared), "levels of an all-reduce");
}

void gcb_shared_scale_fini(struct gcb_shared_scale *s)
{
    gcb_free(s->scale);
    gcb_free(s->own);
}

void gcb_shared_scale_send(const struct gcb_quantiser *s, void *values)
{
    if (s->base.env.count)
        memcpy(values, s->shared.own, s->base.env.count * level_bytes(&s->shared));
}

void gcb_shared_scale_absorb(void *state, unsigned round, const void *combined)
{
    const struct gcb_shared_scale *s = &((struct gcb_quantiser *)state)->shared;

    if (s->buckets)
        memcpy(s->scale, combined, s->buckets * sizeof(*s->scale));
    for (uint64_t b = 0; b < s->buckets; b++) /* a hostile scale may be negative */
        s->scale[b] = gcb_float_of(gcb_magnitude(s->scale[b]));
}

struct rebuilding {
    const struct gcb_shared_scale *s;
    uint64_t count;
    const void *levels; /* a level for each element: int8_t, or int16_t if s->wide */
    float weight;
    float *out;
};

/* Computes elements `from` to `to` - 1, all in one bucket, from their levels. Divides them by the
 * weight. */
static void rebuild_run(const struct rebuilding *r, float scale, uint64_t from, uint64_t to)
{
    const float levels = (float)r->s->levels;

    for (uint64_t i = from; i < to; i++) {
        const int level =
            r->s->wide ? ((const int16_t *)r->levels)[i] : ((const int8_t *)r->levels)[i];

        r->out[i] = scale * ((float)level / levels) / r->weight;
    }
}

static void rebuild_span(void *ctx, uint64_t span)
{
    const struct rebuilding *r = ctx;
    const uint64_t end = span * GCB_SPAN + gcb_span_length(r->count, span);

    for (uint64_t i = span * GCB_SPAN, to; i < end; i = to) {
        const uint64_t b = i / r->s->bucket, left = (b + 1) * r->s->bucket - i;

        to = left < end - i ? i + left : end;
        rebuild_run(r, r->s->scale[b], i, to);
    }
}

/* Computes all elements from their levels. Divides them by `weight`. */
static void rebuild(const struct gcb_quantiser *s, const void *levels, float weight, float *out)
{
    const struct gcb_codec_env *env = &s->base.env;
    struct rebuilding r = {&s->shared, env->count, levels, weight, out};

    gcb_parallel(env->queue, gcb_span_count(env->count), rebuild_span, &r);
}

void gcb_shared_scale_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                               const void *combined, float *update, float *own)
{
    const struct gcb_quantiser *s = state;

    if (update)
        rebuild(s, combined, 1.0f, update);
    if (own && at->weight != 0.0f)
        rebuild(s, s->shared.own, at->weight, own);
    else if (own)
        gcb_set_zero(own, s->base.env.count);
}
