#define XXH_INLINE_ALL
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/codec/codec.h"

uint64_t gcb_draw_stream(const struct gcb_codec_env *env, const struct gcb_step *at,
                         uint32_t purpose)
{
    uint8_t tail[16];
    const uint64_t path = XXH3_64bits(env->path, strlen(env->path));

    gcb_store_u64(tail, at->step);
    gcb_store_u32(tail + 8, at->worker);
    gcb_store_u32(tail + 12, purpose);
    return XXH3_64bits_withSeed(tail, sizeof(tail), path);
}

struct gcb_rounding_draw gcb_rounding_draw(const struct gcb_codec_env *env,
                                           const struct gcb_step *at)
{
    return (struct gcb_rounding_draw){.coarse = gcb_draw_stream(env, at, GCB_DRAW_COARSE),
                                      .fine = gcb_draw_stream(env, at, GCB_DRAW_FINE)};
}

double gcb_entropy0(const uint64_t *histogram, size_t count)
{
    double total = 0.0, bits = 0.0;

    for (size_t i = 0; i < count; i++)
        total += (double)histogram[i];
    for (size_t i = 0; i < count; i++)
        if (histogram[i])
            bits -= (double)histogram[i] * log2((double)histogram[i] / total);
    return bits;
}
