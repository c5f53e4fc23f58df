#ifndef SRC_TOOL_BASE_MEMORY_H
#define SRC_TOOL_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/diag.h"

/*
 * Memory for lists, names and other blocks that are small beside tensors. These functions work like
 * gcb_alloc_array, gcb_alloc_zero, gcb_grow, gcb_strdup and gcb_strndup (src/lib/base/alloc.h), but
 * never fail: without memory they end the process by gcb_no_memory. So their callers have no error
 * to report. Blocks that grow with tensors come from gcb_alloc instead: without memory the command
 * fails with a message, and the user can choose a smaller scope or fewer methods. Release all
 * blocks with gcb_free.
 */
void *gcb_must_array(uint64_t count, size_t size);
void *gcb_must_zero(uint64_t count, size_t size);
void gcb_must_grow(void *items, size_t *cap, size_t count, size_t size);
char *gcb_must_strdup(const char *s);
char *gcb_must_strndup(const char *s, size_t n);

/* Ends the process because memory has run out; never returns. A program may set a function that
 * prints a message first; the default is abort(). */
extern void (*gcb_no_memory)(void);

/* Memory that grows as needed, for a message or other data. A zeroed struct has no memory. */
struct gcb_room {
    uint8_t *block;
    size_t size;
};
/* Makes the room at least `size` bytes large. Its contents are lost if it grows. Returns 0, or
 * GCB_E_NOMEM with a message that names `what`; then the room is empty. */
int gcb_room_reserve(struct gcb_room *room, size_t size, const char *what, struct gcb_diag *diag);
void gcb_room_fini(struct gcb_room *room); /* a zeroed struct is fine */

#endif
