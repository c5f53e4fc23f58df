#include "src/tool/metric/device_fidelity.h"

/* Bytes for the result, which come before the kernels' scratch. */
#define FRONT 256

uint64_t gcb_device_fidelity_scratch(const struct gcb_device *device, uint64_t n)
{
    return FRONT + device->module->compare_scratch(n);
}

int gcb_device_fidelity_add(struct gcb_fidelity *f, struct gcb_device_batch *b, const float *x_dev,
                            const float *y_dev, uint64_t n, struct gcb_diag *diag)
{
    const struct gcb_device_module *module = gcb_device_batch_module(b);
    struct gcb_cuda_comparison c;
    struct gcb_device_call call;
    struct gcb_fidelity one;
    int err = gcb_device_batch_call(&call, b, 0, FRONT + module->compare_scratch(n), diag);

    if (err)
        return err;
    /* errors of this kernel are reported when the download waits */
    module->compare(call.stream, call.scratch_dev, x_dev, y_dev, n,
                    (uint8_t *)call.scratch_dev + FRONT);
    err = gcb_device_batch_download(b, &c, call.scratch_dev, sizeof(c), diag);
    if (err)
        return err;
    one = (struct gcb_fidelity){
        .xx = c.xx,
        .yy = c.yy,
        .xy = c.xy,
        .dd = c.dd,
        .d = c.d,
        .max_abs = c.max_abs,
        .same_sign = c.same_sign,
        .zeros = c.zeros,
        .zeros_kept = c.zeros_kept,
        .elements = n,
        .nonfinite = c.nonfinite,
        .nonfinite_kept = c.nonfinite_kept,
    };
    gcb_fidelity_merge(f, &one);
    return 0;
}
