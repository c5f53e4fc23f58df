#include "src/tool/search/sweep.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/search/vary.h"

#define MAX_KEYS 16

struct sweep {
    struct gcb_vary vary[MAX_KEYS];
    bool used[MAX_KEYS];
    size_t keys;
    struct gcb_method *out;
    size_t count, cap;
    /* of the method at hand */
    const struct gcb_method *method;
    struct gcb_values values[MAX_KEYS]; /* none where it lacks the key */
    size_t combinations, first;         /* of them; the first setting that came of one */
};

static int parse(struct sweep *s, const char *const *vary, size_t count, struct gcb_diag *diag)
{
    if (count > MAX_KEYS)
        return gcb_diag_set(diag, GCB_E_INVALID, "--vary: at most %d keys", MAX_KEYS);
    for (s->keys = 0; s->keys < count; s->keys++) {
        const int err = gcb_vary_parse(&s->vary[s->keys], vary[s->keys], diag);

        if (err)
            return err;
        for (size_t k = 0; k < s->keys; k++)
            if (strcmp(s->vary[k].key, s->vary[s->keys].key) == 0)
                return gcb_diag_set(diag, GCB_E_INVALID, "--vary: '%s' is given twice",
                                    s->vary[k].key);
    }
    return 0;
}

/* The row that has the key, as its name or a complement. */
static const struct gcb_param *row_of(const struct gcb_method *m, const char *key)
{
    bool complement;
    const struct gcb_param *p = gcb_param_find(m->codec->params, key, &complement);

    return p ? p : gcb_param_find(gcb_memory_table, key, &complement);
}

static void release_values(struct sweep *s)
{
    for (size_t k = 0; k < s->keys; k++)
        gcb_values_fini(&s->values[k]);
}

/* Values of every key that the method has. */
static int prepare(struct sweep *s, struct gcb_diag *diag)
{
    s->combinations = 1;
    for (size_t k = 0; k < s->keys; k++) {
        const struct gcb_param *p = row_of(s->method, s->vary[k].key);
        const int err = p ? gcb_vary_values(&s->values[k], &s->vary[k], p, diag) : 0;

        if (err)
            return err;
        if (p)
            s->combinations *= s->values[k].count;
        if (s->combinations > GCB_SWEEP_MAX - s->count)
            return gcb_diag_set(diag, GCB_E_INVALID, "--vary: more than %d settings in all",
                                GCB_SWEEP_MAX);
    }
    return 0;
}

/* Value of key k in combination number `which`; the last key varies fastest. */
static const char *value_at(const struct sweep *s, size_t k, size_t which)
{
    for (size_t i = s->keys; i-- > k + 1;)
        if (s->values[i].count)
            which /= s->values[i].count;
    return s->values[k].text[which % s->values[k].count];
}

static bool same(const struct gcb_method *a, const struct gcb_method *b)
{
    for (size_t row = 0; gcb_method_param(a, row); row++)
        if (a->value[row] != b->value[row])
            return false;
    return true;
}

/* One combination, unless it is there already. */
static int add(struct sweep *s, size_t which, struct gcb_diag *diag)
{
    int err = gcb_grow(&s->out, &s->cap, s->count, sizeof(*s->out));
    struct gcb_method *m;

    if (err)
        return gcb_diag_nomem(diag, sizeof(*m), "settings");
    m = &s->out[s->count];
    *m = *s->method;
    for (size_t k = 0; !err && k < s->keys; k++)
        if (s->values[k].count)
            err = gcb_method_set(m, s->vary[k].key, value_at(s, k, which), diag);
    for (size_t k = 0; !err && k < s->keys; k++)
        if (s->values[k].count)
            s->used[k] |= !gcb_method_withdraw(m, s->method, s->vary[k].key);
    if (err)
        return err;
    for (size_t i = s->first; i < s->count; i++)
        if (same(&s->out[i], m))
            return 0;
    s->count++;
    return 0;
}

static int expand_method(struct sweep *s, struct gcb_diag *diag)
{
    int err = prepare(s, diag);

    s->first = s->count;
    for (size_t i = 0; !err && i < s->combinations; i++)
        err = add(s, i, diag);
    release_values(s);
    return err;
}

/* A key that the user may have meant, of those that the methods have. */
static const char *suggest(const char *key, const struct gcb_method *methods, size_t count)
{
    const char *names[256];
    size_t n = 0;

    for (size_t m = 0; m < count; m++)
        for (size_t row = 0; n < 256 && gcb_method_param(&methods[m], row); row++)
            names[n++] = gcb_method_param(&methods[m], row)->name;
    return gcb_suggest(key, names, n);
}

static int check_used(const struct sweep *s, const struct gcb_method *methods, size_t count,
                      struct gcb_diag *diag)
{
    char shown[GCB_VARY_TEXT + 8];

    for (size_t k = 0; k < s->keys; k++) {
        const char *key = s->vary[k].key, *near = suggest(key, methods, count);

        if (s->used[k])
            continue;
        gcb_escape(shown, sizeof(shown), key);
        return near && strcmp(near, key) != 0
                   ? gcb_diag_set(diag, GCB_E_INVALID,
                                  "--vary %s: no method given has that; did you mean '%s'?", shown,
                                  near)
                   : gcb_diag_set(diag, GCB_E_INVALID,
                                  "--vary %s: no method given has that, or a use for it", shown);
    }
    return 0;
}

/* Some setting has to be one that its method takes; the others end alone when they are run. */
static int check_standing(const struct sweep *s, struct gcb_diag *diag)
{
    for (size_t i = 0; i < s->count; i++)
        if (gcb_method_check(&s->out[i], NULL) == 0)
            return 0;
    return s->count ? gcb_method_check(&s->out[0], diag) : 0;
}

int gcb_sweep_expand(struct gcb_method **out, size_t *count, const struct gcb_method *methods,
                     size_t method_count, const char *const *vary, size_t vary_count,
                     struct gcb_diag *diag)
{
    struct sweep *s = gcb_alloc_zero(1, sizeof(*s));
    int err = s ? parse(s, vary, vary_count, diag) : gcb_diag_nomem(diag, sizeof(*s), "a sweep");

    *out = NULL;
    *count = 0;
    for (size_t i = 0; !err && i < method_count; i++) {
        s->method = &methods[i];
        err = expand_method(s, diag);
    }
    if (!err)
        err = check_used(s, methods, method_count, diag);
    if (!err)
        err = check_standing(s, diag);
    if (!err) {
        *out = s->out;
        *count = s->count;
        s->out = NULL;
    }
    if (s)
        gcb_free(s->out);
    gcb_free(s);
    return err;
}

bool gcb_sweep_default(const struct gcb_method *m)
{
    return m->codec->params && (m->preset || !m->codec->presets);
}
