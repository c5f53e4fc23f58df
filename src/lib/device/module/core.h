#ifndef SRC_LIB_DEVICE_MODULE_CORE_H
#define SRC_LIB_DEVICE_MODULE_CORE_H

#include <stdbool.h>

struct gcb_device_core; /* src/lib/device/core.h */

/* Keeps the table of the core's functions for as long as the module is loaded. Call it before anything else of the
 * module. False, and nothing is kept, if the table is NULL or of another version. */
bool gcb_module_take_core(const struct gcb_device_core *from);

#endif
