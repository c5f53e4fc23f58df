#include "src/lib/device/module/codecs.h"

/* a line for each codec */
/* clang-format off */
const struct gcb_device_codec gcb_device_codecs[] = {
    {1, &gcb_device_identity}, {2, &gcb_device_fp16},
    {3, &gcb_device_bf16},     {4, &gcb_device_range},
    {5, &gcb_device_qsgd},     {6, &gcb_device_terngrad},
    {16, &gcb_device_sparse},  {0, NULL},
};
