#include "src/lib/device/module/codecs.h"

/* Wire ids (`wire_id` in the codecs' files in src/lib/codec) and functions. identity, fp16 and bf16
 * share their functions. */
const struct gcb_device_codec gcb_device_codecs[] = {
    {1, &gcb_device_convert},
    {2, &gcb_device_convert},
    {3, &gcb_device_convert},
    {4, &gcb_device_range},
    {5, &gcb_device_qsgd},
    {6, &gcb_device_terngrad},
    {7, &gcb_device_natural},
    {10, &gcb_device_randomk},
    {13, &gcb_device_float},
    {14, &gcb_device_affine},
    {15, &gcb_device_codebook},
    {16, &gcb_device_sparse},
    {0, NULL},
};
