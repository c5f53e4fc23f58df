/* Functions of the core under their own names. Each calls through the table that the core has
 * passed (src/lib/device/core.h). */
#include "src/lib/device/module/core.h"

#include "src/lib/device/core.h"
#include "src/lib/device/module.h"

static const struct gcb_device_core *core;

bool gcb_module_take_core(const struct gcb_device_core *from)
{
    if (!from || from->version != GCB_DEVICE_MODULE_VERSION || from->size != sizeof(*from))
        return false;
    core = from;
    return true;
}

void gcb_qsgd_lay_out(struct gcb_qsgd_layout *l)
{
    core->qsgd_lay_out(l);
}

struct gcb_sample_plan gcb_sample_plan(uint64_t positions, double share, uint64_t k, uint64_t step)
{
    return core->sample_plan(positions, share, k, step);
}

void gcb_sparse_bind(struct gcb_sparse *s)
{
    core->sparse_bind(s);
}
