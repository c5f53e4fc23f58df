#include "src/tool/trial/device_bench.h"

#include "src/lib/base/alloc.h"

/* Twice the L2 cache, so that a fill leaves nothing of what was in it. */
static uint64_t flush_bytes(const struct gcb_device *device)
{
    const uint64_t least = UINT64_C(1) << 20, twice = 2 * device->facts.l2_bytes;

    return twice > least ? twice : least;
}

int gcb_device_bench_create(struct gcb_device_bench **out, const struct gcb_device *device,
                            const struct gcb_timing *timing, struct gcb_diag *diag)
{
    struct gcb_device_bench *d = gcb_alloc_zero(1, sizeof(*d));
    int err;

    *out = NULL;
    if (!d)
        return gcb_diag_nomem(diag, sizeof(*d), "trials on a device");
    d->space.device = device;
    d->clock = device->module->clock_open(device->index);
    err = device->module->event_create(&d->from, diag);
    if (!err)
        err = device->module->event_create(&d->to, diag);
    if (!err && timing->evict) {
        d->flush.bytes = flush_bytes(device);
        err = device->module->alloc(&d->flush.dev, d->flush.bytes, diag);
    }
    if (!err)
        err = gcb_samples_init(&d->kernel, timing, diag);
    if (err)
        goto out;
    *out = d;
    d = NULL;
out:
    gcb_device_bench_destroy(d);
    return err;
}

void gcb_device_bench_destroy(struct gcb_device_bench *d)
{
    const struct gcb_device_module *module = d ? d->space.device->module : NULL;

    if (!d)
        return;
    gcb_device_workspace_fini(&d->space);
    module->event_destroy(d->from);
    module->event_destroy(d->to);
    module->free(d->flush.dev);
    module->clock_close(d->clock);
    gcb_samples_fini(&d->kernel);
    gcb_free(d);
}
