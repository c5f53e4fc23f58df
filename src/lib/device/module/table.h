#ifndef SRC_LIB_DEVICE_MODULE_TABLE_H
#define SRC_LIB_DEVICE_MODULE_TABLE_H

#include "src/lib/base/diag.h"

/* Copies `bytes` > 0 bytes of host memory to new device memory, which a coder keeps until its fini.
 * Waits for the copy, so only init may call this function. The caller frees *out with
 * gcb_cuda_table_destroy. Returns 0, GCB_E_NOMEM or GCB_E_DEVICE; after an error *out is NULL. */
int gcb_cuda_table_create(void **out, const void *from, uint64_t bytes, struct gcb_diag *diag);
void gcb_cuda_table_destroy(void *table); /* NULL is fine */

#endif
