#ifndef SRC_TOOL_VERIFY_PROMISES_DEVICE_H
#define SRC_TOOL_VERIFY_PROMISES_DEVICE_H

#include "src/lib/device/load.h"
#include "src/tool/verify/promises.h"

/*
 * Messages made and read on a device, by fresh coders each time; what they are made of is for the CPU's decoder to say.
 * An element that the device does not write stays as it was.
 * Encoding and decoding end with GCB_E_UNSUPPORTED where the method does not run there, with GCB_E_BACKEND for want of a
 * library, with GCB_E_DEVICE or GCB_E_NOMEM. `device` is borrowed by the trip, and not changed.
 */
struct gcb_promise_trip gcb_promise_device(struct gcb_device *device);

#endif
