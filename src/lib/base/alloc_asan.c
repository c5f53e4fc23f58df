#include "src/lib/base/alloc.h"

#include <stdlib.h>

/* Builds with AddressSanitizer use this file instead of alloc.c. */

/* Nothing is added to the block, so that the sanitizer sees a write past its end. */
void *gcb_alloc(size_t bytes)
{
    void *p;

    return posix_memalign(&p, GCB_ALIGN, bytes ? bytes : 1) ? NULL : p;
}

void gcb_free(void *p)
{
    free(p);
}
