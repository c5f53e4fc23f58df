#include <string.h>

#include "src/lib/device/module/sparse.h"

static const struct {
    const char *name;
    enum gcb_cuda_value_kind kind;
} kinds[] = {
    {"fp32", GCB_CUDA_FP32},       {"fp16", GCB_CUDA_FP16}, {"range", GCB_CUDA_RANGE},
    {"uniform", GCB_CUDA_UNIFORM}, {"mean", GCB_CUDA_MEAN}, {"sign-mean", GCB_CUDA_SIGN_MEAN},
    {"means", GCB_CUDA_MEANS},     {NULL, GCB_CUDA_FP32},
};

bool gcb_device_values_bind(struct gcb_cuda_values *v, const struct gcb_sparse *p)
{
    const struct gcb_range_params *range = &p->v.range;
    size_t i = 0;

    while (kinds[i].name && strcmp(kinds[i].name, p->values_ops->name) != 0)
        i++;
    if (!kinds[i].name)
        return false;
    *v = (struct gcb_cuda_values){
        .kind = kinds[i].kind,
        .scale = (uint32_t)p->values_ops->scale_bytes,
        .side = (uint32_t)p->transform_ops->side_bytes,
        .width = p->transform_ops->width,
        .bits = gcb_values_bits(p->values_ops, &p->v),
        .mantissa = (uint32_t)range->mantissa,
        .max_given = range->max != 0.0,
        .max = (float)range->max,
        .rounding = (enum gcb_range_rounding)range->rounding,
    };
    return true;
}
