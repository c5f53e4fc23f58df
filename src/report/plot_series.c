#include "src/report/plot_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/alloc.h"
#include "src/base/text.h"

#define MAX_KEYS 24
#define MAX_VALUES 64
#define LABEL_WIDTH 46

/* Its place among them, from 1; 0: it is none. */
static unsigned baseline_of(const char *method)
{
    static const char *const names[] = {"fp16", "bf16", "identity"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(method, names[i]) == 0)
            return i + 1;
    return 0;
}

static bool is_memcpy(const struct gcb_plot_case *c)
{
    return strcmp(c->method, "memcpy") == 0;
}

static bool is_wanted(const struct gcb_plot_case *c, enum gcb_plot_by by)
{
    if (strcmp(c->status, "ok") != 0)
        return false;
    if (by == GCB_PLOT_BY_TIME)
        return c->encode_gbps > 0 || c->decode_gbps > 0;
    return c->bits > 0 && isfinite(c->rel_l2) && !is_memcpy(c);
}

/* Texts are unique, so their addresses tell them apart. */
static bool same_page(const struct gcb_plot_case *a, const struct gcb_plot_case *b,
                      enum gcb_plot_by by)
{
    if (a->file != b->file || a->scope != b->scope)
        return false;
    return by == GCB_PLOT_BY_ERROR ||
           (a->env == b->env && a->device == b->device && a->isa == b->isa &&
            a->cache == b->cache && a->threads == b->threads);
}

/* The first case of each page. */
static size_t first_cases(const struct gcb_plot_case *out[GCB_PLOT_PAGES],
                          const struct gcb_plot_data *data, enum gcb_plot_by by)
{
    const struct gcb_plot_case *items = data->summaries.items;
    size_t n = 0;

    for (size_t i = 0; i < data->summaries.count && n < GCB_PLOT_PAGES; i++) {
        size_t at = 0;

        if (!is_wanted(&items[i], by))
            continue;
        while (at < n && !same_page(out[at], &items[i], by))
            at++;
        if (at == n)
            out[n++] = &items[i];
    }
    return n;
}

size_t gcb_plot_case_pages(const struct gcb_plot_data *data, enum gcb_plot_by by)
{
    const struct gcb_plot_case *first[GCB_PLOT_PAGES];

    return first_cases(first, data, by);
}

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

    qsort(c->items, c->count, sizeof(*c->items), by_spec);
    for (size_t i = 0; i < c->count; i++)
        if (kept == 0 || c->items[kept - 1]->spec != c->items[i]->spec)
            c->items[kept++] = c->items[i];
    c->count = kept;
    qsort(c->items, c->count, sizeof(*c->items), by_place);
}

int gcb_plot_cases_of(struct gcb_plot_cases *out, const struct gcb_plot_data *data, size_t page,
                      enum gcb_plot_by by, struct gcb_diag *diag)
{
    const struct gcb_plot_case *items = data->summaries.items, *first[GCB_PLOT_PAGES];

    *out = (struct gcb_plot_cases){.items = NULL};
    if (page >= first_cases(first, data, by))
        return gcb_diag_set(diag, GCB_E_INVALID, "there is no such page");
    for (size_t i = 0; i < data->summaries.count; i++) {
        if (!is_wanted(&items[i], by) || !same_page(first[page], &items[i], by))
            continue;
        if (gcb_grow(&out->items, &out->cap, out->count, sizeof(*out->items)))
            return gcb_diag_nomem(diag, 0, "a plot");
        out->items[out->count++] = &items[i];
    }
    unique(out);
    return 0;
}

void gcb_plot_cases_fini(struct gcb_plot_cases *cases)
{
    gcb_free(cases->items);
    *cases = (struct gcb_plot_cases){.items = NULL};
}

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

/* Of a method's cases on this page. */
struct keys {
    struct key items[MAX_KEYS];
    size_t count;
    const struct key *curve; /* the one that runs along a curve; NULL: none */
};

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

static const char *keys_of(const char *spec)
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

static void keys_of_method(struct keys *keys, const struct gcb_plot_cases *cases,
                           const char *method, bool apart)
{
    size_t most = 1;

    keys->count = 0;
    keys->curve = NULL;
    for (size_t i = 0; i < cases->count; i++) {
        const char *at = keys_of(cases->items[i]->spec);
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

/* The method and what sets this case apart from others of it, but for where it is along its curve. */
static void label_of(char label[GCB_PLOT_LABEL], const struct gcb_plot_case *c,
                     const struct keys *keys)
{
    const char *at = keys_of(c->spec);
    struct piece name, value;

    snprintf(label, GCB_PLOT_LABEL, "%s%s", c->method,
             !baseline_of(c->method) ? ""
             : c->rel_l2 == 0.0      ? " (baseline, exact)"
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
    const char *at = keys_of(c->spec);
    struct piece name;

    while (next_key(&name, out, &at))
        if (equal(name, key->name))
            return true;
    return false;
}

/* ", theta 0.5 to 0.99" where the curve runs through numbers. */
static void append_range(struct gcb_plot_series *s, const struct gcb_plot_cases *cases,
                         const struct key *key)
{
    struct piece least = {NULL, 0}, most = {NULL, 0}, p;
    double low = INFINITY, high = -INFINITY, x;

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
    append(s->label, ", ", key->name, " ", least);
    append(s->label, " to ", most, "", (struct piece){"", 0});
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
static size_t series_for(struct gcb_plot_set *set, const char *label, const char *method)
{
    struct gcb_plot_series s = {.count = 0};
    unsigned styles = 0;

    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->items[i].label, label) == 0)
            return i;
        styles += set->items[i].style < 100;
    }
    if (gcb_grow(&set->items, &set->cap, set->count, sizeof(*set->items)))
        return SIZE_MAX;
    snprintf(s.label, sizeof(s.label), "%s", label);
    s.style = baseline_of(method) ? 100 + baseline_of(method) : styles + 1;
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
        label_of(label, cases->items[i], keys);
        placed[i].series = series_for(set, label, method);
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
    for (size_t i = 0; !err && i < cases->count; i++) {
        if (!is_first_of_method(cases, i))
            continue;
        keys_of_method(keys, cases, cases->items[i]->method, apart);
        err = place_method(out, placed, cases, cases->items[i]->method, keys);
    }
    if (err) {
        gcb_diag_nomem(diag, 0, "a plot");
        goto out;
    }
    put_in_order(out, cases, placed);
    for (size_t s = 0; !apart && s < out->count; s++) {
        keys_of_method(keys, cases, cases->items[out->items[s].first]->method, false);
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

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

void gcb_plot_machine(struct gcb_plot_page *page, const struct gcb_plot_env *env,
                      const char *device, const char *isa, double threads)
{
    const char *machine =
        *device && strcmp(device, "cpu") != 0 && *env->gpu ? env->gpu : env->cpu_model;
    char text[256], cut[256], more[64] = "";

    if (threads > 0)
        snprintf(more, sizeof(more), ", %.0f thread%s", threads, threads == 1 ? "" : "s");
    snprintf(text, sizeof(text), "%s%s%s%s%s%s", *machine ? machine : "unknown machine", more,
             *isa ? ", " : "", isa, *env->version ? ", gcbench " : "", env->version);
    gcb_plot_var_text(page, "plot_machine", gcb_plot_shorten(cut, sizeof(cut), text, 100));
}

void gcb_plot_heading(struct gcb_plot_page *page, const char *title,
                      const struct gcb_plot_data *data, const struct gcb_plot_case *like,
                      enum gcb_plot_by by)
{
    char file[128], text[256], cut[256];

    gcb_plot_var_text(page, "plot_title", title);
    gcb_plot_shorten(file, sizeof(file), name_of(like->file), 48);
    snprintf(text, sizeof(text), "%s, scope %s%s%s%s", file, like->scope,
             by == GCB_PLOT_BY_TIME && *like->cache ? ", " : "",
             by == GCB_PLOT_BY_TIME ? like->cache : "",
             by == GCB_PLOT_BY_TIME && *like->cache ? " cache" : "");
    gcb_plot_var_text(page, "plot_file", gcb_plot_shorten(cut, sizeof(cut), text, 100));
    gcb_plot_machine(page, gcb_plot_env_of(data, like->env), like->device, like->isa,
                     by == GCB_PLOT_BY_TIME ? like->threads : NAN);
}

void gcb_plot_legend(struct gcb_plot_page *page, const struct gcb_plot_set *set)
{
    char text[GCB_PLOT_LABEL];

    gcb_plot_var_real(page, "series", (double)set->count);
    gcb_plot_array_begin(page, "label", set->count);
    for (size_t i = 0; i < set->count; i++)
        gcb_plot_array_text(page,
                            gcb_plot_shorten(text, sizeof(text), set->items[i].label, LABEL_WIDTH));
    gcb_plot_array_end(page);
    gcb_plot_array_begin(page, "style", set->count);
    for (size_t i = 0; i < set->count; i++)
        gcb_plot_array_real(page, set->items[i].style);
    gcb_plot_array_end(page);
}
