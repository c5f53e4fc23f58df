#include "src/tool/run/groups.h"

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
    gcb_free(group->name);
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

/* Returns the index of the trial's group, or g->count if it has none. All methods run on a message in turn, and tensors
 * come in the same order at each step, so the search begins at the last group. */
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

/* Does figure a come before figure b? Larger figures come first, NaNs last. */
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

void gcb_groups_sort(struct gcb_groups *g, enum gcb_field figure)
{
    for (size_t i = 0; i < g->count; i++) {
        g->items[i].key = gcb_tally_figure(&g->items[i].tallies[0], figure);
        g->items[i].place = i;
    }
    if (g->count)
        qsort(g->items, g->count, sizeof(*g->items), by_key);
}

void gcb_totals_order(size_t *order, const struct gcb_run_result *result, enum gcb_field figure)
{
    for (size_t i = 0; i < result->method_count; i++) {
        const double key = gcb_tally_figure(&result->totals[i].tally, figure);
        size_t at = i;

        for (;
             at > 0 && before(key, gcb_tally_figure(&result->totals[order[at - 1]].tally, figure));
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}
