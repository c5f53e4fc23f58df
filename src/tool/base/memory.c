#include "src/tool/base/memory.h"

#include <stdlib.h>

#include "src/lib/base/alloc.h"

void (*gcb_no_memory)(void) = abort;

static void *check(void *block)
{
    if (!block)
        gcb_no_memory();
    return block;
}

void *gcb_must_array(uint64_t count, size_t size)
{
    return check(gcb_alloc_array(count, size));
}

void *gcb_must_zero(uint64_t count, size_t size)
{
    return check(gcb_alloc_zero(count, size));
}

void gcb_must_grow(void *items, size_t *cap, size_t count, size_t size)
{
    if (gcb_grow(items, cap, count, size))
        gcb_no_memory();
}

char *gcb_must_strdup(const char *s)
{
    return check(gcb_strdup(s));
}

char *gcb_must_strndup(const char *s, size_t n)
{
    return check(gcb_strndup(s, n));
}

int gcb_room_reserve(struct gcb_room *room, size_t size, const char *what, struct gcb_diag *diag)
{
    if (room->size >= size)
        return 0;
    gcb_room_fini(room);
    room->block = gcb_alloc(size);
    if (!room->block)
        return gcb_diag_nomem(diag, size, what);
    room->size = size;
    return 0;
}

void gcb_room_fini(struct gcb_room *room)
{
    gcb_free(room->block);
    *room = (struct gcb_room){0};
}
