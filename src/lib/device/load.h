#ifndef SRC_LIB_DEVICE_LOAD_H
#define SRC_LIB_DEVICE_LOAD_H

#include "src/lib/device/module.h"

/*
 * All CUDA code is in one module, libgcbench-cuda.so, which is opened at run time. It is looked for
 * beside the executable or library that this code is linked into, then where the system's loader
 * looks: LD_LIBRARY_PATH, the run path of the executable, the system's folders. Everything else
 * works without it. Once open, the module stays open until the process ends, because a driver
 * cannot be unloaded safely.
 */

/* An open module and one of its devices. Plain data; nothing to close. */
struct gcb_device {
    const struct gcb_device_module *module;
    unsigned index;
    struct gcb_device_facts facts;
};

/*
 * Opens device `index`. Returns 0, or GCB_E_BACKEND with the reason in one line: no module, a
 * module of another version, no driver, no such device. out->facts holds the facts that were found,
 * even after a failure.
 */
int gcb_device_open(struct gcb_device *out, unsigned index, struct gcb_diag *diag);

/* Like gcb_device_open, but with a module that is already open; tests use this. */
int gcb_device_adopt(struct gcb_device *out, const struct gcb_device_module *module, unsigned index,
                     struct gcb_diag *diag);

/* The codecs of the installed module, even if there is no device. A row without ops ends the list.
 * NULL: no module. */
const struct gcb_device_codec *gcb_device_codecs_here(void);

#endif
