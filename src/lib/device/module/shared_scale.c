#include "src/lib/device/module/shared_scale.h"

#include "src/lib/codec/shared_scale.h"

struct gcb_cuda_shared_scale gcb_device_shared_scale(const struct gcb_codec_env *env,
                                                     uint64_t bucket, uint32_t levels)
{
    return (struct gcb_cuda_shared_scale){
        .n = env->count,
        .bucket = bucket,
        .levels = levels,
        .wide = gcb_shared_scale_is_wide(env->workers, levels),
    };
}

static uint64_t bucket_count(const struct gcb_cuda_shared_scale *how)
{
    return (how->n + how->bucket - 1) / how->bucket;
}

uint64_t gcb_device_scale_bytes(const struct gcb_cuda_shared_scale *how)
{
    return bucket_count(how) * sizeof(float);
}

int gcb_device_scales_absorb(const struct gcb_cuda_shared_scale *how, const void *combined_dev,
                             const struct gcb_device_share *own, const struct gcb_device_call *call)
{
    return how->n
               ? gcb_cuda_take_scales(call->stream, own->kept_dev, combined_dev, bucket_count(how))
               : 0;
}

int gcb_device_levels_conclude(const struct gcb_cuda_shared_scale *how, const void *combined_dev,
                               const struct gcb_device_share *own, float *update_dev,
                               float *own_dev, const struct gcb_device_call *call)
{
    int err;

    if (how->n == 0)
        return 0;
    err = gcb_cuda_rebuild_levels(call->stream, update_dev, combined_dev, own->kept_dev, 1.0f, how);
    return err || !own_dev ? err
                           : gcb_cuda_rebuild_levels(call->stream, own_dev, own->values_dev,
                                                     own->kept_dev, own->weight, how);
}
