#include "src/cuda/module/codecs.h"

const struct gcb_device_codec gcb_device_codecs[] = {
    {1, &gcb_device_identity},
    {2, &gcb_device_fp16},
    {3, &gcb_device_bf16},
    {4, &gcb_device_range},
    {0, NULL},
};
