#include "src/tool/read/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

int gcb_shard_parse(struct gcb_shard *out, const char *text, struct gcb_diag *diag)
{
    const char *slash = text ? strchr(text, '/') : NULL;
    uint64_t index = 0, count = 0;
    char first[24], shown[64];

    *out = (struct gcb_shard){0};
    if (!text)
        return 0;
    snprintf(first, sizeof(first), "%.*s", slash ? (int)(slash - text) : 0, text);
    if (!slash || !gcb_parse_u64(first, &index) || !gcb_parse_u64(slash + 1, &count) ||
        count == 0 || count > GCB_SHARDS_MOST)
        return gcb_diag_set(
            diag, GCB_E_INVALID,
            "--shard takes I/N, such as 0/8 for the first of 8 shards (at most %d), "
            "not '%s'",
            GCB_SHARDS_MOST, gcb_escape(shown, sizeof(shown), text));
    if (index >= count)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--shard %s: shards are numbered from 0, so the last is %" PRIu64
                            "/%" PRIu64,
                            gcb_escape(shown, sizeof(shown), text), count - 1, count);
    *out = (struct gcb_shard){(uint32_t)index, (uint32_t)count};
    return 0;
}

/* A message, and its place in the list. */
struct sized {
    uint64_t elements;
    size_t place;
};

static int largest_first(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;

    if (x->elements != y->elements)
        return x->elements < y->elements ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

/* The elements of a shard so far. */
struct load {
    uint64_t elements;
    uint32_t shard;
};

static bool is_lighter(const struct load *a, const struct load *b)
{
    return a->elements != b->elements ? a->elements < b->elements : a->shard < b->shard;
}

/* Restores the heap of loads, the lightest first, after the first load has grown. */
static void sift(struct load *heap, size_t count)
{
    for (size_t at = 0, child = 1; child < count; at = child, child = 2 * at + 1) {
        struct load load = heap[at];

        if (child + 1 < count && is_lighter(&heap[child + 1], &heap[child]))
            child++;
        if (is_lighter(&load, &heap[child]))
            return;
        heap[at] = heap[child];
        heap[child] = load;
    }
}

/* Sets mine[i] for the messages that belong to the shard. `order` lists the messages, the largest
 * first. */
static int deal(bool *mine, const struct sized *order, size_t count, const struct gcb_shard *shard)
{
    struct load *heap = gcb_alloc_array(shard->count, sizeof(*heap));

    if (!heap)
        return GCB_E_NOMEM;
    for (uint32_t i = 0; i < shard->count; i++)
        heap[i] = (struct load){0, i};
    for (size_t i = 0; i < count; i++) {
        mine[order[i].place] = heap[0].shard == shard->index;
        heap[0].elements += order[i].elements;
        sift(heap, shard->count);
    }
    gcb_free(heap);
    return 0;
}

static uint64_t fingerprint_of(const struct gcb_layout *layout, const struct gcb_source *source)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < layout->count; i++) {
        const struct gcb_message_plan *m = &layout->messages[i];
        const uint64_t facts[] = {m->step, m->worker, m->count, m->input_bytes, m->dense, hash};

        hash = XXH3_64bits(facts, sizeof(facts));
        for (size_t k = 0; k < m->piece_count; k++) {
            const struct gcb_tensor *t = gcb_source_tensor(source, m->pieces[k].tensor);

            hash = XXH3_64bits_withSeed(t->path, strlen(t->path), hash ^ t->count);
        }
    }
    return hash;
}

int gcb_shard_layout(struct gcb_layout *layout, const struct gcb_source *source,
                     const struct gcb_shard *shard, struct gcb_diag *diag)
{
    const size_t count = layout->count;
    struct gcb_message_plan *m = layout->messages;
    struct sized *order = gcb_alloc_array(count, sizeof(*order));
    bool *mine = gcb_alloc_zero(count, sizeof(*mine));
    int err = order && mine ? 0 : GCB_E_NOMEM;

    if (shard->count == 0 || err)
        goto out;
    for (size_t i = 0; i < count; i++)
        order[i] = (struct sized){m[i].count, i};
    qsort(order, count, sizeof(*order), largest_first);
    err = deal(mine, order, count, shard);
    if (err)
        goto out;
    layout->all_count = count;
    layout->fingerprint = fingerprint_of(layout, source);
    layout->count = layout->largest = 0;
    for (size_t i = 0; i < count; i++)
        if (mine[i]) {
            layout->largest = m[i].count > layout->largest ? m[i].count : layout->largest;
            m[layout->count++] = m[i];
        }
out:
    gcb_free(order);
    gcb_free(mine);
    return err ? gcb_diag_nomem(diag, count * sizeof(*order), "the messages of a shard") : 0;
}
