#include "src/tool/search/allocate.h"

#include <math.h>
#include <stdlib.h>

/* Sums of the errors of a run differ from those of its tensors by rounding. */
#define ROUNDING 1e-9

static int by_bytes(const void *a, const void *b)
{
    const struct gcb_allot_option *x = a, *y = b;
    const int bytes = (x->bytes > y->bytes) - (x->bytes < y->bytes);

    return bytes ? bytes : (x->error > y->error) - (x->error < y->error);
}

/* The error that a step from a to b takes away for each byte. */
static double gain(const struct gcb_allot_option *a, const struct gcb_allot_option *b)
{
    return (a->error - b->error) / (b->bytes - a->bytes);
}

/* Keeps the lower convex hull: each item has more bytes and less error than the item before it, with falling gains. */
static void keep_hull(struct gcb_allotment *t)
{
    size_t n = 0;

    qsort(t->items, t->count, sizeof(*t->items), by_bytes);
    for (size_t i = 0; i < t->count; i++) {
        const struct gcb_allot_option item = t->items[i];

        if (n && !(item.error < t->items[n - 1].error))
            continue;
        while (n > 1 && gain(&t->items[n - 2], &t->items[n - 1]) <= gain(&t->items[n - 1], &item))
            n--;
        t->items[n++] = item;
    }
    t->count = n;
    t->chosen = 0;
}

struct gcb_allot_option gcb_allocated(const struct gcb_allotment *tensors, size_t count)
{
    struct gcb_allot_option sum = {0};

    for (size_t i = 0; i < count; i++) {
        sum.bytes += tensors[i].items[tensors[i].chosen].bytes;
        sum.error += tensors[i].items[tensors[i].chosen].error;
    }
    return sum;
}

bool gcb_budget_meets(const struct gcb_budget_limit *limit, const struct gcb_allot_option *sum)
{
    return limit->on_error ? sum->error <= limit->most * (1.0 - ROUNDING)
                           : sum->bytes <= limit->most;
}

/* Finds the tensor whose next step gains most, if the step adds at most so many bytes. `count`: none. */
static size_t find_step(const struct gcb_allotment *tensors, size_t count, double room)
{
    size_t best = count;
    double most = 0.0;

    for (size_t i = 0; i < count; i++) {
        const struct gcb_allotment *t = &tensors[i];
        const struct gcb_allot_option *at = &t->items[t->chosen];

        if (t->chosen + 1 == t->count || at[1].bytes - at[0].bytes > room)
            continue;
        if (best == count || gain(&at[0], &at[1]) > most) {
            best = i;
            most = gain(&at[0], &at[1]);
        }
    }
    return best;
}

/* Takes back steps that the budget does not need, those with the most bytes first: the last step goes too far. */
static void take_back(struct gcb_allotment *tensors, size_t count,
                      const struct gcb_budget_limit *limit)
{
    for (;;) {
        const struct gcb_allot_option sum = gcb_allocated(tensors, count);
        size_t best = count;
        double most = 0.0;

        for (size_t i = 0; i < count; i++) {
            const struct gcb_allotment *t = &tensors[i];
            const struct gcb_allot_option *at = &t->items[t->chosen];
            struct gcb_allot_option without = sum;

            if (t->chosen == 0)
                continue;
            without.error += at[-1].error - at[0].error;
            if (gcb_budget_meets(limit, &without) && at[0].bytes - at[-1].bytes > most) {
                best = i;
                most = at[0].bytes - at[-1].bytes;
            }
        }
        if (best == count)
            return;
        tensors[best].chosen--;
    }
}

bool gcb_allocate(struct gcb_allotment *tensors, size_t count, const struct gcb_budget_limit *limit,
                  double *slope)
{
    struct gcb_allot_option sum;

    *slope = 0.0;
    for (size_t i = 0; i < count; i++)
        keep_hull(&tensors[i]);
    sum = gcb_allocated(tensors, count);
    if (!limit->on_error && !gcb_budget_meets(limit, &sum))
        return false;
    while (!limit->on_error || !gcb_budget_meets(limit, &sum)) {
        const double room = limit->on_error ? (double)INFINITY : limit->most - sum.bytes;
        const size_t best = find_step(tensors, count, room);
        const struct gcb_allot_option *at;

        if (best == count)
            break;
        at = &tensors[best].items[tensors[best].chosen];
        if (find_step(tensors, count, (double)INFINITY) == best)
            *slope = 1.0 / gain(&at[0], &at[1]);
        tensors[best].chosen++;
        sum = gcb_allocated(tensors, count);
    }
    if (limit->on_error && !gcb_budget_meets(limit, &sum))
        return false;
    if (limit->on_error)
        take_back(tensors, count, limit);
    return true;
}
