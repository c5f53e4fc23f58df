#ifndef SRC_LIB_BASE_SIZED_H
#define SRC_LIB_BASE_SIZED_H

#include <stddef.h>

#include "src/gcbench.h"

/*
 * A public struct begins with a size_t: the struct's size in the caller's version of the header. A
 * size that ends within a field is invalid, because half a field would be copied. `type` is the
 * struct's name, for example "gcb_options".
 */
#define GCB_STRUCT_MOST 4096 /* most bytes of a public struct */

/* Returns 0, or GCB_E_INVALID if the caller's struct is NULL, or its size is invalid or above
 * GCB_STRUCT_MOST. */
int gcb_struct_check(const void *in, const char *type, struct gcb_diag *diag);
/* Checks the caller's struct and copies it to `out`, which has `known` bytes. Fields that the
 * caller's header does not have become 0. Returns 0, or GCB_E_INVALID as gcb_struct_check, or if a
 * field that this library does not know is not 0. */
int gcb_struct_copy(void *out, size_t known, const void *in, const char *type,
                    struct gcb_diag *diag);
/* Copies the struct `in` of `known` bytes to the struct `out` of `size` bytes. The caller has set
 * the field `size` of `in` to `size`. Fields that this library does not know become 0. */
void gcb_struct_fill(void *out, size_t size, const void *in, size_t known);

#endif
