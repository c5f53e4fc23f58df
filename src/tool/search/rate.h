#ifndef SRC_TOOL_SEARCH_RATE_H
#define SRC_TOOL_SEARCH_RATE_H

#include "src/lib/codec/method.h"

/*
 * The parameter that trades a method's bytes for its error, laid out as a finite line of settings: position
 * 0 makes the smallest messages, the last one the largest. Whole numbers are their own positions (0, which
 * means "off" or "by itself", is left out). Real ones stand at five significant digits, so that a setting
 * that was found is one a person can type: those that have a complement (theta) go by it, because a density
 * is what is large or small: 1e-7 ... 1; others from 1e-12 to 1e6.
 */
struct gcb_rate_axis {
    const struct gcb_param *param; /* NULL: the method has none, and the line one position */
    uint64_t count;                /* positions, at least 1 */
    uint64_t low;                  /* whole numbers: value of the least */
    int exponent;                  /* real ones: of the least */
};

/*
 * `key` names the parameter, or is NULL for the method's own (src/lib/codec/param.h). GCB_E_INVALID: no such
 * parameter with a rate, or the user has fixed it.
 */
int gcb_rate_axis_init(struct gcb_rate_axis *axis, const struct gcb_method *m, const char *key,
                       struct gcb_diag *diag);

/* Is there a parameter of this name with a rate, and a meaning with the others? */
bool gcb_rate_named(const struct gcb_method *m, const char *key);

/* Puts the method at a position, as if the user had written it. */
int gcb_rate_axis_set(struct gcb_method *m, const struct gcb_rate_axis *axis, uint64_t position,
                      struct gcb_diag *diag);

/* Text of m * 10^exponent in plain decimals as gcb_parse_real reads it, or of 1 - that where `complement`;
 * then it is in (0, 1]. `out` has at least 64 bytes. Returns out. */
char *gcb_decimal_text(char *out, uint64_t m, int exponent, bool complement);

#endif
