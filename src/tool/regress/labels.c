#include "src/tool/regress/labels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/method.h"

/* What is not the same for all cases. */
struct varied {
    const struct gcb_case *first;
    bool text[GCB_CASE_TEXTS];
    bool threads;
};

static bool same_file(const char *a, const char *b)
{
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');

    return strcmp(x ? x + 1 : a, y ? y + 1 : b) == 0;
}

static void see(struct varied *v, const struct gcb_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++) {
        const struct gcb_case *c = &cases->items[i];

        v->first = v->first ? v->first : c;
        v->threads |= c->threads != v->first->threads;
        v->text[GCB_CASE_FILE] |= !same_file(c->text[GCB_CASE_FILE], v->first->text[GCB_CASE_FILE]);
        for (size_t t = GCB_CASE_SCOPE; t < GCB_CASE_TEXTS; t++)
            v->text[t] |= strcmp(c->text[t], v->first->text[t]) != 0;
    }
}

static void add(char *out, size_t size, const char *text)
{
    const size_t used = strlen(out);

    if (text[0])
        snprintf(out + used, size - used, "%s%s", used ? " " : "", text);
}

static int label(struct gcb_case *c, const struct varied *v)
{
    char out[1024], number[40], *file = gcb_strdup(c->text[GCB_CASE_FILE]);

    if (!file)
        return GCB_E_NOMEM;
    if (!c->kernel) {
        gcb_method_label(out, sizeof(out), c->text[GCB_CASE_SPEC]);
    } else {
        snprintf(out, sizeof(out), "%s", c->text[GCB_CASE_SPEC]);
        snprintf(number, sizeof(number), "n=%" PRIu64, c->elements);
        add(out, sizeof(out), number);
    }
    if (v->text[GCB_CASE_FILE])
        add(out, sizeof(out), gcb_case_basename(file, c->text[GCB_CASE_FILE]));
    gcb_free(file);
    for (size_t t = GCB_CASE_SCOPE; t < GCB_CASE_TEXTS; t++)
        if (t != GCB_CASE_SPEC && v->text[t])
            add(out, sizeof(out), c->text[t]);
    snprintf(number, sizeof(number), "t%" PRIu64, c->threads);
    if (v->threads)
        add(out, sizeof(out), number);
    return gcb_case_set(&c->label, out);
}

static int by_label(const void *a, const void *b)
{
    return strcmp((*(struct gcb_case *const *)a)->label, (*(struct gcb_case *const *)b)->label);
}

static int whole_name(struct gcb_case *c)
{
    const size_t size = strlen(c->text[GCB_CASE_FILE]) + strlen(c->name) + 2;
    char *name = gcb_alloc(size);

    if (!name)
        return GCB_E_NOMEM;
    snprintf(name, size, "%s %s", c->text[GCB_CASE_FILE], c->name);
    gcb_free(c->label);
    c->label = name;
    return 0;
}

/* Cases of one run under one label go by their whole names. */
static int tell_apart(struct gcb_cases *cases)
{
    struct gcb_case **order = gcb_alloc_array(cases->count, sizeof(*order));
    size_t end;
    int err = 0;

    if (!order)
        return GCB_E_NOMEM;
    for (size_t i = 0; i < cases->count; i++)
        order[i] = &cases->items[i];
    if (cases->count)
        qsort(order, cases->count, sizeof(struct gcb_case *), by_label);
    for (size_t i = 0; !err && i < cases->count; i = end) {
        for (end = i + 1; end < cases->count && by_label(&order[i], &order[end]) == 0;)
            end++;
        for (size_t j = i; !err && end - i > 1 && j < end; j++)
            err = whole_name(order[j]);
    }
    gcb_free(order);
    return err;
}

int gcb_cases_label(struct gcb_cases *base, struct gcb_cases *next, struct gcb_diag *diag)
{
    struct gcb_cases *const both[] = {base, next};
    struct varied v = {.first = NULL};
    int err = 0;

    for (size_t b = 0; b < 2; b++)
        see(&v, both[b]);
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; !err && i < both[b]->count; i++)
            err = label(&both[b]->items[i], &v);
        if (!err)
            err = tell_apart(both[b]);
    }
    return err ? gcb_diag_nomem(diag, 0, "labels") : 0;
}
