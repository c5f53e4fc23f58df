#include "src/lib/base/alloc.h"

#include <stdlib.h>

/* Aligns a block of malloc's. The aligned_alloc of glibc before 2.38 never reuses a block that it was given back, so a heap that
 * also has small blocks grows with every call: 100,000 messages took gigabytes. The byte before the result says how far the
 * block begins before it; malloc's alignment leaves room for it. */
void *gcb_alloc(size_t bytes)
{
    unsigned char *block = bytes > SIZE_MAX - GCB_ALIGN ? NULL : malloc(bytes + GCB_ALIGN);
    size_t shift;

    if (!block)
        return NULL;
    shift = GCB_ALIGN - (uintptr_t)block % GCB_ALIGN;
    block[shift - 1] = (unsigned char)shift;
    return block + shift;
}

void gcb_free(void *p)
{
    unsigned char *bytes = p;

    if (bytes)
        free(bytes - bytes[-1]);
}
