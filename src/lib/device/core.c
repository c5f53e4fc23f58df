#include "src/lib/device/core.h"

#include "src/lib/device/module.h"

const struct gcb_device_core gcb_device_core = {
    .version = GCB_DEVICE_MODULE_VERSION,
    .size = sizeof(gcb_device_core),
    .alloc_array = gcb_alloc_array,
    .alloc_zero = gcb_alloc_zero,
    .free = gcb_free,
    .diag_set = gcb_diag_set,
    .diag_nomem = gcb_diag_nomem,
    .packed_bytes = gcb_packed_bytes,
    .qsgd_lay_out = gcb_qsgd_lay_out,
    .qsgd_elias_bound = gcb_qsgd_elias_bound,
    .rounding_draw = gcb_rounding_draw,
    .kept_of = gcb_kept_of,
    .sample_plan = gcb_sample_plan,
    .sparse_bind = gcb_sparse_bind,
    .sparse_max_payload = gcb_sparse_max_payload,
    .hadamard_length = gcb_hadamard_length,
    .hadamard_key = gcb_hadamard_key,
};
