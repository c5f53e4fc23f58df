#include "src/lib/device/workspace.h"

static int grow_buffer(const struct gcb_device_workspace *w, struct gcb_device_buffer *buffer,
                       uint64_t bytes, struct gcb_diag *diag)
{
    int err;

    if (buffer->dev && buffer->bytes >= bytes)
        return 0;
    w->device->module->free(buffer->dev); /* first, so that old and new never coexist */
    *buffer = (struct gcb_device_buffer){0};
    err = w->device->module->alloc(&buffer->dev, bytes, diag);
    buffer->bytes = err ? 0 : bytes;
    return err;
}

static int grow_batch(struct gcb_device_workspace *w, const struct gcb_device_workspace_size *size,
                      struct gcb_diag *diag)
{
    const struct gcb_device_batch_config config = {
        .messages = size->messages ? size->messages : 1,
        .scratch = size->scratch,
    };

    if (w->batch && config.messages <= w->messages)
        return gcb_device_batch_reserve(w->batch, config.scratch, diag);
    gcb_device_batch_destroy(w->batch);
    w->messages = config.messages;
    return gcb_device_batch_create(&w->batch, w->device, &config, diag);
}

static int grow_all(struct gcb_device_workspace *w, const struct gcb_device_workspace_size *size,
                    struct gcb_diag *diag)
{
    int err = grow_batch(w, size, diag);

    if (!err)
        err = grow_buffer(w, &w->tensor, size->tensor, diag);
    return err ? err : grow_buffer(w, &w->payload, size->payload, diag);
}

int gcb_device_workspace_reserve(struct gcb_device_workspace *w,
                                 const struct gcb_device_workspace_size *size,
                                 struct gcb_diag *diag)
{
    const int err = grow_all(w, size, diag);

    if (err != GCB_E_NOMEM)
        return err;
    gcb_device_workspace_fini(w); /* some parts are larger than this call needs */
    return grow_all(w, size, diag);
}

void gcb_device_workspace_fini(struct gcb_device_workspace *w)
{
    if (!w->device)
        return;
    gcb_device_batch_destroy(w->batch);
    w->device->module->free(w->tensor.dev);
    w->device->module->free(w->payload.dev);
    *w = (struct gcb_device_workspace){.device = w->device};
}
