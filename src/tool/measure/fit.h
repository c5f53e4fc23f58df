#ifndef SRC_TOOL_MEASURE_FIT_H
#define SRC_TOOL_MEASURE_FIT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A straight line y = fixed + slope x through measurements of different sizes x. `fixed` is the
 * cost (time, or bytes) of each call, and `slope` the additional cost of each byte. Both are at
 * least 0, because a negative cost makes no sense.
 *
 * The line minimises the sum of squared relative errors, ((fixed + slope x - y) / y)^2. So a
 * message of a kilobyte counts as much as a message of a hundred megabytes, and a disturbed sample
 * that took ten times too long counts little.
 */
struct gcb_fit {
    double fixed, slope;
    double error; /* root of the mean squared relative error */
    size_t points;
    /* the largest size is at least twice the smallest, which separates `fixed` from `slope` */
    bool good;
};

/* The sums over points from which a line is computed. Starts zeroed. */
struct gcb_fit_sums {
    double w, wx, wy, wxx, wxy, wyy; /* w = 1 / y^2; x in units of the first x */
    double unit, least, most;        /* the first, smallest and largest x */
    size_t points;
};
/* Adds a point. Ignores a point unless x and y are positive and finite. */
void gcb_fit_add(struct gcb_fit_sums *s, double x, double y);

/* Computes the line. If the sizes do not differ enough (`good` is false), `fixed` is 0. Without
 * points, `fixed`, `slope` and `error` are NAN. */
void gcb_fit_line(struct gcb_fit *out, const struct gcb_fit_sums *s);

#endif
