#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/plot/plot_series.h"

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
