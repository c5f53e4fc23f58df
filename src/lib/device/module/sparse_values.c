#include "src/lib/device/module/sparse.h"

_Static_assert((int)GCB_CUDA_MEANS == GCB_VALUES_MEANS,
               "enum gcb_cuda_value_kind must have the order of enum gcb_values_id");

struct gcb_cuda_values gcb_device_values(const struct gcb_sparse *p)
{
    const struct gcb_range_params *range = &p->v.range;

    return (struct gcb_cuda_values){
        .kind = (enum gcb_cuda_value_kind)p->values,
        .scale = (uint32_t)p->values_ops->scale_bytes,
        .side = (uint32_t)p->transform_ops->side_bytes,
        .width = p->transform_ops->width,
        .bits = gcb_values_bits(p->values_ops, &p->v),
        .mantissa = (uint32_t)range->mantissa,
        .max_given = range->max != 0.0,
        .max = (float)range->max,
        .rounding = (enum gcb_range_rounding)range->rounding,
    };
}
