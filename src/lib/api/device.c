#include "src/lib/api/options.h"
#include "src/lib/coder/slot.h"
#include "src/lib/device/load.h"

int gcb_device_encoder_open(struct gcb_device_encoder **out, unsigned device, const char *spec,
                            uint64_t n, const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_settings s;
    struct gcb_device there;
    int err = gcb_settings_open(&s, out, "the place for the encoder", spec, n, options, diag);

    if (!err)
        err = gcb_device_open(&there, device, diag);
    if (err)
        return err;
    err = gcb_slots_create(out, &there, &s.method, &s.config, diag);
    there.module->use(there.before, NULL);
    return err;
}

void gcb_device_encoder_close(struct gcb_device_encoder *e)
{
    gcb_slots_destroy(e);
}
