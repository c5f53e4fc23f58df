#include "src/tool/base/memory.h"

#include <stdlib.h>

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
