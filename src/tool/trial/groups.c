#include "src/tool/trial/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"

void gcb_groups_init(struct gcb_groups *g, enum gcb_per per, size_t methods)
{
    *g = (struct gcb_groups){.per = per, .methods = methods};
}

static void release(struct gcb_group *group)
{
    union {
        const char *in;
        char *out;
    } name = {group->name};

    gcb_free(name.out);
    gcb_free(group->tallies);
}

void gcb_groups_fini(struct gcb_groups *g)
{
    for (size_t i = 0; i < g->count; i++)
        release(&g->items[i]);
    gcb_free(g->items);
    memset(g, 0, sizeof(*g));
}

static bool belongs(const struct gcb_groups *g, const struct gcb_group *group,
                    const struct gcb_run_trial *t)
{
    switch (g->per) {
    case GCB_PER_TENSOR:
        return strcmp(group->name, t->name) == 0;
    case GCB_PER_STEP:
        return group->step == t->plan->step;
    case GCB_PER_WORKER:
        return group->worker == t->plan->worker;
    default:
        return group->step == t->plan->step && group->worker == t->plan->worker &&
               strcmp(group->name, t->name) == 0;
    }
}

/* Messages of all methods follow each other, and tensors come in the same order at every step: the
 * last group or the one behind it is the likely one. */
static size_t find(const struct gcb_groups *g, const struct gcb_run_trial *t)
{
    for (size_t i = 0; i < g->count; i++) {
        const size_t at = (g->next + i) % g->count;

        if (belongs(g, &g->items[at], t))
            return at;
        if (g->per == GCB_PER_MESSAGE)
            break;
    }
    return g->count;
}

static int append(struct gcb_groups *g, const struct gcb_run_trial *t)
{
    struct gcb_group group = {.step = t->plan->step, .worker = t->plan->worker};

    if (gcb_grow(&g->items, &g->cap, g->count, sizeof(*g->items)))
        return GCB_E_NOMEM;
    group.name = gcb_strdup(t->name);
    group.tallies = gcb_alloc_zero(g->methods, sizeof(*group.tallies));
    if (!group.name || !group.tallies) {
        release(&group);
        return GCB_E_NOMEM;
    }
    g->items[g->count++] = group;
    return 0;
}

int gcb_groups_add(struct gcb_groups *g, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    const size_t at = find(g, trial);

    if (at == g->count && append(g, trial))
        return gcb_diag_nomem(diag, 0, "groups of messages");
    gcb_tally_merge(&g->items[at].tallies[trial->method], &trial->tally);
    g->next = at;
    return 0;
}

static struct gcb_fidelity_figures fidelity_of(const struct gcb_tally *t)
{
    struct gcb_fidelity_figures f;

    gcb_tally_figures(&f, t);
    return f;
}

static double elements(const struct gcb_tally *t)
{
    return (double)t->elements;
}

static double input_bytes(const struct gcb_tally *t)
{
    return (double)t->input_bytes;
}

static double wire_bytes(const struct gcb_tally *t)
{
    return (double)t->wire_bytes;
}

static double rel_l2(const struct gcb_tally *t)
{
    return fidelity_of(t).rel_l2;
}

static double cosine(const struct gcb_tally *t)
{
    return fidelity_of(t).cosine;
}

static double max_abs_error(const struct gcb_tally *t)
{
    return fidelity_of(t).max_abs_error;
}

static double snr_db(const struct gcb_tally *t)
{
    return fidelity_of(t).snr_db;
}

static double accuracy_gain_bits(const struct gcb_tally *t)
{
    return fidelity_of(t).accuracy_gain_bits;
}

static double encode_seconds(const struct gcb_tally *t)
{
    return t->encode_seconds;
}

static double decode_seconds(const struct gcb_tally *t)
{
    return t->decode_seconds;
}

static const struct {
    enum gcb_field field;
    gcb_tally_figure_fn *figure;
} figures[] = {
    {GCB_FIELD_ELEMENTS, elements},
    {GCB_FIELD_INPUT_BYTES, input_bytes},
    {GCB_FIELD_WIRE_BYTES, wire_bytes},
    {GCB_FIELD_RATIO, gcb_tally_ratio},
    {GCB_FIELD_BITS_PER_ELEMENT, gcb_tally_bits},
    {GCB_FIELD_DENSITY, gcb_tally_density},
    {GCB_FIELD_REL_L2, rel_l2},
    {GCB_FIELD_COSINE, cosine},
    {GCB_FIELD_MAX_ABS_ERROR, max_abs_error},
    {GCB_FIELD_SNR_DB, snr_db},
    {GCB_FIELD_ACCURACY_GAIN_BITS, accuracy_gain_bits},
    {GCB_FIELD_ENCODE_SECONDS, encode_seconds},
    {GCB_FIELD_DECODE_SECONDS, decode_seconds},
    {GCB_FIELD_ENCODE_GBPS, gcb_tally_encode_gbps},
    {GCB_FIELD_DECODE_GBPS, gcb_tally_decode_gbps},
};

enum gcb_field gcb_tally_figure_field(size_t i)
{
    return i < sizeof(figures) / sizeof(figures[0]) ? figures[i].field : GCB_FIELD_NONE;
}

gcb_tally_figure_fn *gcb_tally_figure(enum gcb_field field)
{
    for (size_t i = 0; gcb_tally_figure_field(i); i++)
        if (figures[i].field == field)
            return figures[i].figure;
    return NULL;
}

/* Does a come before b? What is not a number comes last. */
static bool before(double a, double b)
{
    return a > b || (isnan(b) && !isnan(a));
}

static int by_key(const void *a, const void *b)
{
    const struct gcb_group *x = a, *y = b;

    if (before(x->key, y->key))
        return -1;
    if (before(y->key, x->key))
        return 1;
    return (x->place > y->place) - (x->place < y->place);
}

void gcb_groups_sort(struct gcb_groups *g, gcb_tally_figure_fn *figure)
{
    for (size_t i = 0; i < g->count; i++) {
        g->items[i].key = figure(&g->items[i].tallies[0]);
        g->items[i].place = i;
    }
    if (g->count)
        qsort(g->items, g->count, sizeof(*g->items), by_key);
}

void gcb_totals_order(size_t *order, const struct gcb_run_result *result,
                      gcb_tally_figure_fn *figure)
{
    for (size_t i = 0; i < result->method_count; i++) {
        const double key = figure(&result->totals[i].tally);
        size_t at = i;

        for (; at > 0 && before(key, figure(&result->totals[order[at - 1]].tally)); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}
