#include "src/tool/plot/plot_series.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"

static bool is_memcpy(const struct gcb_plot_case *c)
{
    return strcmp(c->method, "memcpy") == 0;
}

/* Numbers of a hostile file may be anything; gnuplot does not survive all of them. */
#define LARGEST 1e30

static bool is_sane(double value)
{
    return value > 1.0 / LARGEST && value < LARGEST;
}

static bool is_by_error(const void *row)
{
    const struct gcb_plot_case *c = row;

    return strcmp(c->status, "ok") == 0 && is_sane(c->bits) && c->rel_l2 >= 0.0 &&
           c->rel_l2 < LARGEST && !is_memcpy(c);
}

static bool is_by_time(const void *row)
{
    const struct gcb_plot_case *c = row;

    return strcmp(c->status, "ok") == 0 && is_sane(c->encode_gbps) && is_sane(c->decode_gbps);
}

/* Texts are unique, so their addresses tell them apart. */
static bool same_input(const void *a, const void *b)
{
    const struct gcb_plot_case *x = a, *y = b;

    return x->file == y->file && x->scope == y->scope;
}

static bool same_run(const void *a, const void *b)
{
    const struct gcb_plot_case *x = a, *y = b;

    return same_input(x, y) && x->env == y->env && x->device == y->device && x->isa == y->isa &&
           x->cache == y->cache && gcb_plot_equal(x->threads, y->threads);
}

const struct gcb_plot_split gcb_plot_cases_by_error = {offsetof(struct gcb_plot_data, summaries),
                                                       sizeof(struct gcb_plot_case), is_by_error,
                                                       same_input};
const struct gcb_plot_split gcb_plot_cases_by_time = {
    offsetof(struct gcb_plot_data, summaries), sizeof(struct gcb_plot_case), is_by_time, same_run};

static int compare(const void *a, const void *b)
{
    return (a > b) - (a < b);
}

static int by_spec(const void *a, const void *b)
{
    const struct gcb_plot_case *const *x = a, *const *y = b;
    const int spec = compare((*x)->spec, (*y)->spec);

    return spec ? spec : compare(*x, *y);
}

static int by_place(const void *a, const void *b)
{
    const struct gcb_plot_case *const *x = a, *const *y = b;

    return compare(*x, *y);
}

/* Of cases with equal specs the first stays. */
static void unique(struct gcb_plot_cases *c)
{
    size_t kept = 0;

    if (c->count == 0)
        return; /* qsort takes no NULL */
    qsort(c->items, c->count, sizeof(*c->items), by_spec);
    for (size_t i = 0; i < c->count; i++)
        if (kept == 0 || c->items[kept - 1]->spec != c->items[i]->spec)
            c->items[kept++] = c->items[i];
    c->count = kept;
    qsort(c->items, c->count, sizeof(*c->items), by_place);
}

int gcb_plot_cases_of(struct gcb_plot_cases *out, const struct gcb_plot_data *data,
                      const struct gcb_plot_split *split, const void *first, struct gcb_diag *diag)
{
    const struct gcb_plot_case *c = NULL;

    *out = (struct gcb_plot_cases){.items = NULL};
    while ((c = gcb_plot_split_next(split, data, first, c)) != NULL) {
        if (gcb_grow(&out->items, &out->cap, out->count, sizeof(*out->items)))
            return gcb_diag_nomem(diag, 0, "a plot");
        out->items[out->count++] = c;
    }
    unique(out);
    return 0;
}

static size_t place_of(const struct gcb_plot_cases *cases, const char *spec)
{
    size_t i = 0;

    while (i < cases->count && cases->items[i]->spec != spec)
        i++;
    return i;
}

int gcb_plot_cases_add(struct gcb_plot_cases *cases, const struct gcb_plot_case *c,
                       struct gcb_diag *diag)
{
    if (place_of(cases, c->spec) < cases->count)
        return 0;
    if (gcb_grow(&cases->items, &cases->cap, cases->count, sizeof(*cases->items)))
        return gcb_diag_nomem(diag, 0, "a plot");
    cases->items[cases->count++] = c;
    return 0;
}

int gcb_plot_cases_add_spec(struct gcb_plot_cases *cases, const char *method, const char *spec,
                            struct gcb_diag *diag)
{
    struct gcb_plot_case *c;
    int err;

    cases->owned = true;
    if (place_of(cases, spec) < cases->count)
        return 0;
    c = gcb_alloc_zero(1, sizeof(*c));
    if (!c)
        return gcb_diag_nomem(diag, sizeof(*c), "a plot");
    *c = (struct gcb_plot_case){.method = method, .spec = spec, .rel_l2 = NAN};
    err = gcb_plot_cases_add(cases, c, diag);
    if (err)
        gcb_free(c);
    return err;
}

double gcb_plot_cases_take_memcpy(struct gcb_plot_cases *cases)
{
    double gbps = NAN;
    size_t kept = 0;

    for (size_t i = 0; i < cases->count; i++) {
        if (is_memcpy(cases->items[i]))
            gbps = cases->items[i]->encode_gbps;
        else
            cases->items[kept++] = cases->items[i];
    }
    cases->count = kept;
    return gbps;
}

void gcb_plot_cases_fini(struct gcb_plot_cases *cases)
{
    for (size_t i = 0; cases->owned && i < cases->count; i++)
        gcb_free((void *)(uintptr_t)cases->items[i]);
    gcb_free(cases->items);
    *cases = (struct gcb_plot_cases){.items = NULL};
}

/*
 * Labels of cases: the method, and its parameters that differ between its cases on a page. Specs are
 * "method:key=value,key=value".
 */
#define MAX_KEYS 24
#define MAX_VALUES 64

/* A piece of a spec. */
struct piece {
    const char *at;
    size_t length;
};

struct key {
    struct piece name;
    struct piece values[MAX_VALUES];
    size_t distinct;
};

/* The keys of a method's cases on a page. Specs are borrowed. */
struct keys {
    struct key items[MAX_KEYS];
    size_t count;
    const struct key *curve; /* the one with most values, which runs along a curve; or NULL */
};

unsigned gcb_plot_baseline(const char *method)
{
    static const char *const names[] = {"fp16", "bf16", "identity"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(method, names[i]) == 0)
            return i + 1;
    return 0;
}

static bool equal(struct piece a, struct piece b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* The next "name=value" of a spec; *at moves on. False at the end. */
static bool next_key(struct piece *name, struct piece *value, const char **at)
{
    const size_t n = strcspn(*at, ","), e = strcspn(*at, "=");

    if (n == 0 || e >= n)
        return false;
    *name = (struct piece){*at, e};
    *value = (struct piece){*at + e + 1, n - e - 1};
    *at += n + ((*at)[n] == ',');
    return true;
}

static const char *keys_in(const char *spec)
{
    const char *colon = strchr(spec, ':');

    return colon ? colon + 1 : "";
}

static void note_value(struct keys *keys, struct piece name, struct piece value)
{
    struct key *k = keys->items;
    size_t i = 0;

    while (k < keys->items + keys->count && !equal(k->name, name))
        k++;
    if (k == keys->items + MAX_KEYS)
        return;
    if (k == keys->items + keys->count) {
        keys->count++;
        k->name = name;
        k->distinct = 0;
    }
    while (i < k->distinct && !equal(k->values[i], value))
        i++;
    if (i == k->distinct && k->distinct < MAX_VALUES)
        k->values[k->distinct++] = value;
}

static void collect_keys(struct keys *keys, const struct gcb_plot_cases *cases, const char *method,
                         bool apart)
{
    size_t most = 1;

    keys->count = 0;
    keys->curve = NULL;
    for (size_t i = 0; i < cases->count; i++) {
        const char *at = keys_in(cases->items[i]->spec);
        struct piece name, value;

        while (cases->items[i]->method == method && next_key(&name, &value, &at))
            note_value(keys, name, value);
    }
    for (size_t k = 0; !apart && k < keys->count; k++)
        if (keys->items[k].distinct > most) {
            most = keys->items[k].distinct;
            keys->curve = &keys->items[k];
        }
}

static void append(char *label, const char *before, struct piece a, const char *between,
                   struct piece b)
{
    const size_t n = strlen(label);

    snprintf(label + n, GCB_PLOT_LABEL - n, "%s%.*s%s%.*s", before, (int)a.length, a.at, between,
             (int)b.length, b.at);
}

static void make_label(char label[GCB_PLOT_LABEL], const struct gcb_plot_case *c,
                       const struct keys *keys)
{
    const char *at = keys_in(c->spec);
    struct piece name, value;

    snprintf(label, GCB_PLOT_LABEL, "%s%s", c->method,
             !gcb_plot_baseline(c->method) ? ""
             : c->rel_l2 == 0.0            ? " (baseline, exact)"
                                           : " (baseline)");
    while (next_key(&name, &value, &at))
        for (size_t k = 0; k < keys->count; k++)
            if (&keys->items[k] != keys->curve && keys->items[k].distinct > 1 &&
                equal(keys->items[k].name, name))
                append(label, " ", name, "=", value);
}

static bool number_of(double *out, struct piece p)
{
    char text[32];

    if (p.length >= sizeof(text))
        return false;
    memcpy(text, p.at, p.length);
    text[p.length] = '\0';
    return gcb_parse_real(text, out);
}

static bool value_at(struct piece *out, const struct gcb_plot_case *c, const struct key *key)
{
    const char *at = keys_in(c->spec);
    struct piece name;

    while (next_key(&name, out, &at))
        if (equal(name, key->name))
            return true;
    return false;
}

static void append_range(struct gcb_plot_series *s, const struct gcb_plot_cases *cases,
                         const struct key *key)
{
    struct piece least = {NULL, 0}, most = {NULL, 0}, p;
    double low = INFINITY, high = -INFINITY, x;
    size_t used;

    for (size_t i = 0; i < s->count; i++) {
        if (!value_at(&p, cases->items[s->first + i], key) || !number_of(&x, p))
            return;
        least = x < low ? p : least;
        most = x > high ? p : most;
        low = fmin(low, x);
        high = fmax(high, x);
    }
    if (low == high || !least.at || !most.at)
        return;
    used = strlen(s->label);
    append(s->label, ", ", key->name, " ", least);
    append(s->label, " to ", most, "", (struct piece){"", 0});
    if (gcb_text_columns(s->label) > GCB_PLOT_LABEL_WIDTH)
        s->label[used] = '\0';
}

char *gcb_plot_spec_text(char out[32], const char *spec, const char *key)
{
    const char *at = keys_in(spec);
    struct piece name, value;

    out[0] = '\0';
    while (next_key(&name, &value, &at))
        if (name.length == strlen(key) && memcmp(name.at, key, name.length) == 0)
            snprintf(out, 32, "%.*s", (int)value.length, value.at);
    return out;
}

double gcb_plot_spec_real(const char *spec, const char *key)
{
    char text[32];
    double value;

    return gcb_parse_real(gcb_plot_spec_text(text, spec, key), &value) ? value : NAN;
}

struct placed {
    const struct gcb_plot_case *item;
    size_t series, place;
};

static int by_curve(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->series != y->series)
        return (x->series > y->series) - (x->series < y->series);
    if (x->item->bits != y->item->bits)
        return (x->item->bits > y->item->bits) - (x->item->bits < y->item->bits);
    return (x->place > y->place) - (x->place < y->place);
}

/* The series of this label, added if there is none yet; SIZE_MAX: no memory. */
static size_t series_for(struct gcb_plot_set *set, const char *label, const char *method,
                         bool apart)
{
    struct gcb_plot_series s = {.count = 0};
    unsigned styles = 0;

    for (size_t i = 0; i < set->count; i++) {
        if (!apart && strcmp(set->items[i].label, label) == 0)
            return i;
        styles += set->items[i].style < 100;
    }
    if (gcb_grow(&set->items, &set->cap, set->count, sizeof(*set->items)))
        return SIZE_MAX;
    snprintf(s.label, sizeof(s.label), "%s", label);
    s.style = gcb_plot_baseline(method) ? 100 + gcb_plot_baseline(method) : styles + 1;
    set->items[set->count] = s;
    return set->count++;
}

/* Puts the cases of one method into series. */
static int place_method(struct gcb_plot_set *set, struct placed *placed,
                        const struct gcb_plot_cases *cases, const char *method,
                        const struct keys *keys)
{
    char label[GCB_PLOT_LABEL];

    for (size_t i = 0; i < cases->count; i++) {
        if (cases->items[i]->method != method)
            continue;
        make_label(label, cases->items[i], keys);
        placed[i].series = series_for(set, label, method, !keys->curve);
        if (placed[i].series == SIZE_MAX)
            return GCB_E_NOMEM;
        set->items[placed[i].series].count++;
    }
    return 0;
}

static bool is_first_of_method(const struct gcb_plot_cases *cases, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (cases->items[j]->method == cases->items[i]->method)
            return false;
    return true;
}

/* Methods in the order of their first cases, baselines last. */
static int place_all(struct gcb_plot_set *set, struct placed *placed,
                     const struct gcb_plot_cases *cases, struct keys *keys, bool apart)
{
    int err = 0;

    for (size_t i = 0; !err && i < 2 * cases->count; i++) {
        const size_t at = i % cases->count;
        const char *method = cases->items[at]->method;

        if ((gcb_plot_baseline(method) != 0) != (i >= cases->count) ||
            !is_first_of_method(cases, at))
            continue;
        collect_keys(keys, cases, method, apart);
        err = place_method(set, placed, cases, method, keys);
    }
    return err;
}

static void put_in_order(struct gcb_plot_set *set, struct gcb_plot_cases *cases,
                         struct placed *placed)
{
    size_t at = 0;

    qsort(placed, cases->count, sizeof(*placed), by_curve);
    for (size_t i = 0; i < cases->count; i++)
        cases->items[i] = placed[i].item;
    for (size_t s = 0; s < set->count; s++) {
        set->items[s].first = at;
        at += set->items[s].count;
    }
}

int gcb_plot_set_of(struct gcb_plot_set *out, struct gcb_plot_cases *cases, bool apart,
                    struct gcb_diag *diag)
{
    struct placed *placed = gcb_alloc_zero(cases->count, sizeof(*placed));
    struct keys *keys = gcb_alloc(sizeof(*keys));
    int err = placed && keys ? 0 : GCB_E_NOMEM;

    *out = (struct gcb_plot_set){.items = NULL};
    for (size_t i = 0; !err && i < cases->count; i++) {
        placed[i].item = cases->items[i];
        placed[i].place = i;
    }
    err = err ? err : place_all(out, placed, cases, keys, apart);
    if (err) {
        gcb_diag_nomem(diag, 0, "a plot");
        goto out;
    }
    put_in_order(out, cases, placed);
    for (size_t s = 0; !apart && s < out->count; s++) {
        collect_keys(keys, cases, cases->items[out->items[s].first]->method, false);
        if (keys->curve)
            append_range(&out->items[s], cases, keys->curve);
    }
out:
    gcb_free(placed);
    gcb_free(keys);
    return err;
}

void gcb_plot_set_fini(struct gcb_plot_set *set)
{
    gcb_free(set->items);
    *set = (struct gcb_plot_set){.items = NULL};
}
