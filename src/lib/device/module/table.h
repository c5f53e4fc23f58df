#ifndef SRC_LIB_DEVICE_MODULE_TABLE_H
#define SRC_LIB_DEVICE_MODULE_TABLE_H

#include "src/lib/base/diag.h"

/* Device memory that holds `bytes` bytes from `from`, for as long as a coder lives. It waits for the device, so only init
 * may make one. GCB_E_NOMEM, GCB_E_DEVICE; *out is NULL then. */
int gcb_cuda_table_create(void **out, const void *from, uint64_t bytes, struct gcb_diag *diag);
void gcb_cuda_table_destroy(void *table); /* NULL is fine */

#endif
