#ifndef SRC_TOOL_VERIFY_DEVICE_BACKEND_H
#define SRC_TOOL_VERIFY_DEVICE_BACKEND_H

#include "src/lib/device/load.h"
#include "src/tool/verify/promises.h"

/*
 * New coders on a device encode and decode each message. The CPU's decoder describes its parts. An element of the
 * output that the device does not write keeps its value. `device` is borrowed and not changed.
 *
 * Encoding and decoding return GCB_E_UNSUPPORTED if the method does not run on the device, GCB_E_BACKEND if a library
 * is missing, GCB_E_DEVICE or GCB_E_NOMEM.
 */
struct gcb_promise_backend gcb_promise_device_backend(struct gcb_device *device);

#endif
