#ifndef SRC_LIB_DEVICE_MODULE_TABLE_H
#define SRC_LIB_DEVICE_MODULE_TABLE_H

#include "src/lib/base/diag.h"

/* Copies `bytes` bytes to new device memory, which a coder keeps. It waits for the device, so only
 * init may call it. Returns 0, GCB_E_NOMEM or GCB_E_DEVICE; on failure *out is NULL. */
int gcb_cuda_table_create(void **out, const void *from, uint64_t bytes, struct gcb_diag *diag);
void gcb_cuda_table_destroy(void *table); /* NULL is fine */

#endif
