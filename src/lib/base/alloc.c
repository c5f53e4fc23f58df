#include "src/lib/base/alloc.h"

#include <stdlib.h>

void *gcb_alloc(size_t bytes)
{
    if (bytes > SIZE_MAX - GCB_ALIGN)
        return NULL;
    /* aligned_alloc takes a multiple of the alignment */
    return aligned_alloc(GCB_ALIGN, (bytes + GCB_ALIGN) / GCB_ALIGN * GCB_ALIGN);
}

void gcb_free(void *p)
{
    free(p);
}
