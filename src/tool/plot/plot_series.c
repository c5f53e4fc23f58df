#include "src/tool/plot/plot_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/labels.h"

void gcb_plot_cases_add(struct gcb_plot_cases *cases, const struct gcb_plot_record *row)
{
    gcb_must_grow(&cases->items, &cases->cap, cases->count, sizeof(*cases->items));
    cases->items[cases->count++] = row;
}

void gcb_plot_set_add(struct gcb_plot_set *set, const struct gcb_plot_record *row)
{
    for (size_t i = 0; i < set->cases.count; i++)
        if (set->cases.items[i]->setting == row->setting)
            return;
    gcb_plot_cases_add(&set->cases, row);
}

void gcb_plot_set_collect(struct gcb_plot_set *set, const struct gcb_plot_data *data,
                          const struct gcb_plot *plot, const struct gcb_plot_record *first)
{
    const struct gcb_plot_record *row = NULL;

    set->memcpy_gbps = NAN;
    while ((row = gcb_plot_next(plot, data, first, row)) != NULL) {
        if (strcmp(row->method, "memcpy") == 0)
            set->memcpy_gbps = row->encode_gbps;
        else
            gcb_plot_set_add(set, row);
    }
    if (plot->compare)
        qsort(set->cases.items, set->cases.count, sizeof(*set->cases.items), plot->compare);
    gcb_plot_set_divide(set, plot->series == GCB_PLOT_APART);
}

void gcb_plot_set_fini(struct gcb_plot_set *set)
{
    gcb_free(set->cases.items);
    gcb_free(set->items);
    *set = (struct gcb_plot_set){.items = NULL};
}

/* ---- the parameter along a curve ---- */

char *gcb_plot_spec_text(char out[32], const char *spec, const char *key)
{
    const size_t length = strlen(key);
    const char *at = spec;
    size_t n = GCB_SPEC_BEGIN;

    out[0] = '\0';
    while (gcb_spec_next(&at, &n))
        if (n > length && at[length] == '=' && strncmp(at, key, length) == 0)
            snprintf(out, 32, "%.*s", (int)(n - length - 1), at + length + 1);
    return out;
}

/* Returns how many different values a method's cases have for a key. */
static size_t count_values(const struct gcb_plot_cases *cases, const char *method, const char *key)
{
    char value[32], other[32];
    size_t count = 0;

    for (size_t i = 0; i < cases->count; i++) {
        size_t k = 0;

        if (cases->items[i]->method != method)
            continue;
        gcb_plot_spec_text(value, cases->items[i]->setting, key);
        while (k < i &&
               (cases->items[k]->method != method ||
                strcmp(value, gcb_plot_spec_text(other, cases->items[k]->setting, key)) != 0))
            k++;
        count += k == i && *value;
    }
    return count;
}

/* Finds the key that varies along the curves of the method of `first`: the key with most values.
 * Writes "" if no key has two values, or if the method is a policy, whose settings have no
 * order. */
static void find_key(char key[32], const struct gcb_plot_cases *cases,
                     const struct gcb_plot_record *first)
{
    const char *at = first->setting;
    size_t most = 1, length = GCB_SPEC_BEGIN;

    key[0] = '\0';
    while (strcmp(first->method, "policy") != 0 && gcb_spec_next(&at, &length)) {
        char name[32];
        size_t count;

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "=,"), at);
        count = count_values(cases, first->method, name);
        if (count > most) {
            most = count;
            memcpy(key, name, sizeof(name));
        }
    }
}

/* ---- series ---- */

/* True if a series of another method has the colour. */
static bool is_taken(const struct gcb_plot_set *set, const char *method, const char *colour)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].style.colour && strcmp(set->items[i].method, method) != 0 &&
            strcmp(set->items[i].style.colour, colour) == 0)
            return true;
    return false;
}

/* Gives a series the style of its method's next variant, in a colour that no earlier series of
 * another method has, as long as there are enough. Baselines keep their colours. */
static void choose_style(const struct gcb_plot_set *set, struct gcb_plot_series *s)
{
    const struct gcb_plot_series *first = NULL;
    unsigned variant = 0;

    for (size_t i = 0; i < set->count && &set->items[i] != s; i++)
        if (strcmp(set->items[i].method, s->method) == 0) {
            first = first ? first : &set->items[i];
            variant++;
        }
    s->style = gcb_plot_style_of(s->method, variant);
    if (first) {
        s->style.colour = first->style.colour;
        s->style.ink = first->style.ink;
    } else if (!gcb_plot_baseline(s->method)) {
        const struct gcb_plot_style own = s->style;

        for (unsigned i = 0; is_taken(set, s->method, s->style.colour); i++)
            if (!gcb_plot_style_recolour(&s->style, i)) {
                s->style = own;
                break;
            }
    }
}

struct gcb_plot_series *gcb_plot_set_name(struct gcb_plot_set *set, const char *label,
                                          const char *method)
{
    struct gcb_plot_series *s;

    gcb_must_grow(&set->items, &set->cap, set->count, sizeof(*set->items));
    s = &set->items[set->count++];
    *s = (struct gcb_plot_series){.method = method, .rank = (double)set->count, .named = true};
    gcb_text_shorten(s->label, sizeof(s->label), label, sizeof(s->label) - 1);
    choose_style(set, s);
    return s;
}

/* Orders series: those with names come first. Within each of these two groups, baselines come last.
 * Then the lower rank comes first; with equal ranks, the series whose first case is earlier. */
static int by_legend(const void *a, const void *b)
{
    const struct gcb_plot_series *x = a, *y = b;
    const bool p = gcb_plot_baseline(x->method) != 0, q = gcb_plot_baseline(y->method) != 0;

    if (x->named != y->named)
        return x->named ? -1 : 1;
    if (p != q)
        return p ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

void gcb_plot_set_choose(struct gcb_plot_set *set, size_t most)
{
    size_t room = most; /* names for series that are no baselines, at least most / 2 */

    set->named = 0;
    for (size_t i = 0; i < set->count; i++)
        room -= gcb_plot_baseline(set->items[i].method) && room > most / 2;
    if (set->count)
        qsort(set->items, set->count, sizeof(*set->items), by_legend);
    for (size_t i = 0; i < set->count; i++) {
        struct gcb_plot_series *s = &set->items[i];

        s->style = (struct gcb_plot_style){NULL, NULL, 0, 0};
        /* the baselines come last, so `room` limits only the other series */
        s->named = (i < room && isfinite(s->rank)) || gcb_plot_baseline(s->method);
        s->named = s->named && set->named < most;
        set->named += s->named;
    }
    if (set->count)
        qsort(set->items, set->count, sizeof(*set->items), by_legend);
    for (size_t i = 0; i < set->count; i++) {
        if (i < set->named)
            choose_style(set, &set->items[i]);
        else
            set->items[i].style = GCB_PLOT_NO_STYLE;
    }
}

/* ---- cases to series ---- */

/* A case with its curve. */
struct placed {
    const struct gcb_plot_record *item;
    char key[32];    /* the parameter that varies along the curve; "": none */
    char base[1024]; /* the setting without the key, which all cases of the curve share */
    size_t series;   /* index of the curve */
    size_t place;    /* index of the case before sorting */
};

/* Orders cases by curve, and the cases of a curve by bits per element. */
static int by_curve(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->series != y->series)
        return (x->series > y->series) - (x->series < y->series);
    if (x->item->bits != y->item->bits)
        return (x->item->bits > y->item->bits) - (x->item->bits < y->item->bits);
    return (x->place > y->place) - (x->place < y->place);
}

/* Appends the range of the curve's parameter, ", theta 0.5 to 0.99", if its values are numbers. */
static void append_range(struct gcb_plot_series *s, const struct placed *placed)
{
    char value[32], least[32] = "", most[32] = "";
    double low = INFINITY, high = -INFINITY, x;

    for (size_t i = s->first; i < s->first + s->count; i++) {
        gcb_plot_spec_text(value, placed[i].item->setting, placed[s->first].key);
        if (!gcb_parse_real(value, &x))
            return;
        if (x < low)
            memcpy(least, value, sizeof(value));
        if (x > high)
            memcpy(most, value, sizeof(value));
        low = fmin(low, x);
        high = fmax(high, x);
    }
    if (low < high)
        gcb_append(s->label, GCB_PLOT_LABEL, ", %s %s to %s", placed[s->first].key, least, most);
}

/* Finds key and base of each case, and labels the cases so that cases of different curves have
 * different labels. */
static void place_cases(struct placed *placed, struct gcb_label *labels,
                        const struct gcb_plot_cases *cases, bool apart)
{
    for (size_t i = 0; i < cases->count; i++) {
        struct placed *p = &placed[i];
        size_t first = 0; /* the first case of this method; later cases take its key */

        p->item = cases->items[i];
        p->place = i;
        snprintf(p->base, sizeof(p->base), "%s", p->item->setting);
        while (cases->items[first]->method != p->item->method)
            first++;
        if (first < i)
            memcpy(p->key, placed[first].key, sizeof(p->key));
        else if (!apart)
            find_key(p->key, cases, p->item);
        if (*p->key)
            gcb_spec_drop(p->base, p->key);
        labels[i].spec = p->base;
    }
    gcb_label_all(labels, cases->count);
}

/* Makes the series, in the order of their first cases, and sets placed[].series. */
static void make_series(struct gcb_plot_set *set, struct placed *placed, struct gcb_label *labels,
                        bool apart)
{
    for (size_t i = 0; i < set->cases.count; i++) {
        char text[GCB_PLOT_LABEL];
        size_t k = 0;

        while (k < i && (apart || strcmp(placed[k].base, placed[i].base) != 0))
            k++;
        placed[i].series = k < i ? placed[k].series : set->count;
        snprintf(text, sizeof(text), "%s%s", gcb_spec_drop(labels[i].text, placed[i].key),
                 gcb_plot_baseline(placed[i].item->method) ? " (baseline)" : "");
        if (k == i)
            gcb_plot_set_name(set, text, placed[i].item->method);
        set->items[placed[i].series].count++;
    }
}

void gcb_plot_set_divide(struct gcb_plot_set *set, bool apart)
{
    const size_t count = set->cases.count;
    struct placed *placed = gcb_must_zero(count, sizeof(*placed));
    struct gcb_label *labels = gcb_must_zero(count, sizeof(*labels));

    place_cases(placed, labels, &set->cases, apart);
    make_series(set, placed, labels, apart);
    if (count)
        qsort(placed, count, sizeof(*placed), by_curve);
    for (size_t i = 0; i < count; i++)
        set->cases.items[i] = placed[i].item;
    for (size_t s = 0, at = 0; s < set->count; at += set->items[s++].count) {
        set->items[s].first = at;
        if (!apart)
            append_range(&set->items[s], placed);
    }
    gcb_free(placed);
    gcb_free(labels);
}
