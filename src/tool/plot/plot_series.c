#include "src/tool/plot/plot_series.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/rows/labels.h"

static bool is_memcpy(const struct gcb_plot_record *c)
{
    return strcmp(c->method, "memcpy") == 0;
}

/* A hostile file may contain any number, and gnuplot fails for very large and very small numbers. */
#define LARGEST 1e30

static bool is_sane(double value)
{
    return value > 1.0 / LARGEST && value < LARGEST;
}

static bool has_error(const struct gcb_plot_record *c)
{
    return strcmp(c->status, "ok") == 0 && c->rel_l2 >= 0.0 && c->rel_l2 < LARGEST;
}

static bool is_by_error(const struct gcb_plot_record *c)
{
    return has_error(c) && is_sane(c->bits) && !is_memcpy(c);
}

static bool is_by_time(const struct gcb_plot_record *c)
{
    return strcmp(c->status, "ok") == 0 && is_sane(c->encode_gbps) && is_sane(c->decode_gbps);
}

static bool is_by_both(const struct gcb_plot_record *c)
{
    return is_by_time(c) && has_error(c) && is_sane(c->ratio);
}

/* Texts are interned, so it is enough to compare their addresses. */
static bool same_input(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->file == b->file && a->scope == b->scope;
}

static bool same_run(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return same_input(a, b) && a->env == b->env && a->device == b->device && a->isa == b->isa &&
           a->cache == b->cache && gcb_plot_equal(a->threads, b->threads);
}

const struct gcb_plot_split gcb_plot_cases_by_error = {GCB_RECORD_SUMMARY, is_by_error, same_input,
                                                       NULL},
                            gcb_plot_cases_by_time = {GCB_RECORD_SUMMARY, is_by_time, same_run,
                                                      NULL},
                            gcb_plot_cases_by_both = {GCB_RECORD_SUMMARY, is_by_both, same_run,
                                                      NULL};

int gcb_plot_set_add(struct gcb_plot_set *set, const struct gcb_plot_record *row,
                     struct gcb_diag *diag)
{
    struct gcb_plot_cases *cases = &set->cases;

    for (size_t i = 0; i < cases->count; i++)
        if (cases->items[i]->setting == row->setting)
            return 0;
    if (gcb_grow(&cases->items, &cases->cap, cases->count, sizeof(*cases->items)))
        return gcb_diag_nomem(diag, 0, "a plot");
    cases->items[cases->count++] = row;
    return 0;
}

int gcb_plot_set_collect(struct gcb_plot_set *set, const struct gcb_plot_data *data,
                         const struct gcb_plot_split *split, const struct gcb_plot_record *first,
                         bool apart, struct gcb_diag *diag)
{
    const struct gcb_plot_record *row = NULL;
    int err = 0;

    set->memcpy_gbps = NAN;
    while (!err && (row = gcb_plot_split_next(split, data, first, row)) != NULL) {
        if (is_memcpy(row))
            set->memcpy_gbps = row->encode_gbps;
        else
            err = gcb_plot_set_add(set, row, diag);
    }
    return err ? err : gcb_plot_set_divide(set, apart, diag);
}

void gcb_plot_set_fini(struct gcb_plot_set *set)
{
    gcb_free(set->cases.items);
    gcb_free(set->items);
    *set = (struct gcb_plot_set){.items = NULL};
}

/* A key or a value in a spec "method:key=value,key=value". The text is borrowed. */
struct piece {
    const char *at;
    size_t length;
};

static bool equal(struct piece a, struct piece b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static const char *keys_in(const char *spec)
{
    const char *colon = strchr(spec, ':');

    return colon ? colon + 1 : "";
}

/* Takes the next "name=value" at *at in a spec and advances *at. Returns false at the end. */
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

static bool find_value(struct piece *out, const char *spec, struct piece wanted)
{
    const char *at = keys_in(spec);
    struct piece name;

    while (next_key(&name, out, &at))
        if (equal(name, wanted))
            return true;
    return false;
}

char *gcb_plot_spec_text(char out[32], const char *spec, const char *key)
{
    struct piece value = {"", 0};

    if (find_value(&value, spec, (struct piece){key, strlen(key)}))
        snprintf(out, 32, "%.*s", (int)value.length, value.at);
    else
        out[0] = '\0';
    return out;
}

double gcb_plot_spec_real(const char *spec, const char *key)
{
    char text[32];
    double value;

    return gcb_parse_real(gcb_plot_spec_text(text, spec, key), &value) ? value : NAN;
}

/* The keys in the specs of a method's cases on a page, with their values. */
#define MAX_KEYS 24
#define MAX_VALUES 64
struct key {
    struct piece name;
    struct piece values[MAX_VALUES];
    size_t distinct;
    size_t cases; /* how many cases have the key */
};
struct keys {
    struct key items[MAX_KEYS];
    size_t count, cases;
    const struct key *curve; /* the key with most values, which varies along a curve; or NULL */
};

static bool is_policy(const char *method)
{
    return strcmp(method, "policy") == 0;
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
        k->distinct = k->cases = 0;
    }
    k->cases++;
    while (i < k->distinct && !equal(k->values[i], value))
        i++;
    if (i == k->distinct && k->distinct < MAX_VALUES)
        k->values[k->distinct++] = value;
}

/*
 * Collects the keys and values of a method's specs. Chooses the key that varies along a curve, unless `apart` is true
 * or the cases are policies, which no parameter orders.
 */
static void collect_keys(struct keys *keys, const struct gcb_plot_cases *cases, const char *method,
                         bool apart)
{
    size_t most = 1;

    keys->count = keys->cases = 0;
    keys->curve = NULL;
    for (size_t i = 0; i < cases->count; i++) {
        const char *at = keys_in(cases->items[i]->spec);
        struct piece name, value;

        if (cases->items[i]->method != method)
            continue;
        keys->cases++;
        while (next_key(&name, &value, &at))
            note_value(keys, name, value);
    }
    for (size_t k = 0; !apart && !is_policy(method) && k < keys->count; k++)
        if (keys->items[k].distinct > most) {
            most = keys->items[k].distinct;
            keys->curve = &keys->items[k];
        }
}

/* Do the method's cases differ in this key? Specs without a memory lack the key `memory`. Other keys are missing only
 * where the value of another key says so. */
static bool differs(const struct keys *keys, const struct key *key)
{
    static const struct piece memory = {"memory", 6}, id = {"id", 2}; /* of a policy: a hash */

    if (equal(key->name, id) && key->distinct == keys->items[0].distinct)
        return false; /* the number of rules tells them apart */
    return key->distinct > 1 || (key->cases < keys->cases && equal(key->name, memory));
}

static void append(char *label, const char *before, struct piece a, const char *between,
                   struct piece b)
{
    gcb_append(label, GCB_PLOT_LABEL, "%s%.*s%s%.*s", before, (int)a.length, a.at, between,
               (int)b.length, b.at);
}

/* Makes a label of the method and of the keys that differ between its cases. Leaves out the key that varies along the
 * curve. */
static void make_label(char label[GCB_PLOT_LABEL], const struct gcb_plot_record *c,
                       const struct keys *keys)
{
    const char *at = keys_in(c->spec);
    struct piece name, value;

    snprintf(label, GCB_PLOT_LABEL, "%s%s", c->method,
             gcb_plot_baseline(c->method) ? " (baseline)" : "");
    while (next_key(&name, &value, &at))
        for (size_t k = 0; k < keys->count; k++)
            if (&keys->items[k] != keys->curve && differs(keys, &keys->items[k]) &&
                equal(keys->items[k].name, name))
                append(label, " ", name, "=", value);
}

/* Appends the range of the curve's parameter, ", theta 0.5 to 0.99", if its values are numbers. Appends nothing if the
 * label would become too long for a legend, because a legend would cut the parts that distinguish the curve. */
static void append_range(struct gcb_plot_series *s, const struct gcb_plot_cases *cases,
                         const struct key *key)
{
    struct piece least = {NULL, 0}, most = {NULL, 0}, value;
    double low = INFINITY, high = -INFINITY, x;
    char number[32];
    const size_t used = strlen(s->label);

    for (size_t i = 0; i < s->count; i++) {
        if (!find_value(&value, cases->items[s->first + i]->spec, key->name))
            return;
        snprintf(number, sizeof(number), "%.*s", (int)value.length, value.at);
        if (!gcb_parse_real(number, &x))
            return;
        least = x < low ? value : least;
        most = x > high ? value : most;
        low = fmin(low, x);
        high = fmax(high, x);
    }
    if (low == high || !least.at || !most.at)
        return;
    append(s->label, ", ", key->name, " ", least);
    append(s->label, " to ", most, "", (struct piece){"", 0});
    if (gcb_text_columns(s->label) > GCB_PLOT_LABEL_WIDTH)
        s->label[used] = '\0';
}

/* A case, the number of its series, and its position in the file. */
struct placed {
    const struct gcb_plot_record *item;
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

/* Does a series of another method have the colour? */
static bool is_taken(const struct gcb_plot_set *set, const char *method, const char *colour)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].method, method) != 0 &&
            strcmp(set->items[i].style.colour, colour) == 0)
            return true;
    return false;
}

/* Returns the style of a method's next series. No two methods of a set have the same colour, unless there are more methods
 * than colours. Baselines are all black. */
static struct gcb_plot_style choose_style(const struct gcb_plot_set *set, const char *method)
{
    const struct gcb_plot_series *first = NULL;
    struct gcb_plot_style style;
    unsigned variant = 0;

    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].method, method) == 0) {
            first = first ? first : &set->items[i];
            variant++;
        }
    style = gcb_plot_style_of(method, variant);
    if (first) {
        style.colour = first->style.colour;
        style.ink = first->style.ink;
    } else if (!gcb_plot_baseline(method)) {
        const struct gcb_plot_style own = style;

        for (unsigned i = 0; is_taken(set, method, style.colour); i++)
            if (!gcb_plot_style_recolour(&style, i))
                return own;
    }
    return style;
}

struct gcb_plot_series *gcb_plot_set_name(struct gcb_plot_set *set, const char *label,
                                          const char *method)
{
    const struct gcb_plot_style style = choose_style(set, method);
    struct gcb_plot_series *s;

    if (gcb_grow(&set->items, &set->cap, set->count, sizeof(*set->items)))
        return NULL;
    s = &set->items[set->count++];
    *s = (struct gcb_plot_series){.method = method, .style = style};
    gcb_text_shorten(s->label, sizeof(s->label), label, sizeof(s->label) - 1);
    s->name_length = strlen(s->label);
    return s;
}

/* Returns the number of the series with this label. A new label gets a new series; with `apart`, so does every call.
 * Returns SIZE_MAX if memory runs out. */
static size_t find_series(struct gcb_plot_set *set, const char *label, const char *method,
                          bool apart)
{
    for (size_t i = 0; !apart && i < set->count; i++)
        if (strcmp(set->items[i].label, label) == 0)
            return i;
    return gcb_plot_set_name(set, label, method) ? set->count - 1 : SIZE_MAX;
}

/* Puts the cases of one method into series. `labels` of the cases; NULL: of the curves that the keys make. */
static int place_method(struct gcb_plot_set *set, struct placed *placed, const char *method,
                        const struct keys *keys, const struct gcb_label *labels)
{
    char label[GCB_PLOT_LABEL];

    for (size_t i = 0; i < set->cases.count; i++) {
        if (placed[i].item->method != method)
            continue;
        if (labels)
            snprintf(label, sizeof(label), "%.100s%s", labels[i].text,
                     gcb_plot_baseline(method) ? " (baseline)" : "");
        else
            make_label(label, placed[i].item, keys);
        placed[i].series = find_series(set, label, method, !keys->curve);
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

/* Puts all cases into series: methods in the order of their first cases, baselines last. */
static int place_all(struct gcb_plot_set *set, struct placed *placed, struct keys *keys, bool apart)
{
    const size_t count = set->cases.count;
    struct gcb_label *labels = apart ? gcb_alloc_zero(count + 1, sizeof(*labels)) : NULL;
    int err = apart && !labels ? GCB_E_NOMEM : 0;

    for (size_t i = 0; labels && i < count; i++)
        labels[i].spec = set->cases.items[i]->setting;
    if (labels)
        gcb_label_all(labels, count);
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){.item = set->cases.items[i], .place = i};
    for (size_t i = 0; !err && i < 2 * count; i++) {
        const char *method = placed[i % count].item->method;

        if ((gcb_plot_baseline(method) != 0) != (i >= count) ||
            !is_first_of_method(&set->cases, i % count))
            continue;
        collect_keys(keys, &set->cases, method, apart);
        err = place_method(set, placed, method, keys, labels);
    }
    gcb_free(labels);
    return err;
}

static void order_cases(struct gcb_plot_set *set, struct placed *placed)
{
    size_t at = 0;

    qsort(placed, set->cases.count, sizeof(*placed), by_curve);
    for (size_t i = 0; i < set->cases.count; i++)
        set->cases.items[i] = placed[i].item;
    for (size_t s = 0; s < set->count; s++) {
        set->items[s].first = at;
        at += set->items[s].count;
    }
}

int gcb_plot_set_divide(struct gcb_plot_set *set, bool apart, struct gcb_diag *diag)
{
    struct placed *placed = gcb_alloc_zero(set->cases.count, sizeof(*placed));
    struct keys *keys = gcb_alloc(sizeof(*keys));
    const int err = placed && keys ? place_all(set, placed, keys, apart) : GCB_E_NOMEM;

    if (!err)
        order_cases(set, placed);
    for (size_t s = 0; !err && !apart && s < set->count; s++) {
        collect_keys(keys, &set->cases, set->cases.items[set->items[s].first]->method, false);
        if (keys->curve)
            append_range(&set->items[s], &set->cases, keys->curve);
    }
    gcb_free(placed);
    gcb_free(keys);
    return err ? gcb_diag_nomem(diag, 0, "a plot") : 0;
}
