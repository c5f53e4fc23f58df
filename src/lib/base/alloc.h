#ifndef SRC_LIB_BASE_ALLOC_H
#define SRC_LIB_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/*
 * All memory of the library comes from here, so that a test can make any one allocation fail by
 * defining gcb_alloc and gcb_free itself: alloc.c holds these two and nothing else.
 */
#define GCB_ALIGN 64

/* `bytes` bytes, aligned to GCB_ALIGN, not initialised; NULL when there are none. 0 bytes give a unique
 * pointer. Large blocks come untouched from the system: pages that are never written cost nothing. */
void *gcb_alloc(size_t bytes);
void gcb_free(void *p); /* NULL is fine */

/* count * size bytes, NULL also on overflow. */
void *gcb_alloc_array(uint64_t count, size_t size);
void *gcb_alloc_zero(uint64_t count, size_t size);

/* A copy of a string or of its first n bytes; NULL when there is no memory. */
char *gcb_strdup(const char *s);
char *gcb_strndup(const char *s, size_t n);

/*
 * Makes room for one more element in a growing array: `items` is the address of the pointer to it (of
 * whatever type), `size` the bytes of an element, `count` used of *cap. Returns 0 or GCB_E_NOMEM (nothing
 * changed then).
 */
int gcb_grow(void *items, size_t *cap, size_t count, size_t size);

#endif
