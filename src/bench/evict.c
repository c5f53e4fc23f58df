#include "src/bench/evict.h"

#include <string.h>

#include "src/base/alloc.h"
#include "src/base/host.h"

#define PIECE (UINT64_C(1) << 20) /* bytes a task goes over */
#define LINE 64                   /* bytes of a cache line, or half of one: never more */

uint64_t gcb_evict_bytes(void)
{
    const uint64_t cache = gcb_host_cache(), memory = gcb_host_memory();
    const uint64_t least = UINT64_C(64) << 20, wanted = cache + cache / 4;
    const uint64_t bytes = wanted > least ? wanted : least;

    return memory && bytes > memory / 4 ? memory / 4 : bytes;
}

int gcb_evict_init(struct gcb_evict *e, const struct gcb_queue *queue, struct gcb_diag *diag)
{
    const uint64_t pieces = gcb_evict_bytes() / PIECE;

    *e = (struct gcb_evict){.bytes = pieces * PIECE, .queue = queue};
    e->data = gcb_alloc_array(pieces, PIECE);
    if (!e->data)
        return gcb_diag_nomem(diag, e->bytes, "emptying caches");
    memset(e->data, 0, e->bytes);
    return 0;
}

static void walk(void *ctx, uint64_t piece)
{
    struct gcb_evict *e = ctx;
    uint64_t *p = e->data + piece * (PIECE / sizeof(*p));

    for (size_t i = 0; i < PIECE / sizeof(*p); i += LINE / sizeof(*p))
        p[i]++;
}

void gcb_evict_run(struct gcb_evict *e)
{
    gcb_parallel(e->queue, e->bytes / PIECE, walk, e);
}

void gcb_evict_fini(struct gcb_evict *e)
{
    gcb_free(e->data);
    *e = (struct gcb_evict){0};
}
