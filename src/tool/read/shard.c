#include "src/tool/read/layout.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

int gcb_shard_parse(struct gcb_shard *out, const char *text, struct gcb_diag *diag)
{
    const char *slash = text ? strchr(text, '/') : NULL;
    uint64_t index = 0, count = 0;
    char first[24];

    *out = (struct gcb_shard){0};
    if (!text)
        return 0;
    snprintf(first, sizeof(first), "%.*s", slash ? (int)(slash - text) : 0, text);
    if (!slash || slash - text >= (ptrdiff_t)sizeof(first) || !gcb_parse_u64(first, &index) ||
        !gcb_parse_u64(slash + 1, &count) || count == 0 || count > GCB_SHARDS_MOST)
        return gcb_invalid(
            diag, "--shard takes I/N, such as 0/8 for the first of 8 shards (at most %d), not '%s'",
            GCB_SHARDS_MOST, gcb_show(text).text);
    if (index >= count)
        return gcb_invalid(
            diag, "--shard %s: shards are numbered from 0, so the last is %" PRIu64 "/%" PRIu64,
            gcb_show(text).text, count - 1, count);
    *out = (struct gcb_shard){(uint32_t)index, (uint32_t)count};
    return 0;
}

struct sized {
    uint64_t elements; /* of a message */
    size_t index;      /* of this message in the layout */
};

static int largest_first(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;

    if (x->elements != y->elements)
        return x->elements < y->elements ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Sets mine[i] if message i belongs to the shard. `order` lists the messages, the largest first. If
 * there are more shards than messages, only the first shards get a message. */
static void deal(bool *mine, const struct sized *order, size_t count, const struct gcb_shard *shard)
{
    const size_t shards = count < shard->count ? count : shard->count;
    uint64_t *loads = gcb_must_zero(shards, sizeof(*loads)); /* elements of each shard so far */

    for (size_t i = 0; i < count; i++) {
        size_t least = 0;

        for (size_t k = 1; k < shards; k++)
            if (loads[k] < loads[least])
                least = k;
        mine[order[i].index] = least == shard->index;
        loads[least] += order[i].elements;
    }
    gcb_free(loads);
}

/* Returns the fingerprint (struct gcb_layout) of a layout that still has the messages of all
 * shards. */
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

void gcb_shard_layout(struct gcb_layout *layout, const struct gcb_source *source,
                      const struct gcb_shard *shard)
{
    const size_t count = layout->count;
    struct gcb_message_plan *m = layout->messages;
    struct sized *order;
    bool *mine;

    if (shard->count == 0)
        return;
    order = gcb_must_array(count, sizeof(*order));
    mine = gcb_must_zero(count, sizeof(*mine));

    for (size_t i = 0; i < count; i++)
        order[i] = (struct sized){m[i].count, i};
    qsort(order, count, sizeof(*order), largest_first);
    deal(mine, order, count, shard);

    layout->all_count = count;
    layout->fingerprint = fingerprint_of(layout, source);
    layout->count = layout->largest = 0;
    for (size_t i = 0; i < count; i++)
        if (mine[i]) {
            layout->largest = m[i].count > layout->largest ? m[i].count : layout->largest;
            m[layout->count++] = m[i];
        }
    gcb_free(order);
    gcb_free(mine);
}
