#ifndef SRC_TOOL_SEARCH_MIX_H
#define SRC_TOOL_SEARCH_MIX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Two settings of a method together: a share of the messages is sent with one and the rest with the other. Bytes and squared
 * errors of the messages add up, so both change linearly with the share, and a mix can meet a limit exactly. What can be
 * reached in this way is the lower convex hull of all settings.
 */
struct gcb_mix_point {
    double limited; /* the figure that has a limit; NAN: the setting failed */
    double
        cost; /* what should be small: bytes for a limit on the error, squared error for a limit on the size */
};

struct gcb_mix {
    size_t first;  /* a setting within the limit, or the nearest one if none is */
    size_t second; /* a setting beyond the limit; equal to `first`: that setting stands by itself */
    double share;  /* of the messages that are sent with `first` */
    bool reached;  /* the limit is met */
};

/*
 * Finds the point of the hull at the limit, an upper one: the cheapest mix of a setting within it and a setting beyond it, or
 * the cheapest setting within it. A setting within it that is at most `near` below it and at most GCB_MIX_WORTH dearer is
 * taken by itself; of several such settings the first, unless a later one is cheaper by half of that. `mixes`: settings can
 * be mixed at all. SIZE_MAX in `first`: all settings failed.
 */
#define GCB_MIX_WORTH 0.01
void gcb_mix_find(struct gcb_mix *out, const struct gcb_mix_point *points, size_t count,
                  double limit, double near, bool mixes);

/* The figure of the mix: by the share between the figures of its two settings. */
double gcb_mix_between(const struct gcb_mix *mix, double first, double second);

#endif
