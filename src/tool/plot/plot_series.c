#include "src/tool/plot/plot_series.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/plot/plot_label.h"

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
                        const struct gcb_plot_keys *keys)
{
    char label[GCB_PLOT_LABEL];

    for (size_t i = 0; i < cases->count; i++) {
        if (cases->items[i]->method != method)
            continue;
        gcb_plot_label_of(label, cases->items[i], keys);
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
                     const struct gcb_plot_cases *cases, struct gcb_plot_keys *keys, bool apart)
{
    int err = 0;

    for (size_t i = 0; !err && i < 2 * cases->count; i++) {
        const size_t at = i % cases->count;
        const char *method = cases->items[at]->method;

        if ((gcb_plot_baseline(method) != 0) != (i >= cases->count) ||
            !is_first_of_method(cases, at))
            continue;
        gcb_plot_keys_of(keys, cases, method, apart);
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
    struct gcb_plot_keys *keys = gcb_alloc(sizeof(*keys));
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
        gcb_plot_keys_of(keys, cases, cases->items[out->items[s].first]->method, false);
        if (keys->curve)
            gcb_plot_label_range(&out->items[s], cases, keys->curve);
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
