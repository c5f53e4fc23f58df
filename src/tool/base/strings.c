#include "src/tool/base/strings.h"

#include <search.h>
#include <string.h>

#include "src/tool/base/memory.h"

enum { STRING_BLOCK = 64 << 10 }; /* bytes of a block, unless one string is longer */

const char *gcb_strings_add(struct gcb_strings *s, const char *text, size_t n)
{
    /* Size of a new block. The last block also has this size if it has room for the string, because
     * a block of another size holds one long string and is full. */
    const size_t block = n + 1 > STRING_BLOCK ? n + 1 : STRING_BLOCK;
    char *at;

    if (s->left < n + 1) {
        gcb_must_grow(&s->blocks, &s->cap, s->count, sizeof(*s->blocks));
        s->blocks[s->count++] = gcb_must_array(block, 1);
        s->left = block;
    }
    at = s->blocks[s->count - 1] + (block - s->left);
    s->left -= n + 1;
    memcpy(at, text, n);
    at[n] = '\0';
    return at;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

const char *gcb_strings_keep(struct gcb_strings *s, const char *text)
{
    const char *const *found = tfind(text, &s->kept, by_text);

    if (!found) {
        text = gcb_strings_add(s, text, strlen(text));
        found = tsearch(text, &s->kept, by_text);
    }
    if (!found)
        gcb_no_memory();
    return *found;
}

static void free_nothing(void *text)
{
    (void)text;
}

void gcb_strings_fini(struct gcb_strings *s)
{
    tdestroy(s->kept, free_nothing); /* the blocks hold the texts */
    for (size_t i = 0; i < s->count; i++)
        gcb_free(s->blocks[i]);
    gcb_free(s->blocks);
    memset(s, 0, sizeof(*s));
}
