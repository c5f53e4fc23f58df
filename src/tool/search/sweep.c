#include "src/tool/search/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/search/rate.h"

/* A range of values of a real or whole number. */
struct range {
    const struct gcb_vary *v;
    const struct gcb_param *p;
    bool complement;       /* the key is the name of the parameter's complement */
    bool steps_complement; /* the steps are of the complement, not of the parameter */
    double low, high;      /* ends of the range, of the complement if steps_complement */
};

/* ---- parsing --vary ---- */

/* Copies the first n bytes of a text. Returns false if there are none or too many. */
static bool copy_text(char out[GCB_VARY_TEXT], const char *from, size_t n)
{
    if (n == 0 || n >= GCB_VARY_TEXT)
        return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

/* Parses "COUNT" or "COUNTlog". Returns false for any other text. */
static bool parse_count(struct gcb_vary *v, const char *text)
{
    const size_t n = strspn(text, "0123456789");
    char digits[GCB_VARY_TEXT];

    v->log = strcmp(text + n, "log") == 0;
    return (text[n] == '\0' || v->log) && copy_text(digits, text, n) &&
           gcb_parse_u64(digits, &v->count) && v->count > 0;
}

/* Parses "LO..HI/COUNT" or "LO..HI/COUNTlog". Returns false for any other text. */
static bool parse_range(struct gcb_vary *v, const char *text)
{
    const char *dots = strstr(text, ".."), *slash = strrchr(text, '/');

    return dots && slash && slash > dots && copy_text(v->low, text, (size_t)(dots - text)) &&
           copy_text(v->high, dots + 2, (size_t)(slash - dots - 2)) && parse_count(v, slash + 1);
}

int gcb_vary_parse(struct gcb_vary *out, const char *text, struct gcb_diag *diag)
{
    const size_t n = strcspn(text, "=");
    char shown[96];

    memset(out, 0, sizeof(*out));
    gcb_escape(shown, sizeof(shown), text);
    if (text[n] != '=' || !copy_text(out->key, text, n) || !text[n + 1])
        return gcb_invalid(diag, "--vary takes KEY=v1,v2,... or KEY=LO..HI/COUNT, not '%s'", shown);
    if (!strstr(text + n, ".."))
        out->list = text + n + 1;
    else if (!parse_range(out, text + n + 1))
        return gcb_invalid(diag, "--vary %s: a range is LO..HI/COUNT or LO..HI/COUNTlog", shown);
    if (out->count <= GCB_VARY_MAX)
        return 0;
    return gcb_invalid(diag, "--vary %s: a range has at most %d values", shown, GCB_VARY_MAX);
}

/* ---- values of one key ---- */

/* Adds a value, unless the list has it. */
static int add_value(struct gcb_value_list *out, const struct gcb_vary *v, const char *text,
                     struct gcb_diag *diag)
{
    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->text[i], text) == 0)
            return 0;
    if (out->count == GCB_VARY_MAX)
        return gcb_invalid(diag, "--vary %s: at most %d values", v->key, GCB_VARY_MAX);
    gcb_must_grow(&out->text, &out->cap, out->count, sizeof(*out->text));
    snprintf(out->text[out->count++], GCB_VARY_TEXT, "%s", text);
    return 0;
}

/* Lists the values of "v1,v2,...". */
static int list_values(struct gcb_value_list *out, const struct gcb_vary *v, struct gcb_diag *diag)
{
    const char *p = v->list;
    char text[GCB_VARY_TEXT];
    int err = 0;

    do {
        const size_t n = strcspn(p, ",");

        if (!copy_text(text, p, n))
            return gcb_invalid(diag, "--vary %s: a value is empty or longer than %d bytes", v->key,
                               GCB_VARY_TEXT - 1);
        err = add_value(out, v, text, diag);
        p += n;
    } while (!err && *p++ == ',');
    return err;
}

/* Parses the ends of a range, and checks that its values can be made. */
static int read_range(struct range *r, const struct gcb_vary *v, const struct gcb_param *p,
                      struct gcb_diag *diag)
{
    int err;

    r->v = v;
    r->p = p;
    r->complement = strcmp(v->key, p->name) != 0;
    r->steps_complement = r->complement || (v->log && p->complement[0]);
    err = gcb_param_parse(&r->low, p, v->key, v->low, diag);
    if (!err)
        err = gcb_param_parse(&r->high, p, v->key, v->high, diag);
    if (err)
        return err;
    if (r->steps_complement) {
        r->low = 1.0 - r->low;
        r->high = 1.0 - r->high;
    }
    if (v->count == 1 && r->low != r->high)
        return gcb_invalid(
            diag, "--vary %s=%s..%s: a range with two different ends needs at least 2 values",
            v->key, v->low, v->high);
    if (v->log && !(r->low > 0.0 && r->high > 0.0))
        return gcb_invalid(diag, "--vary %s=%s..%s: log needs ends above 0", v->key, v->low,
                           v->high);
    return 0;
}

/* Writes a number of the range as a value of the key. Numbers from 1e-11 to 1e5 are rounded to five
 * significant digits, all others are not rounded. */
static void real_text(char out[GCB_VARY_TEXT], const struct range *r, double value)
{
    /* power of ten of the fifth digit; 1 (not rounded) if the value is not above 0 */
    const int exponent = value > 0.0 ? (int)floor(log10(value)) - 4 : 1;
    const bool complement = r->steps_complement && !r->complement;

    if (exponent >= -15 && exponent <= 0) /* the range of gcb_decimal with a complement */
        value = gcb_decimal((uint64_t)rint(value * pow(10.0, -exponent)), exponent, complement);
    else if (complement)
        value = 1.0 - value;
    gcb_real_text(out, value);
}

/* Writes value number i of the range, which is not the first or the last. */
static void step_text(char out[GCB_VARY_TEXT], const struct range *r, uint64_t i)
{
    const double share = (double)i / (double)(r->v->count - 1), span = r->high - r->low;
    const double value = r->v->log ? r->low * pow(r->high / r->low, share) : r->low + span * share;

    if (r->p->type == GCB_PARAM_REAL)
        real_text(out, r, value);
    else
        gcb_real_text(out, rint(value));
}

/* Lists the values of "LO..HI/COUNT". */
static int range_values(struct gcb_value_list *out, const struct gcb_vary *v,
                        const struct gcb_param *p, struct gcb_diag *diag)
{
    char text[GCB_VARY_TEXT];
    struct range r;
    int err;

    if (gcb_param_is_text(p))
        return gcb_invalid(diag, "--vary %s takes names, not a range: %s=a,b", v->key, v->key);
    err = read_range(&r, v, p, diag);
    if (!err)
        err = add_value(out, v, v->low, diag);
    for (uint64_t i = 1; !err && i + 1 < v->count; i++) {
        step_text(text, &r, i);
        err = add_value(out, v, text, diag);
    }
    return err ? err : add_value(out, v, v->high, diag);
}

int gcb_vary_values(struct gcb_value_list *out, const struct gcb_vary *v, const struct gcb_param *p,
                    struct gcb_diag *diag)
{
    memset(out, 0, sizeof(*out));
    return v->list ? list_values(out, v, diag) : range_values(out, v, p, diag);
}

void gcb_value_list_fini(struct gcb_value_list *v)
{
    gcb_free(v->text);
    memset(v, 0, sizeof(*v));
}

/* ---- combinations ---- */

#define MAX_KEYS 16  /* most --vary of a command */
#define MAX_NAMES 64 /* most parameters of a method from which a suggestion is chosen */

struct sweep {
    struct gcb_vary vary[MAX_KEYS];
    bool used[MAX_KEYS]; /* the key has an effect in some setting */
    size_t keys;
    struct gcb_method *out;
    size_t count, cap;
    bool full;                              /* there are more than GCB_SWEEP_MAX settings */
    const struct gcb_method *method;        /* the current method; the members below are about it */
    struct gcb_value_list values[MAX_KEYS]; /* empty if the method lacks the key */
    size_t combinations;
    size_t first; /* index in `out` of the method's first setting */
};

static int parse_keys(struct sweep *s, const char *const *vary, size_t count, struct gcb_diag *diag)
{
    if (count > MAX_KEYS)
        return gcb_invalid(diag, "--vary: at most %d keys", MAX_KEYS);
    for (s->keys = 0; s->keys < count; s->keys++) {
        const int err = gcb_vary_parse(&s->vary[s->keys], vary[s->keys], diag);

        if (err)
            return err;
        for (size_t k = 0; k < s->keys; k++)
            if (strcmp(s->vary[k].key, s->vary[s->keys].key) == 0)
                return gcb_invalid(diag, "--vary: '%s' is given twice", s->vary[k].key);
    }
    return 0;
}

/* Lists the values of each key that the method has, and counts their combinations. */
static int list_values_of_keys(struct sweep *s, struct gcb_diag *diag)
{
    s->combinations = 1;
    for (size_t k = 0; k < s->keys; k++) {
        const struct gcb_param *p = gcb_method_find(s->method, s->vary[k].key);
        const int err = p ? gcb_vary_values(&s->values[k], &s->vary[k], p, diag) : 0;

        if (err)
            return err;
        if (p)
            s->combinations *= s->values[k].count;
        s->full = s->combinations > GCB_SWEEP_MAX - s->count;
        if (s->full)
            return gcb_invalid(diag, "--vary: more than %d settings; give fewer values",
                               GCB_SWEEP_MAX);
    }
    return 0;
}

/* Returns the value of key number k in combination number `which`. The last key varies fastest, so
 * `which` is divided by the number of values of each key after k. */
static const char *value_at(const struct sweep *s, size_t k, size_t which)
{
    for (size_t i = s->keys; i-- > k + 1;)
        if (s->values[i].count)
            which /= s->values[i].count;
    return s->values[k].text[which % s->values[k].count];
}

/* Adds a combination, unless the method has an equal setting already. */
static int add_setting(struct sweep *s, size_t which, struct gcb_diag *diag)
{
    const char *pairs[2 * MAX_KEYS]; /* `count` pairs of a key and its value */
    size_t key[MAX_KEYS], count = 0; /* key[i]: number of the key of pair i */
    bool used[MAX_KEYS] = {false};   /* used[i]: pair i has an effect */
    struct gcb_method *m;
    int err;

    gcb_must_grow(&s->out, &s->cap, s->count, sizeof(*s->out));
    m = &s->out[s->count];
    *m = *s->method;
    for (size_t k = 0; k < s->keys; k++)
        if (s->values[k].count) {
            pairs[2 * count] = s->vary[k].key;
            pairs[2 * count + 1] = value_at(s, k, which);
            key[count++] = k;
        }
    err = gcb_method_set_all(m, pairs, count, used, diag);
    if (err)
        return err;
    for (size_t i = 0; i < count; i++)
        s->used[key[i]] |= used[i];
    for (size_t i = s->first; i < s->count; i++)
        if (gcb_method_equal(&s->out[i], m))
            return 0;
    s->count++;
    return 0;
}

/* Adds all combinations of the current method. */
static int expand_method(struct sweep *s, struct gcb_diag *diag)
{
    int err = list_values_of_keys(s, diag);

    s->first = s->count;
    for (size_t i = 0; !err && i < s->combinations; i++)
        err = add_setting(s, i, diag);
    for (size_t k = 0; k < s->keys; k++)
        gcb_value_list_fini(&s->values[k]);
    return err;
}

/* Returns the parameter name that the user may have meant, or NULL. */
static const char *suggest_key(const char *key, const struct gcb_method *methods, size_t count)
{
    const char *near = NULL;

    for (size_t m = 0; m < count && !near; m++) {
        const char *names[MAX_NAMES];
        size_t n = 0;

        while (n < MAX_NAMES && gcb_method_param(&methods[m], n)) {
            names[n] = gcb_method_param(&methods[m], n)->name;
            n++;
        }
        near = gcb_suggest(key, names, n);
    }
    return near;
}

/* Fails if a key has no effect in any setting. */
static int check_used(const struct sweep *s, const struct gcb_method *methods, size_t count,
                      struct gcb_diag *diag)
{
    char shown[GCB_VARY_TEXT + 8];

    for (size_t k = 0; k < s->keys; k++) {
        const char *key = s->vary[k].key, *near = suggest_key(key, methods, count);

        if (s->used[k])
            continue;
        gcb_escape(shown, sizeof(shown), key);
        if (near && strcmp(near, key) != 0)
            return gcb_invalid(diag,
                               "--vary %s: no method given has this parameter; did you mean '%s'?",
                               shown, near);
        return gcb_invalid(diag,
                           "--vary %s: no method given has this parameter, or it has no effect "
                           "with the method's other values",
                           shown);
    }
    return 0;
}

/* Fails if no setting is valid. If only some are invalid, the run reports them. */
static int check_any_valid(const struct sweep *s, struct gcb_diag *diag)
{
    for (size_t i = 0; i < s->count; i++)
        if (gcb_method_check(&s->out[i], NULL) == 0)
            return 0;
    return s->count ? gcb_method_check(&s->out[0], diag) : 0;
}

int gcb_sweep_expand(struct gcb_method **out, size_t *count, const struct gcb_method *methods,
                     size_t method_count, bool all, const char *const *vary, size_t vary_count,
                     struct gcb_diag *diag)
{
    struct sweep *s = gcb_must_zero(1, sizeof(*s));
    bool refused = false; /* a method was left out, and `diag` says why */
    int err;

    *out = NULL;
    *count = 0;
    err = parse_keys(s, vary, vary_count, diag);
    for (size_t i = 0; !err && i < method_count; i++) {
        bool used[MAX_KEYS];

        memcpy(used, s->used, sizeof(used));
        s->method = &methods[i];
        err = expand_method(s, diag);
        if (err == GCB_E_INVALID && all && !s->full) {
            memcpy(s->used, used, sizeof(used));
            s->count = s->first;
            refused = true;
            err = 0;
        }
    }
    if (!err)
        err = check_used(s, methods, method_count, refused ? NULL : diag);
    if (!err)
        err = check_any_valid(s, diag);
    if (!err) {
        *out = s->out;
        *count = s->count;
        s->out = NULL;
    }
    gcb_free(s->out);
    gcb_free(s);
    return err;
}

bool gcb_sweep_default(const struct gcb_method *m)
{
    struct gcb_method other;

    for (size_t i = 0; !m->preset && gcb_method_at(&other, i); i++)
        if (other.preset && other.codec == m->codec &&
            memcmp(other.value, m->value, sizeof(m->value)) == 0)
            return false;
    return m->codec->params && !m->codec->baseline;
}

void gcb_pareto_mark(bool *mark, const struct gcb_pareto_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct gcb_pareto_point *p = &points[i];

        mark[i] = !isnan(p->error) && !isnan(p->bits);
        for (size_t k = 0; mark[i] && k < count; k++)
            mark[i] = !(points[k].error <= p->error && points[k].bits <= p->bits &&
                        (points[k].error < p->error || points[k].bits < p->bits));
    }
}
