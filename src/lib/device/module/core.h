#ifndef SRC_LIB_DEVICE_MODULE_CORE_H
#define SRC_LIB_DEVICE_MODULE_CORE_H

#include <stdbool.h>

struct gcb_device_core; /* src/lib/device/core.h */

/* Keeps the table of the core's functions, which must stay valid. It must be called before any
 * other function of the module. Returns false and keeps nothing if the table is NULL or has another
 * version. */
bool gcb_module_take_core(const struct gcb_device_core *from);

#endif
