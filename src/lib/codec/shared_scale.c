#include "src/lib/codec/shared_scale.h"

#include <inttypes.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

static size_t level_bytes(const struct gcb_shared_scale *s)
{
    return s->wide ? sizeof(int16_t) : sizeof(int8_t);
}

int gcb_shared_scale_init(struct gcb_shared_scale *s, const struct gcb_codec_env *env,
                          uint32_t levels, uint64_t bucket, struct gcb_diag *diag)
{
    const uint64_t largest = (uint64_t)env->workers * levels;

    if (largest > INT16_MAX)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "collective=allreduce adds levels in 16 bits, but the levels of %u "
                            "workers add up to %" PRIu64 "; use fewer bits or collective=twoshot",
                            env->workers, largest);
    s->queue = env->queue;
    s->count = env->count;
    s->bucket = bucket;
    s->buckets = (env->count + bucket - 1) / bucket;
    s->levels = levels;
    s->wide = gcb_shared_scale_is_wide(env->workers, levels);
    s->scale = gcb_alloc_array(s->buckets, sizeof(*s->scale));
    s->own = gcb_alloc_array(s->count, level_bytes(s));
    if (s->scale && s->own)
        return 0;
    return gcb_diag_nomem(diag, s->count * level_bytes(s), "levels of an all-reduce");
}

void gcb_shared_scale_fini(struct gcb_shared_scale *s)
{
    gcb_free(s->scale);
    gcb_free(s->own);
}

enum gcb_reduction gcb_shared_scale_reduction(const struct gcb_shared_scale *s, unsigned round)
{
    return round == 0 ? GCB_MAX_F32 : s->wide ? GCB_SUM_I16 : GCB_SUM_I8;
}

uint64_t gcb_shared_scale_count(const struct gcb_shared_scale *s, unsigned round)
{
    return round == 0 ? s->buckets : s->count;
}

void gcb_shared_scale_send(const struct gcb_shared_scale *s, void *values)
{
    if (s->count)
        memcpy(values, s->own, s->count * level_bytes(s));
}

void gcb_shared_scale_absorb(struct gcb_shared_scale *s, const void *combined)
{
    if (s->count == 0)
        return;
    memcpy(s->scale, combined, s->buckets * sizeof(*s->scale));
    for (uint64_t b = 0; b < s->buckets; b++) /* a hostile scale may be negative */
        s->scale[b] = gcb_float_of(gcb_magnitude(s->scale[b]));
}

struct rebuilding {
    const struct gcb_shared_scale *s;
    const void *levels;
    float weight;
    float *out;
};

/* Writes elements [from, to) of one bucket: the values of their levels, divided by the weight. */
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
    const uint64_t end = span * GCB_SPAN + gcb_span_length(r->s->count, span);

    for (uint64_t i = span * GCB_SPAN, to; i < end; i = to) {
        const uint64_t b = i / r->s->bucket, left = (b + 1) * r->s->bucket - i;

        to = left < end - i ? i + left : end;
        rebuild_run(r, r->s->scale[b], i, to);
    }
}

/* Writes the values of levels, divided by `weight`. */
static void rebuild(const struct gcb_shared_scale *s, const void *levels, float weight, float *out)
{
    struct rebuilding r = {.s = s, .levels = levels, .weight = weight, .out = out};

    gcb_parallel(s->queue, gcb_span_count(s->count), rebuild_span, &r);
}

void gcb_shared_scale_conclude(const struct gcb_shared_scale *s, float weight, const void *combined,
                               float *update, float *own)
{
    if (update)
        rebuild(s, combined, 1.0f, update);
    if (own && weight != 0.0f)
        rebuild(s, s->own, weight, own);
    else if (own && s->count)
        memset(own, 0, s->count * sizeof(*own));
}
