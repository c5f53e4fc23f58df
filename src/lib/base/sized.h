#ifndef SRC_LIB_BASE_SIZED_H
#define SRC_LIB_BASE_SIZED_H

#include <stddef.h>

#include "src/gcbench.h"

/*
 * Public structs begin with their size in the caller's version of the header. A size that ends
 * within a field is impossible: a library that copied such a struct would read or write half a
 * pointer. gcb_struct_copy copies a struct that the caller has filled into `out`, which has `known`
 * bytes. Fields that the caller's header does not have become
 * 0. GCB_E_INVALID: `in` is NULL, the size is impossible, or a field that this library does not
 *    know is not 0.
 */
#define GCB_STRUCT_MOST 4096 /* bytes */
int gcb_struct_check(const void *in, const char *type, struct gcb_diag *diag);
int gcb_struct_copy(void *out, size_t known, const void *in, const char *type,
                    struct gcb_diag *diag);
/* Copies a struct of `known` bytes into the caller's, which has `size` bytes. Fields that the
 * library does not know become 0. */
void gcb_struct_fill(void *out, size_t size, const void *in, size_t known);

#endif
