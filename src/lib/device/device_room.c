#include "src/lib/device/device_room.h"

static int grow(const struct gcb_device_room *r, struct gcb_device_area *a, uint64_t bytes,
                struct gcb_diag *diag)
{
    int err;

    if (a->dev && a->bytes >= bytes)
        return 0;
    r->device->module->free(a->dev); /* first, so that the old and the new never add up */
    *a = (struct gcb_device_area){0};
    err = r->device->module->alloc(&a->dev, bytes, diag);
    a->bytes = err ? 0 : bytes;
    return err;
}

static int grow_batch(struct gcb_device_room *r, uint64_t scratch, struct gcb_diag *diag)
{
    const struct gcb_device_batch_config config = {.messages = 1, .scratch = scratch};

    return r->batch ? gcb_device_batch_reserve(r->batch, scratch, diag)
                    : gcb_device_batch_create(&r->batch, r->device, &config, diag);
}

static int grow_all(struct gcb_device_room *r, const struct gcb_device_needs *needs,
                    struct gcb_diag *diag)
{
    int err = grow_batch(r, needs->scratch, diag);

    if (!err)
        err = grow(r, &r->tensor, needs->tensor, diag);
    return err ? err : grow(r, &r->payload, needs->payload, diag);
}

int gcb_device_room_take(struct gcb_device_room *r, const struct gcb_device_needs *needs,
                         struct gcb_diag *diag)
{
    const int err = grow_all(r, needs, diag);

    if (err != GCB_E_NOMEM)
        return err;
    gcb_device_room_fini(r); /* more was kept than this one needs */
    return grow_all(r, needs, diag);
}

void gcb_device_room_fini(struct gcb_device_room *r)
{
    if (!r->device)
        return;
    gcb_device_batch_destroy(r->batch);
    r->device->module->free(r->tensor.dev);
    r->device->module->free(r->payload.dev);
    *r = (struct gcb_device_room){.device = r->device};
}
