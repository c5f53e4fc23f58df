#include "src/tool/base/strings.h"

#include <stdint.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/alloc.h"

enum { STRING_BLOCK = 64 << 10 };

const char *gcb_strings_add(struct gcb_strings *s, const char *text, size_t n)
{
    const size_t block = n + 1 > STRING_BLOCK ? n + 1 : STRING_BLOCK;
    char *at;

    if (s->left < n + 1) {
        if (gcb_grow(&s->blocks, &s->cap, s->count, sizeof(*s->blocks)) != 0)
            return NULL;
        s->blocks[s->count] = gcb_alloc(block);
        if (!s->blocks[s->count])
            return NULL;
        s->count++;
        s->left = block;
    }
    at = s->blocks[s->count - 1] + (block - s->left);
    s->left -= n + 1;
    memcpy(at, text, n);
    at[n] = '\0';
    return at;
}

/* Where a text is in the table, or the empty place where it belongs. */
static const char **find_place(const struct gcb_strings *s, const char *text)
{
    uint64_t h = XXH3_64bits(text, strlen(text));

    for (;; h++) {
        const char **place = &s->table[h & (s->table_size - 1)];

        if (!*place || strcmp(*place, text) == 0)
            return place;
    }
}

/* Doubles the table. */
static int widen_table(struct gcb_strings *s)
{
    struct gcb_strings wider = {.table_size = s->table_size ? 2 * s->table_size : 64};

    wider.table = gcb_alloc_zero(wider.table_size, sizeof(*wider.table));
    if (!wider.table)
        return -1;
    for (size_t i = 0; i < s->table_size; i++)
        if (s->table[i])
            *find_place(&wider, s->table[i]) = s->table[i];
    gcb_free(s->table);
    s->table = wider.table;
    s->table_size = wider.table_size;
    return 0;
}

const char *gcb_strings_keep(struct gcb_strings *s, const char *text)
{
    const char **place;

    if (s->kept >= s->table_size / 2 && widen_table(s))
        return NULL;
    place = find_place(s, text);
    if (*place)
        return *place;
    *place = gcb_strings_add(s, text, strlen(text));
    s->kept += *place != NULL;
    return *place;
}

void gcb_strings_fini(struct gcb_strings *s)
{
    for (size_t i = 0; i < s->count; i++)
        gcb_free(s->blocks[i]);
    gcb_free(s->blocks);
    gcb_free(s->table);
    memset(s, 0, sizeof(*s));
}
