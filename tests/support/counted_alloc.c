#include "tests/support/counted_alloc.h"

#include <stdint.h>
#include <stdlib.h>

struct counted counted;

void *gcb_alloc(size_t bytes)
{
    void *p;

    if (++counted.calls == counted.fail_at || bytes > SIZE_MAX - GCB_ALIGN)
        return NULL;
    p = aligned_alloc(GCB_ALIGN, (bytes + GCB_ALIGN) / GCB_ALIGN * GCB_ALIGN);
    counted.live += p != NULL;
    return p;
}

void gcb_free(void *p)
{
    counted.live -= p != NULL;
    free(p);
}
