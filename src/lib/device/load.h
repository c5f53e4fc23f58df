#ifndef SRC_LIB_DEVICE_LOAD_H
#define SRC_LIB_DEVICE_LOAD_H

#include "src/lib/device/module.h"

/*
 * All CUDA code is in one module, libgcbench-cuda.so, which is opened at run time. The module is
 * searched beside the executable or library that contains this code, then where the system's loader
 * searches: LD_LIBRARY_PATH, the run path of the executable, the system's folders. Everything else
 * works without the module. An open module stays open until the process ends, because a driver
 * cannot be unloaded safely.
 */

/* An open module and one of its devices. There is nothing to close. */
struct gcb_device {
    const struct gcb_device_module *module;
    unsigned index;
    unsigned before; /* the device that the opening thread used before it opened this one */
    struct gcb_device_facts facts;
};

/*
 * Opens the module and device number `index`, which the calling thread uses from then on. Returns
 * 0, or GCB_E_BACKEND: no module, a module of another version, no driver, or no such device.
 * out->facts has the facts that were found, even after an error.
 */
int gcb_device_open(struct gcb_device *out, unsigned index, struct gcb_diag *diag);

/* Like gcb_device_open, but with a module that the caller has opened. For tests. */
int gcb_device_adopt(struct gcb_device *out, const struct gcb_device_module *module, unsigned index,
                     struct gcb_diag *diag);

/* Returns the codecs of the installed module, even if there is no device. A row without ops ends
 * the list. NULL: there is no module, or one of another version. */
const struct gcb_device_codec *gcb_device_codecs_here(void);

#endif
