#ifndef SRC_TOOL_TIMING_FIT_H
#define SRC_TOOL_TIMING_FIT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A straight line y = fixed + slope x through measurements over sizes: what a call costs whatever its size, and
 * what each further byte costs. Both are at least 0, for neither a call nor a byte gives time back.
 *
 * The sum of squared *relative* errors, ((fixed + slope x - y) / y)^2, is least. So a message of a kilobyte counts
 * as much as one of a hundred megabytes, and a sample that some other process made ten times too long counts
 * little.
 */
struct gcb_fit {
    double fixed, slope;
    double error;       /* root of the mean squared relative error */
    double least, most; /* of x: between them the line was measured */
    size_t points;      /* taken into account */
    bool
        good; /* the sizes tell fixed from slope: two or more, the largest twice the smallest at least */
};

/* Points are taken one by one and not kept. Starts zeroed. */
struct gcb_fit_sums {
    double w, wx, wy, wxx, wxy, wyy; /* weights are 1 / y^2, x in units of the first x */
    double unit, least, most;
    size_t points;
};
/* A point with an x or y that is not positive and finite is passed over. */
void gcb_fit_add(struct gcb_fit_sums *s, double x, double y);

/*
 * Where the sizes do not tell (`good` false) the line is y = slope x through the origin, which fits them best. No points:
 * all NAN.
 */
void gcb_fit_line(struct gcb_fit *out, const struct gcb_fit_sums *s);

/* fixed x count + slope x total: of `count` calls over `total` bytes together. */
double gcb_fit_at(const struct gcb_fit *fit, double count, double total);

#endif
