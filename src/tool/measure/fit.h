#ifndef SRC_TOOL_MEASURE_FIT_H
#define SRC_TOOL_MEASURE_FIT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A straight line y = fixed + slope x through measurements of different sizes: `fixed` is the time
 * (or bytes) of a call of any size, and `slope` that of each byte. Both are at least 0, because a
 * negative cost makes no sense.
 *
 * It minimises the sum of squared *relative* errors, ((fixed + slope x - y) / y)^2. So a message of
 * a kilobyte counts as much as one of a hundred megabytes, and a sample that was disturbed and took
 * ten times too long counts little.
 */
struct gcb_fit {
    double fixed, slope;
    double error; /* root of the mean squared relative error */
    size_t points;
    /* sizes differ enough to separate fixed from slope: the largest is twice the smallest */
    bool good;
};

/* The sums over points from which a line is computed. Starts zeroed. */
struct gcb_fit_sums {
    double w, wx, wy, wxx, wxy, wyy; /* w = 1 / y^2; x in units of the first x */
    double unit, least, most;
    size_t points;
};
/* Adds a point. Ignores a point unless x and y are positive and finite. */
void gcb_fit_add(struct gcb_fit_sums *s, double x, double y);

/* If the sizes do not differ enough (`good` is false), the line goes through the origin. Without
 * points all is NAN. */
void gcb_fit_line(struct gcb_fit *out, const struct gcb_fit_sums *s);

#endif
