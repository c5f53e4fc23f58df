#include "src/tool/search/mix.h"

#include <math.h>
#include <stdint.h>

#define EQUAL 1e-12 /* costs whose difference is this share are equal */

double gcb_mix_between(const struct gcb_mix *mix, double first, double second)
{
    return mix->share * first + (1.0 - mix->share) * second;
}

static bool is_known(const struct gcb_mix_point *p)
{
    return isfinite(p->limited) && isfinite(p->cost);
}

/* Finds the cheapest setting within the limit and at most `near` below it. A later setting has to be cheaper by the share
 * `margin`. */
static size_t find_single(const struct gcb_mix_point *points, size_t count, double limit,
                          double near, double margin)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < count; i++) {
        const struct gcb_mix_point *p = &points[i];

        if (!is_known(p) || p->limited > limit || limit - p->limited > near)
            continue;
        if (best == SIZE_MAX || p->cost < points[best].cost * (1.0 - margin) ||
            (margin == 0.0 && p->cost <= points[best].cost && p->limited < points[best].limited))
            best = i;
    }
    return best;
}

/* Finds the setting that is nearest to the limit, which no setting meets. */
static size_t find_nearest(const struct gcb_mix_point *points, size_t count)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < count; i++)
        if (is_known(&points[i]) && (best == SIZE_MAX || points[i].limited < points[best].limited))
            best = i;
    return best;
}

/* Finds the cheapest mix. The hull is its value over all limits. Of several on one line, the two nearest settings are taken. */
static bool find_pair(struct gcb_mix *out, double *cost, const struct gcb_mix_point *points,
                      size_t count, double limit)
{
    double gap = (double)INFINITY;

    *cost = (double)INFINITY;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; is_known(&points[i]) && points[i].limited <= limit && k < count; k++) {
            const double width = points[k].limited - points[i].limited;
            struct gcb_mix mix = {i, k, (points[k].limited - limit) / width, true};
            double at;

            if (!is_known(&points[k]) || !(points[k].limited > limit) ||
                !(points[k].cost < points[i].cost))
                continue;
            at = gcb_mix_between(&mix, points[i].cost, points[k].cost);
            if (at > *cost * (1.0 + EQUAL) || (at >= *cost * (1.0 - EQUAL) && width >= gap))
                continue;
            *out = mix;
            *cost = at;
            gap = width;
        }
    return isfinite(*cost);
}

void gcb_mix_find(struct gcb_mix *out, const struct gcb_mix_point *points, size_t count,
                  double limit, double near, bool mixes)
{
    const size_t cheapest = find_single(points, count, limit, (double)INFINITY, 0.0);
    const size_t single = find_single(points, count, limit, near, GCB_MIX_WORTH / 2.0);
    size_t alone = cheapest;
    double cost;

    if (cheapest == SIZE_MAX) {
        const size_t nearest = find_nearest(points, count);

        *out = (struct gcb_mix){nearest, nearest, 1.0, false};
        return;
    }
    if (!mixes || !find_pair(out, &cost, points, count, limit) || points[cheapest].cost <= cost)
        cost = points[cheapest].cost;
    else
        alone = SIZE_MAX;
    if (single != SIZE_MAX && points[single].cost <= cost * (1.0 + GCB_MIX_WORTH))
        alone = single;
    if (alone != SIZE_MAX)
        *out = (struct gcb_mix){alone, alone, 1.0, true};
}
