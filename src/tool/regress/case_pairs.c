#include "src/tool/regress/case_pairs.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/base/columns.h"
#include "src/tool/regress/case_index.h"

/* ---- pairing ---- */

#define UNPAIRED SIZE_MAX

/* The cases of both files are numbered together: base's cases come first. */
struct pairing {
    const struct gcb_cases *base, *next;
    size_t count;    /* number of cases in both files */
    size_t *partner; /* for each case: its partner's number, or UNPAIRED */
};

static const struct gcb_case *case_at(const struct pairing *p, size_t index)
{
    if (index == UNPAIRED)
        return NULL;
    return index < p->base->count ? &p->base->items[index]
                                  : &p->next->items[index - p->base->count];
}

/* Makes an index of the unpaired cases of one file, whose numbers begin at `first`. GCB_E_NOMEM. */
static int index_unpaired(struct gcb_case_index *out, const struct pairing *p,
                          const struct gcb_cases *cases, size_t first,
                          enum gcb_case_identity identity)
{
    const int err = gcb_case_index_init(out, cases->items, cases->count, identity);

    for (size_t i = 0; !err && i < cases->count; i++)
        if (p->partner[first + i] == UNPAIRED)
            gcb_case_index_add(out, i);
    return err;
}

/* Pairs two cases with the same identity, if each is the only case of its file with that identity. GCB_E_NOMEM. */
static int pair_by(struct pairing *p, enum gcb_case_identity identity)
{
    struct gcb_case_index base = {.cases = NULL}, next = {.cases = NULL};
    int err = index_unpaired(&base, p, p->base, 0, identity);

    if (!err)
        err = index_unpaired(&next, p, p->next, p->base->count, identity);
    for (size_t i = 0; !err && i < p->base->count; i++) {
        const struct gcb_case *c = &p->base->items[i];
        const struct gcb_case_place *own, *other;

        if (p->partner[i] != UNPAIRED)
            continue;
        own = gcb_case_index_find(&base, c);
        other = gcb_case_index_find(&next, c);
        if (own->several || !other || other->several)
            continue;
        p->partner[i] = p->base->count + other->number - 1;
        p->partner[p->partner[i]] = i;
    }
    gcb_case_index_fini(&base);
    gcb_case_index_fini(&next);
    return err;
}

int gcb_pair_cases(struct gcb_case_pair **out, size_t *count, const struct gcb_cases *base,
                   const struct gcb_cases *next, struct gcb_diag *diag)
{
    struct pairing p = {.base = base, .next = next, .count = base->count + next->count};
    int err;

    *count = 0;
    *out = gcb_alloc_array(p.count, sizeof(**out));
    p.partner = gcb_alloc_array(p.count, sizeof(*p.partner));
    err = *out && p.partner ? 0 : GCB_E_NOMEM;
    for (size_t i = 0; !err && i < p.count; i++)
        p.partner[i] = UNPAIRED;
    for (int i = GCB_SAME_ALL; !err && i < GCB_CASE_IDENTITIES; i++)
        err = pair_by(&p, (enum gcb_case_identity)i);
    for (size_t i = 0; !err && i < p.count; i++)
        if (i < base->count)
            (*out)[(*count)++] = (struct gcb_case_pair){case_at(&p, i), case_at(&p, p.partner[i])};
        else if (p.partner[i] == UNPAIRED)
            (*out)[(*count)++] = (struct gcb_case_pair){.next = case_at(&p, i)};
    gcb_free(p.partner);
    if (!err)
        return 0;
    gcb_free(*out);
    *out = NULL;
    return gcb_diag_nomem(diag, p.count * sizeof(*p.partner), "pairing cases");
}

/* ---- files without a common case ---- */

/* What may differ between two files. Settings of different methods are not compared. */
enum property { KIND, FILES, METHOD, SETTING, SCOPE, DEVICE, CACHE, THREADS, PROPERTIES };

/* A case's value of the property. */
static const char *find_value(const struct gcb_case *c, enum property property)
{
    const char *const texts[PROPERTIES] = {
        [KIND] = c->kernel     ? "kernels"
                 : c->exchange ? "exchanges"
                               : "methods",
        [FILES] = c->text[GCB_CASE_FILES],
        [METHOD] = c->method[0] ? c->method : c->text[GCB_CASE_SPEC],
        [SETTING] = c->text[GCB_CASE_SPEC],
        [SCOPE] = c->text[GCB_CASE_SCOPE],
        [DEVICE] = c->text[GCB_CASE_DEVICE],
        [CACHE] = c->text[GCB_CASE_CACHE],
        [THREADS] = c->text[GCB_CASE_THREADS] + 1, /* "4" of "t4" */
    };

    return texts[property];
}

/* Does any value of the property appear in both files? GCB_E_NOMEM. */
static int share_value(bool *out, const struct gcb_cases *base, const struct gcb_cases *next,
                       enum property property)
{
    json_t *values = json_object(); /* the keys are base's values */
    int err = values ? 0 : GCB_E_NOMEM;

    for (size_t i = 0; !err && i < base->count; i++)
        if (json_object_set_new_nocheck(values, find_value(&base->items[i], property), json_true()))
            err = GCB_E_NOMEM;
    *out = false;
    for (size_t i = 0; !err && i < next->count; i++)
        *out |= json_object_get(values, find_value(&next->items[i], property)) != NULL;
    json_decref(values);
    return err;
}

/* Appends "different files (b.h5, was a.h5)", from the first case of each file. */
static void append_difference(char *out, size_t size, const struct gcb_cases *base,
                              const struct gcb_cases *next, enum property property)
{
    static const char *const names[PROPERTIES] = {
        [KIND] = "kinds of cases", [FILES] = "files",
        [METHOD] = "methods",      [SETTING] = "settings",
        [SCOPE] = "scopes",        [DEVICE] = "devices",
        [CACHE] = "caches",        [THREADS] = "numbers of threads"};
    const char *values[] = {find_value(next->items, property), find_value(base->items, property)};
    char is[80], was[80], labels[2][1024];

    for (size_t i = 0; property == SETTING && i < 2; i++)
        values[i] = gcb_method_label(labels[i], sizeof(labels[i]), values[i]);
    gcb_append(out, size, "%sdifferent %s (%s, was %s)", out[0] ? ", " : "", names[property],
               gcb_text_shorten(is, sizeof(is), values[0], 36),
               gcb_text_shorten(was, sizeof(was), values[1], 36));
}

/* Names every property whose values the two files do not share. GCB_E_NOMEM. */
static int describe_differences(char *out, size_t size, const struct gcb_cases *base,
                                const struct gcb_cases *next)
{
    bool shared[PROPERTIES] = {false};
    int err = 0;

    out[0] = '\0';
    for (enum property i = 0; !err && i < PROPERTIES; i++) {
        err = share_value(&shared[i], base, next, i);
        if (!err && !shared[i] && (i != SETTING || shared[METHOD]))
            append_difference(out, size, base, next, i);
        if (i == KIND && !shared[i])
            break;
    }
    if (!out[0])
        snprintf(out, size, "both have the same values, but never in the same combination");
    return err;
}

int gcb_cases_check_common(const struct gcb_cases *base, const char *base_name,
                           const struct gcb_cases *next, const char *next_name,
                           struct gcb_diag *diag)
{
    char words[240], names[2][64];
    struct gcb_case_pair *pairs = NULL;
    bool common = false;
    size_t count = 0;
    int err = gcb_pair_cases(&pairs, &count, base, next, diag);

    for (size_t i = 0; i < count; i++)
        common |= pairs[i].base && pairs[i].next;
    gcb_free(pairs);
    if (err || common)
        return err;
    if (describe_differences(words, sizeof(words), base, next))
        return gcb_diag_nomem(diag, 0, "values of cases");
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "%s and %s have no case in common: %s; run `bench` with the same files and "
                        "options for both",
                        gcb_escape(names[0], sizeof(names[0]), base_name),
                        gcb_escape(names[1], sizeof(names[1]), next_name), words);
}
