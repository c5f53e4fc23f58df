#include "src/lib/device/place.h"

static int grow_buffer(const struct gcb_place *p, struct gcb_device_buffer *buffer, uint64_t bytes,
                       struct gcb_diag *diag)
{
    int err;

    if (buffer->dev && buffer->bytes >= bytes)
        return 0;
    p->device->module->memory.free(buffer->dev); /* freed first: there may be no memory for both */
    *buffer = (struct gcb_device_buffer){0};
    err = p->device->module->memory.alloc(&buffer->dev, bytes, diag);
    buffer->bytes = err ? 0 : bytes;
    return err;
}

static int grow_batch(struct gcb_place *p, const struct gcb_place_size *size, struct gcb_diag *diag)
{
    const struct gcb_device_batch_config config = {
        .messages = size->messages ? size->messages : 1,
        .scratch = size->scratch,
    };

    if (p->batch && config.messages <= p->messages)
        return gcb_device_batch_reserve(p->batch, config.scratch, diag);
    gcb_device_batch_destroy(p->batch);
    p->messages = config.messages;
    return gcb_device_batch_create(&p->batch, p->device, &config, diag);
}

static int grow_all(struct gcb_place *p, const struct gcb_place_size *size, struct gcb_diag *diag)
{
    int err = grow_batch(p, size, diag);

    if (!err)
        err = grow_buffer(p, &p->tensor, size->tensor, diag);
    return err ? err : grow_buffer(p, &p->payload, size->payload, diag);
}

static void free_buffers(struct gcb_place *p)
{
    p->device->module->memory.free(p->tensor.dev);
    p->device->module->memory.free(p->payload.dev);
    p->tensor = p->payload = (struct gcb_device_buffer){0};
}

int gcb_place_reserve(struct gcb_place *p, const struct gcb_place_size *size, struct gcb_diag *diag)
{
    int err = grow_all(p, size, diag);

    if (err != GCB_E_NOMEM)
        return err;
    free_buffers(p); /* a part may be larger than this call needs */
    err = p->batch ? gcb_device_batch_shrink(p->batch, diag) : 0;
    return err ? err : grow_all(p, size, diag);
}

void gcb_place_fini(struct gcb_place *p)
{
    if (!p->device)
        return;
    gcb_device_batch_destroy(p->batch);
    free_buffers(p);
    *p = (struct gcb_place){.device = p->device, .prefill = p->prefill};
}
