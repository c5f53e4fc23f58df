#include "src/tool/regress/match.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"

enum level { WHOLE, WITHOUT_FOLDERS, WITHOUT_ISA, LEVELS };

/* A case that has no partner yet, in one of the two files. */
struct open_case {
    const struct gcb_case *c;
    char *key;
    size_t place; /* in its file */
    bool next;    /* of the second file */
};

static char *key_of(const struct gcb_case *c, enum level level)
{
    const char *file = c->text[GCB_CASE_FILE];
    size_t size = strlen(file) + 64, used;
    char *key;

    for (size_t i = 0; i < GCB_CASE_TEXTS; i++)
        size += strlen(c->text[i]) + 1;
    key = gcb_alloc(size);
    if (!key)
        return NULL;
    if (level == WHOLE)
        strcpy(key, file);
    else
        gcb_case_basename(key, file);
    used = strlen(key);
    for (size_t i = GCB_CASE_SCOPE; i < GCB_CASE_TEXTS; i++)
        if (level != WITHOUT_ISA || i != GCB_CASE_ISA)
            used += (size_t)snprintf(key + used, size - used, "\t%s", c->text[i]);
    /* only of a kernel does the size say which case it is */
    snprintf(key + used, size - used, "\t%" PRIu64 "\t%" PRIu64, c->threads,
             c->kernel ? c->elements : 0);
    return key;
}

static int by_key(const void *a, const void *b)
{
    const struct open_case *x = a, *y = b;
    const int keys = strcmp(x->key, y->key);

    return keys ? keys : (int)x->next - (int)y->next;
}

/* Cases without a partner under their keys, sorted. */
static int gather(struct open_case *open, size_t *count, const struct gcb_cases *cases,
                  const struct gcb_case *const *partner, enum level level, bool next)
{
    for (size_t i = 0; i < cases->count; i++) {
        if (partner[i])
            continue;
        open[*count] = (struct open_case){.c = &cases->items[i], .place = i, .next = next};
        open[*count].key = key_of(&cases->items[i], level);
        if (!open[(*count)++].key)
            return GCB_E_NOMEM;
    }
    return 0;
}

/* Partners where a key stands for one case of each. */
static void join(const struct open_case *open, size_t count, const struct gcb_case **of_base,
                 const struct gcb_case **of_next)
{
    size_t end;

    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && strcmp(open[i].key, open[end].key) == 0;)
            end++;
        if (end - i == 2 && !open[i].next && open[i + 1].next) {
            of_base[open[i].place] = open[i + 1].c;
            of_next[open[i + 1].place] = open[i].c;
        }
    }
}

static int pass(struct open_case *open, const struct gcb_cases *base,
                const struct gcb_case **of_base, const struct gcb_cases *next,
                const struct gcb_case **of_next, enum level level)
{
    size_t count = 0;
    int err = gather(open, &count, base, of_base, level, false);

    if (!err)
        err = gather(open, &count, next, of_next, level, true);
    if (!err && count) {
        qsort(open, count, sizeof(*open), by_key);
        join(open, count, of_base, of_next);
    }
    for (size_t i = 0; i < count; i++)
        gcb_free(open[i].key);
    return err;
}

static void list(struct gcb_match *out, size_t *count, const struct gcb_cases *base,
                 const struct gcb_case *const *of_base, const struct gcb_cases *next,
                 const struct gcb_case *const *of_next)
{
    for (size_t i = 0; i < base->count; i++)
        out[(*count)++] = (struct gcb_match){.base = &base->items[i], .next = of_base[i]};
    for (size_t i = 0; i < next->count; i++)
        if (!of_next[i])
            out[(*count)++] = (struct gcb_match){.next = &next->items[i]};
}

int gcb_match_cases(struct gcb_match **out, size_t *count, const struct gcb_cases *base,
                    const struct gcb_cases *next, struct gcb_diag *diag)
{
    const size_t all = base->count + next->count;
    struct open_case *open = gcb_alloc_array(all, sizeof(*open));
    const struct gcb_case **of_base = gcb_alloc_zero(base->count, sizeof(*of_base));
    const struct gcb_case **of_next = gcb_alloc_zero(next->count, sizeof(*of_next));
    int err = 0;

    *count = 0;
    *out = gcb_alloc_array(all, sizeof(**out));
    if (!open || !of_base || !of_next || !*out)
        err = GCB_E_NOMEM;
    for (int level = WHOLE; !err && level < LEVELS; level++)
        err = pass(open, base, of_base, next, of_next, (enum level)level);
    if (!err)
        list(*out, count, base, of_base, next, of_next);
    gcb_free(open);
    gcb_free(of_base);
    gcb_free(of_next);
    if (!err)
        return 0;
    gcb_free(*out);
    *out = NULL;
    return gcb_diag_nomem(diag, all * sizeof(*open), "pairing cases");
}
