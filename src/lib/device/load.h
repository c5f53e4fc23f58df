#ifndef SRC_LIB_DEVICE_LOAD_H
#define SRC_LIB_DEVICE_LOAD_H

#include "src/lib/device/module.h"

/*
 * All CUDA code stands in one module, libgcbench-cuda.so, opened at run time: beside the library itself,
 * then wherever the system looks. A build or machine without it works in everything else. Once open, the module
 * stays so until the process ends: a driver does not like to be unloaded.
 */

/* An open module and one device of it. Plain data; nothing to close. */
struct gcb_device {
    const struct gcb_device_module *module;
    unsigned index;
    struct gcb_device_facts facts;
};

/*
 * Opens device `index`. 0, or GCB_E_BACKEND with the reason in one line: no module, one of another version, no
 * driver, no such device. out->facts is filled as far as it could be found out, also on failure.
 */
int gcb_device_open(struct gcb_device *out, unsigned index, struct gcb_diag *diag);

/* The same with a module that is there already, as tests have one. */
int gcb_device_adopt(struct gcb_device *out, const struct gcb_device_module *module, unsigned index,
                     struct gcb_diag *diag);

/* What the module that is here has, be there a device or not: ended by a row without ops. NULL: there is no module. */
const struct gcb_device_codec *gcb_device_codecs_here(void);

#endif
