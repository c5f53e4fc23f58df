#ifndef SRC_TOOL_SEARCH_RATE_H
#define SRC_TOOL_SEARCH_RATE_H

#include "src/lib/codec/method.h"

/*
 * The parameter that trades the bytes of a method for its error, as a finite line of settings.
 * Position 0 has the smallest messages, the last position the largest.
 *
 * For a whole number, the line has all values from the least to the largest that is valid with the
 * method's other values, but not 0, which means "off" or "automatic". For a real number, it has the
 * numbers with five significant digits, so that people can type the setting that was found. The
 * numbers go from 1e-12 to 1e6, within the range of the parameter. If the parameter has a
 * complement, as theta has the density, the numbers are values of the complement and go from 1e-7
 * to 1.
 */
struct gcb_rate_axis {
    /* NULL: the method has no such parameter, and the line has one position */
    const struct gcb_param *param;
    size_t row;     /* index of the parameter in gcb_method_param */
    uint64_t count; /* positions, at least 1 */
    uint64_t low;   /* for whole numbers: the least value */
    int exponent;   /* for real numbers: 10^exponent is the least number of the line */
};

/*
 * Makes the line of the parameter `key`; NULL: of the method's first parameter that changes the
 * size (src/lib/codec/param.h). If the method has none and `key` is NULL, the line has one
 * position. GCB_E_INVALID: there is no parameter `key`, it does not change the size or has no valid
 * value, or the user has set the parameter.
 */
int gcb_rate_axis_init(struct gcb_rate_axis *axis, const struct gcb_method *m, const char *key,
                       struct gcb_diag *diag);

/* True if the method has a parameter of this name that changes the size and has an effect with the
 * method's other values. */
bool gcb_rate_named(const struct gcb_method *m, const char *key);

/* Sets the parameter of the axis to the value at a position, which is below axis->count, as if the
 * user had written the value. Does nothing if the axis has no parameter. Returns errors of
 * gcb_method_assign. */
int gcb_rate_axis_set(struct gcb_method *m, const struct gcb_rate_axis *axis, uint64_t position,
                      struct gcb_diag *diag);

/* Returns the position whose number is `factor` times the number at `position`, or 1 / factor times
 * if smaller numbers give larger messages. So a factor of 2 doubles the density or the bits, and
 * halves a threshold. The result stays within the line. */
uint64_t gcb_rate_axis_scale(const struct gcb_rate_axis *axis, uint64_t position, double factor);

/* Returns the double nearest to m * 10^exponent, or with `complement` to 1 - m * 10^exponent. m is
 * at most 2^53. `exponent` is from -22 to 22; with `complement` it is from -15 to 0, and
 * m * 10^exponent is in (0, 1]. */
double gcb_decimal(uint64_t m, int exponent, bool complement);

#endif
