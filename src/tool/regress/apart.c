#include "src/tool/regress/apart.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/regress/match.h"

/* What tells cases apart. Of methods that differ nobody asks how they are set. */
enum thing { KIND, FILES, METHOD, SETTING, SCOPE, DEVICE, CACHE, THREADS, THINGS };

/* A case's value of it; the caller's to free. NULL: no memory. */
static char *value_of(const struct gcb_case *c, enum thing thing)
{
    const char *const texts[THINGS] = {
        [KIND] = c->kernel ? "kernels" : "methods",
        [FILES] = c->text[GCB_CASE_FILE],
        [METHOD] = c->method[0] ? c->method : c->text[GCB_CASE_SPEC],
        [SETTING] = c->text[GCB_CASE_SPEC],
        [SCOPE] = c->text[GCB_CASE_SCOPE],
        [DEVICE] = c->text[GCB_CASE_DEVICE],
        [CACHE] = c->text[GCB_CASE_CACHE],
    };
    char number[32], *out;

    snprintf(number, sizeof(number), "%" PRIu64, c->threads);
    out = gcb_strdup(texts[thing] ? texts[thing] : number);
    if (out && thing == FILES)
        gcb_case_basename(out, texts[thing]);
    return out;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All values of one file, sorted. GCB_E_NOMEM. */
static int values_of(char **out, const struct gcb_cases *cases, enum thing thing)
{
    for (size_t i = 0; i < cases->count; i++)
        if (!(out[i] = value_of(&cases->items[i], thing)))
            return GCB_E_NOMEM;
    qsort(out, cases->count, sizeof(*out), by_text);
    return 0;
}

static void free_values(char **values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        gcb_free(values[i]);
    gcb_free(values);
}

/* Does any case of one file have the value that any of the other has? */
static int shared(bool *out, const struct gcb_cases *base, const struct gcb_cases *next,
                  enum thing thing)
{
    char **a = gcb_alloc_zero(base->count, sizeof(*a)),
         **b = gcb_alloc_zero(next->count, sizeof(*b));
    size_t i = 0, j = 0;
    int err = !a || !b || values_of(a, base, thing) || values_of(b, next, thing) ? GCB_E_NOMEM : 0;

    *out = false;
    while (!err && !*out && i < base->count && j < next->count) {
        const int order = strcmp(a[i], b[j]);

        *out = order == 0;
        i += order < 0;
        j += order > 0;
    }
    free_values(a, base->count);
    free_values(b, next->count);
    return err;
}

static void add(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add(char *out, size_t size, const char *format, ...)
{
    const size_t used = strlen(out);
    va_list args;

    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

/* "another file (b.h5, was a.h5)": the first case of each stands for all. */
static int say_other(char *out, size_t size, const struct gcb_cases *base,
                     const struct gcb_cases *next, enum thing thing)
{
    static const char *const names[THINGS] = {"kind",  "file",   "method", "setting",
                                              "scope", "device", "cache",  "number of threads"};
    char *was = value_of(base->items, thing), *is = value_of(next->items, thing);
    char cut[2][80];

    if (was && is)
        add(out, size, "%sanother %s (%s, was %s)", out[0] ? ", " : "", names[thing],
            gcb_text_shorten(cut[0], sizeof(cut[0]), is, 36),
            gcb_text_shorten(cut[1], sizeof(cut[1]), was, 36));
    gcb_free(was);
    gcb_free(is);
    return was && is ? 0 : GCB_E_NOMEM;
}

/* Everything of which the two have no value in common. */
static int differences(char *out, size_t size, const struct gcb_cases *base,
                       const struct gcb_cases *next)
{
    bool same[THINGS] = {false};
    int err = 0;

    out[0] = '\0';
    for (enum thing i = 0; !err && i < THINGS; i++) {
        err = shared(&same[i], base, next, i);
        if (!err && !same[i] && (i != SETTING || same[METHOD]))
            err = say_other(out, size, base, next, i);
        if (i == KIND && !same[i])
            break;
    }
    if (!out[0])
        add(out, size, "files, methods and settings of one do not come together in the other");
    return err;
}

static bool any(const struct gcb_match *matches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (matches[i].base && matches[i].next)
            return true;
    return false;
}

int gcb_cases_meet(const struct gcb_cases *base, const char *base_name,
                   const struct gcb_cases *next, const char *next_name, struct gcb_diag *diag)
{
    char words[240], names[2][64];
    struct gcb_match *matches = NULL;
    size_t count = 0;
    int err = gcb_match_cases(&matches, &count, base, next, diag);

    if (!err && !any(matches, count)) {
        err = differences(words, sizeof(words), base, next);
        if (err)
            gcb_diag_nomem(diag, 0, "values of cases");
        else
            err = gcb_diag_set(
                diag, GCB_E_INVALID,
                "%s and %s have no case in common: %s; give `bench` the same files and "
                "options for both",
                gcb_escape(names[0], sizeof(names[0]), base_name),
                gcb_escape(names[1], sizeof(names[1]), next_name), words);
    }
    gcb_free(matches);
    return err;
}
