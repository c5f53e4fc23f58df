#ifndef SRC_LIB_BASE_ALLOC_H
#define SRC_LIB_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * All memory that the library itself allocates comes from gcb_alloc. A test can define gcb_alloc
 * and gcb_free itself to make an allocation fail; for this reason, alloc.c contains only these two
 * functions.
 */

#define GCB_ALIGN 64 /* alignment of every block, in bytes */

/* Allocates `bytes` bytes, aligned to GCB_ALIGN, not initialised. The caller frees them with
 * gcb_free. For 0 bytes, returns a unique pointer. Returns NULL if there is no memory. Pages of a
 * new large block that are never written take no memory. */
void *gcb_alloc(size_t bytes);
void gcb_free(void *p); /* NULL is fine */

/* Allocate count * size bytes, as gcb_alloc does. gcb_alloc_zero sets them to zero. Return NULL if
 * there is no memory or the product overflows. */
void *gcb_alloc_array(uint64_t count, size_t size);
void *gcb_alloc_zero(uint64_t count, size_t size);

/* Like gcb_alloc_array, but asks for huge pages, which need fewer TLB entries. For arrays that are
 * filled completely and then read with large strides. */
void *gcb_alloc_huge(uint64_t count, size_t size);

/* True if count * size bytes could be allocated now. For calls of libraries that crash, wait for
 * ever or end the process when they get no memory. */
bool gcb_has_room(uint64_t count, size_t size);

/* Copy a string, or n bytes of a text that has at least n bytes, and end the copy with a zero. The
 * caller frees it with gcb_free. Return NULL if there is no memory. */
char *gcb_strdup(const char *s);
char *gcb_strndup(const char *s, size_t n);

/*
 * Makes room for one more element in a growing array. `items` is the address of the pointer to the
 * array, `size` the bytes of an element; `count` of *cap elements are used. At first the pointer is
 * NULL and *cap 0. The caller frees the array with gcb_free. Returns 0, or GCB_E_NOMEM with nothing
 * changed.
 */
int gcb_grow(void *items, size_t *cap, size_t count, size_t size);

#endif
