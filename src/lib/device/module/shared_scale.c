#include "src/lib/device/module/shared_scale.h"

void gcb_device_fill_draw(const struct gcb_codec_env *env, const struct gcb_step *at,
                          struct gcb_device_item *item)
{
    if (at) {
        const struct gcb_rounding_draw draw = gcb_rounding_draw(env, at);

        item->coarse = draw.coarse;
        item->fine = draw.fine;
    }
}

int gcb_device_scales_absorb(const void *state, unsigned round, const void *combined_dev,
                             const struct gcb_device_share *own, const struct gcb_device_call *call)
{
    const uint64_t buckets = ((const struct gcb_quantiser *)state)->shared.buckets;

    return buckets ? gcb_cuda_take_scales(call->stream, own->kept_dev, combined_dev, buckets) : 0;
}

int gcb_device_levels_conclude(const void *state, const void *combined_dev,
                               const struct gcb_device_share *own, float *update_dev,
                               float *own_dev, const struct gcb_device_call *call)
{
    const struct gcb_quantiser *q = state;
    const struct gcb_cuda_shared_scale how = {
        .n = q->base.env.count,
        .bucket = q->shared.bucket,
        .levels = q->shared.levels,
        .wide = q->shared.wide,
    };
    int err;

    if (how.n == 0)
        return 0;
    err =
        gcb_cuda_rebuild_levels(call->stream, update_dev, combined_dev, own->kept_dev, 1.0f, &how);
    if (err || !own_dev)
        return err;
    return gcb_cuda_rebuild_levels(call->stream, own_dev, own->values_dev, own->kept_dev,
                                   own->weight, &how);
}
