#include "src/tool/measure/evict.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/host.h"
#include "src/tool/base/memory.h"

#define PIECE (UINT64_C(1) << 20)    /* bytes of the walk's buffer that one task reads and writes */
#define LINE 64                      /* bytes: no longer than any cache line */
#define MAPS_BYTES ((size_t)1 << 18) /* /proc/self/maps must have fewer bytes */
/* A walk is faster if the process has more memory than this many times walk_bytes(). */
#define MOST_FLUSHED 4

/* Size of the walk's buffer: 1.25 times the last-level cache, at least 64 MiB, at most a quarter of
 * memory. */
static uint64_t walk_bytes(void)
{
    const uint64_t cache = gcb_host_cache(), memory = gcb_host_memory();
    const uint64_t least = UINT64_C(64) << 20, wanted = cache + cache / 4;
    const uint64_t bytes = wanted > least ? wanted : least;

    return memory && bytes > memory / 4 ? memory / 4 : bytes;
}

/* ---- the process's own memory ---- */

/* Reads /proc/self/maps into e->maps; "" if reading fails or the file is too long. */
static void read_maps(struct gcb_evict *e)
{
    FILE *f = fopen("/proc/self/maps", "re");
    const size_t used = f ? fread(e->maps, 1, MAPS_BYTES, f) : 0;

    e->maps[used == MAPS_BYTES || (f && ferror(f)) ? 0 : used] = '\0';
    if (f)
        fclose(f);
}

/* Finds the next private, writable area in the text of /proc/self/maps: a line "from-to rw-p ..."
 * or "from-to rwxp ...". Moves *text past the line. Returns false if there is none. */
static bool next_area(const char **text, uintptr_t *from, uintptr_t *to)
{
    while (**text) {
        const char *line = *text;
        char *end;

        *text += strcspn(line, "\n");
        *text += **text == '\n';
        *from = (uintptr_t)strtoull(line, &end, 16);
        if (*end != '-')
            continue;
        *to = (uintptr_t)strtoull(end + 1, &end, 16);
        if (strncmp(end, " rw", 3) == 0 && end[4] == 'p' && *to > *from)
            return true;
    }
    return false;
}

/* Returns the total bytes of the private, writable areas. */
static uint64_t private_bytes(const struct gcb_evict *e)
{
    const char *text = e->maps;
    uintptr_t from, to;
    uint64_t bytes = 0;

    while (next_area(&text, &from, &to))
        bytes += to - from;
    return bytes;
}

/* Flushes the process's memory from the caches and stores its size in e->bytes. Returns false, and
 * flushes nothing, if a walk must empty the caches instead. */
static bool flush_own(struct gcb_evict *e)
{
    const char *text = e->maps;
    uintptr_t from, to;
    uint64_t bytes;

    read_maps(e);
    bytes = private_bytes(e);
    if (bytes == 0 || bytes / MOST_FLUSHED > walk_bytes())
        return false;
    while (next_area(&text, &from, &to))
        e->flush.lines((const void *)from, to - from);
    e->bytes = bytes;
    return true;
}

/* ---- the walk ---- */

/* Allocates the walk's buffer, and turns flushing off for all later calls of gcb_evict_run. */
static int take_memory(struct gcb_evict *e, struct gcb_diag *diag)
{
    const uint64_t pieces = walk_bytes() / PIECE;

    e->flush.lines = NULL;
    e->bytes = pieces * PIECE;
    e->data = gcb_alloc_array(pieces, PIECE);
    if (!e->data)
        return gcb_diag_nomem(diag, e->bytes, "emptying caches");
    memset(e->data, 0, e->bytes);
    return 0;
}

/* Reads and writes each cache line of a piece. */
static void walk(void *ctx, uint64_t piece)
{
    struct gcb_evict *e = ctx;
    uint64_t *p = e->data + piece * (PIECE / sizeof(*p));

    for (size_t i = 0; i < PIECE / sizeof(*p); i += LINE / sizeof(*p))
        p[i]++;
}

/* ---- emptying the caches in either way ---- */

int gcb_evict_init(struct gcb_evict *e, const struct gcb_queue *queue, unsigned cpu_flags,
                   struct gcb_diag *diag)
{
    *e = (struct gcb_evict){.queue = queue};
    gcb_flush_init(&e->flush, cpu_flags);
    if (!e->flush.lines)
        return take_memory(e, diag);
    e->maps = gcb_must_array(MAPS_BYTES + 1, 1);

    return flush_own(e) ? 0 : take_memory(e, diag);
}

int gcb_evict_run(struct gcb_evict *e, struct gcb_diag *diag)
{
    if (e->flush.lines && flush_own(e))
        return 0;
    if (!e->data) {
        const int err = take_memory(e, diag);

        if (err)
            return err;
    }
    gcb_parallel(e->queue, e->bytes / PIECE, walk, e);
    return 0;
}

void gcb_evict_fini(struct gcb_evict *e)
{
    gcb_free(e->data);
    gcb_free(e->maps);
    *e = (struct gcb_evict){0};
}
