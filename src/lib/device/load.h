#ifndef SRC_LIB_DEVICE_LOAD_H
#define SRC_LIB_DEVICE_LOAD_H

#include "src/lib/device/module.h"

/*
 * All CUDA code is in one module, libgcbench-cuda.so. It is opened at run time: from the folder of the library, or else
 * from wherever the system looks. Without the module everything else works. An open module is never closed, because a
 * driver may not be unloaded.
 */

/* An open module and one of its devices. Plain data; nothing to close. */
struct gcb_device {
    const struct gcb_device_module *module;
    unsigned index;
    struct gcb_device_facts facts;
};

/*
 * Opens device `index`. Returns 0, or GCB_E_BACKEND with the reason in one line: no module, a module of another version,
 * no driver, no such device. out->facts holds what could be found out, also on failure.
 */
int gcb_device_open(struct gcb_device *out, unsigned index, struct gcb_diag *diag);

/* The same with a module that is already open; tests use this. */
int gcb_device_adopt(struct gcb_device *out, const struct gcb_device_module *module, unsigned index,
                     struct gcb_diag *diag);

/* The codecs of the installed module, even if there is no device. A row without ops ends the list. NULL: no module. */
const struct gcb_device_codec *gcb_device_codecs_here(void);

#endif
