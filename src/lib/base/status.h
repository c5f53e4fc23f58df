#ifndef SRC_LIB_BASE_STATUS_H
#define SRC_LIB_BASE_STATUS_H

#include "src/gcbench.h" /* enum gcb_status */

/*
 * A codec returns this status to its coder if the method cannot represent the tensor, for example
 * because its arithmetic overflows. The coder then sends the tensor raw. No function of gcbench.h
 * returns it.
 */
enum { GCB_E_SEND_RAW = -100 };

#endif
