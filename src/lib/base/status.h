#ifndef SRC_LIB_BASE_STATUS_H
#define SRC_LIB_BASE_STATUS_H

#include "src/gcbench.h" /* enum gcb_status */

/*
 * A codec returns this status if the method cannot represent the tensor, for example because its
 * arithmetic overflows. The coder then sends the tensor raw; for an all-reduce see `contribute`
 * (src/lib/codec/codec.h). No function of gcbench.h returns this status.
 */
enum { GCB_E_SEND_RAW = -100 };

#endif
