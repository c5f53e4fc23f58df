#include "src/lib/base/alloc.h"

#include <stdlib.h>

/* Aligns a block from malloc. Before version 2.38, glibc's aligned_alloc never reuses freed blocks,
 * so a heap that also has small blocks grows with every call: 100,000 messages took gigabytes. The
 * result lies 1 to GCB_ALIGN bytes after the start of malloc's block, and the byte before the
 * result stores this distance. */
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
