#include "src/lib/base/alloc.h"

#include <stdlib.h>

#ifdef __SANITIZE_ADDRESS__
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif

#ifdef ADDRESS_SANITIZER
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
#else
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
#endif
