#include <string.h>
#include <sys/mman.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/status.h"

/* Functions that allocate by calling gcb_alloc and gcb_free. They are not in alloc.c, so that a
 * test can replace alloc.c. */

void *gcb_alloc_array(uint64_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return gcb_alloc(bytes);
}

void *gcb_alloc_huge(uint64_t count, size_t size)
{
    void *p = gcb_alloc_array(count, size);
#ifdef MADV_HUGEPAGE
    const uintptr_t mask = ((uintptr_t)1 << 21) - 1, first = ((uintptr_t)p + mask) & ~mask;
    const uintptr_t end = ((uintptr_t)p + count * size) & ~mask;

    if (p && first < end)
        madvise((void *)first, end - first, MADV_HUGEPAGE); /* a failure does not matter */
#endif
    return p;
}

void *gcb_alloc_zero(uint64_t count, size_t size)
{
    void *p = gcb_alloc_array(count, size);

    if (p)
        memset(p, 0, count * size);
    return p;
}

bool gcb_has_room(uint64_t count, size_t size)
{
    void *probe = gcb_alloc_array(count, size);

    gcb_free(probe);
    return probe;
}

char *gcb_strndup(const char *s, size_t n)
{
    char *copy = gcb_alloc(n + 1);

    if (!copy)
        return NULL;
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *gcb_strdup(const char *s)
{
    return gcb_strndup(s, strlen(s));
}

int gcb_grow(void *items, size_t *cap, size_t count, size_t size)
{
    const size_t want = *cap ? *cap * 2 : 16;
    void *old, *bigger;

    if (count < *cap)
        return 0;
    bigger = gcb_alloc_array(want, size);
    if (!bigger)
        return GCB_E_NOMEM;
    memcpy(&old, items, sizeof(old)); /* the C standard forbids reading a `T *` as a `void *` */
    if (count)
        memcpy(bigger, old, count * size);
    gcb_free(old);
    memcpy(items, &bigger, sizeof(bigger));
    *cap = want;
    return 0;
}
