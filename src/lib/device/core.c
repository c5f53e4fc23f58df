#include "src/lib/device/core.h"

#include "src/lib/device/module.h"

const struct gcb_device_core gcb_device_core = {
    .version = GCB_DEVICE_MODULE_VERSION,
    .size = sizeof(gcb_device_core),
    .qsgd_lay_out = gcb_qsgd_lay_out,
    .sample_plan = gcb_sample_plan,
    .sparse_bind = gcb_sparse_bind,
};
