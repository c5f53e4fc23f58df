#include "src/gcbench.h"
#include "src/lib/api/options.h"
#include "src/lib/coder/slot.h"
#include "src/lib/device/load.h"

int gcb_device_encoder_open(struct gcb_device_encoder **out, unsigned device, const char *spec,
                            uint64_t n, const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_settings s;
    struct gcb_method method;
    struct gcb_device there;
    int err = gcb_need_both(out, "the place for the encoder", spec, "the method", diag);

    if (!err)
        err = gcb_settings_init(&s, options, n, diag);
    if (!err)
        err = gcb_method_parse(&method, spec, diag);
    if (!err)
        err = gcb_device_open(&there, device, diag);
    return err ? err : gcb_slots_create(out, &there, &method, &s.config, diag);
}

void gcb_device_encoder_close(struct gcb_device_encoder *e)
{
    gcb_slots_destroy(e);
}
