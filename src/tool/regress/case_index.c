#include "src/tool/regress/case_index.h"

#include <string.h>
#include <xxhash.h>

#include "src/lib/base/alloc.h"

/* Does text t belong to the identity? GCB_CASE_FILES follows from GCB_CASE_FILE. */
static bool counts(enum gcb_case_identity identity, size_t t)
{
    if (t == GCB_CASE_FILE || t == GCB_CASE_FILES)
        return (t == GCB_CASE_FILE) == (identity == GCB_SAME_ALL);
    return t != GCB_CASE_ISA || identity != GCB_SAME_WITHOUT_ISA;
}

static uint64_t hash(const struct gcb_case *c, enum gcb_case_identity identity)
{
    uint64_t h = 0;

    for (size_t t = 0; t < GCB_CASE_TEXTS; t++)
        if (counts(identity, t))
            h = XXH3_64bits_withSeed(c->text[t], strlen(c->text[t]), h);
    return h;
}

static bool same(const struct gcb_case *a, const struct gcb_case *b,
                 enum gcb_case_identity identity)
{
    for (size_t t = 0; t < GCB_CASE_TEXTS; t++)
        if (counts(identity, t) && strcmp(a->text[t], b->text[t]) != 0)
            return false;
    return true;
}

int gcb_case_index_init(struct gcb_case_index *index, const struct gcb_case *cases, size_t count,
                        enum gcb_case_identity identity)
{
    *index = (struct gcb_case_index){.cases = cases, .identity = identity, .size = 64};
    while (index->size / 2 < count)
        index->size *= 2;
    index->places = gcb_alloc_zero(index->size, sizeof(*index->places));
    return index->places ? 0 : GCB_E_NOMEM;
}

void gcb_case_index_fini(struct gcb_case_index *index)
{
    gcb_free(index->places);
    *index = (struct gcb_case_index){.places = NULL};
}

/* The place of a case, which is empty if the index has none with its identity. */
static struct gcb_case_place *find_place(const struct gcb_case_index *index,
                                         const struct gcb_case *c)
{
    for (uint64_t h = hash(c, index->identity);; h++) {
        struct gcb_case_place *place = &index->places[h & (index->size - 1)];

        if (!place->number || same(&index->cases[place->number - 1], c, index->identity))
            return place;
    }
}

struct gcb_case_place *gcb_case_index_add(struct gcb_case_index *index, size_t i)
{
    struct gcb_case_place *place = find_place(index, &index->cases[i]);

    if (place->number)
        place->several = true;
    else
        place->number = i + 1;
    return place;
}

const struct gcb_case_place *gcb_case_index_find(const struct gcb_case_index *index,
                                                 const struct gcb_case *c)
{
    const struct gcb_case_place *place = find_place(index, c);

    return place->number ? place : NULL;
}
