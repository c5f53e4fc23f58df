#include "src/tool/search/rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number with five significant digits is an integer from FIRST to FIRST + DECADE - 1, times a
 * power of ten. */
#define FIRST 10000
#define DECADE 90000 /* numbers in a decade */
#define DIGITS 4     /* digits after the first digit */

/* The exponents of ten at the ends of a line: of a complement, such as the density, or of other
 * real numbers. */
enum { DENSITY_FROM = -7, DENSITY_TO = 0, REAL_FROM = -12, REAL_TO = 6 };

double gcb_decimal(uint64_t m, int exponent, bool complement)
{
    double power = 1.0; /* exact: 10^22 is the largest power of ten that is a double */

    for (int i = 0; i < abs(exponent); i++)
        power *= 10.0;
    if (exponent > 0)
        return (double)m * power;
    return (complement ? power - (double)m : (double)m) / power;
}

/* Finds the first parameter with this name (NULL: any name) that changes the size and has an effect
 * with the method's other values. Sets *row to its row. NULL: none. */
static const struct gcb_param *find_param(const struct gcb_method *m, const char *key, size_t *row)
{
    const struct gcb_param *p;

    for (*row = 0; (p = gcb_method_param(m, *row)); ++*row)
        if (p->rate != GCB_RATE_NONE && gcb_method_applies(m, *row) &&
            (!key || strcmp(key, p->name) == 0))
            return p;
    return NULL;
}

bool gcb_rate_named(const struct gcb_method *m, const char *key)
{
    size_t row;

    return find_param(m, key, &row);
}

/* True if the whole number is valid with the method's other values. */
static bool is_valid(const struct gcb_method *m, size_t row, uint64_t value)
{
    struct gcb_method at = *m;

    at.value[row] = (double)value;
    return gcb_method_check(&at, NULL) == 0;
}

/* Makes the line of a whole number: from the least to the largest valid value. */
static int init_whole(struct gcb_rate_axis *axis, const struct gcb_method *m, struct gcb_diag *diag)
{
    const struct gcb_param *p = axis->param;
    uint64_t low = p->min < 1.0 ? 1 : (uint64_t)p->min, high = (uint64_t)p->max;

    while (low < high && !is_valid(m, axis->row, low))
        low++;
    while (high > low && !is_valid(m, axis->row, high))
        high--;
    if (!is_valid(m, axis->row, low))
        return gcb_invalid(diag, "method '%s': no value of '%s' is valid with its other parameters",
                           m->name, p->name);
    axis->low = low;
    axis->count = high - low + 1;
    return 0;
}

/* Makes the line of a real number: the decades of its complement, or the whole decades within the
 * range of the parameter. */
static void init_real(struct gcb_rate_axis *axis)
{
    const struct gcb_param *p = axis->param;
    const bool density = p->complement[0];
    int from = density ? DENSITY_FROM : REAL_FROM, to = density ? DENSITY_TO : REAL_TO;

    /* 1e-9: log10 of a power of ten may be off by rounding */
    if (!density && p->min > 0.0)
        from = (int)fmax(from, ceil(log10(p->min) - 1e-9));
    if (!density)
        to = (int)fmin(to, floor(log10(p->max) + 1e-9));
    axis->exponent = from;
    axis->count = (uint64_t)(to - from) * DECADE + 1;
}

int gcb_rate_axis_init(struct gcb_rate_axis *axis, const struct gcb_method *m, const char *key,
                       struct gcb_diag *diag)
{
    *axis = (struct gcb_rate_axis){.count = 1};
    axis->param = find_param(m, key, &axis->row);
    if (!axis->param && key)
        return gcb_invalid(diag, "method '%s' has no parameter '%s' that changes the size", m->name,
                           key);
    if (!axis->param)
        return 0;
    if (m->given[axis->row])
        return gcb_invalid(diag, "method '%s': '%s' is searched for; do not give its value",
                           m->name, axis->param->name);
    if (axis->param->type != GCB_PARAM_REAL)
        return init_whole(axis, m, diag);
    init_real(axis);
    return 0;
}

/* True if the numbers fall along the line, because larger numbers give smaller messages. If the
 * parameter has a complement, the numbers are values of the complement. */
static bool falls(const struct gcb_rate_axis *axis)
{
    return (axis->param->rate == GCB_RATE_DOWN) != (axis->param->complement[0] != NULL);
}

/* The least number of the line has index 0. Returns the index of the number that is `factor` times
 * the number with index `at`: 0 if that is below the least number. The index may be larger than
 * that of the last number. */
static double scale_real(uint64_t at, double factor)
{
    const double number = (double)(FIRST + at % DECADE) * pow(10.0, (double)(at / DECADE)) * factor;
    const int decade = (int)floor(log10(number)) - DIGITS;

    if (number < FIRST)
        return 0.0;
    return (double)decade * DECADE +
           fmin(fmax(rint(number / pow(10.0, decade)) - FIRST, 0.0), DECADE);
}

uint64_t gcb_rate_axis_scale(const struct gcb_rate_axis *axis, uint64_t position, double factor)
{
    const uint64_t last = axis->count - 1;
    uint64_t at;
    double scaled;

    if (!axis->param)
        return position;
    at = falls(axis) ? last - position : position;
    factor = falls(axis) ? 1.0 / factor : factor;
    if (axis->param->type == GCB_PARAM_REAL)
        scaled = scale_real(at, factor);
    else
        scaled = fmax(rint((double)(axis->low + at) * factor) - (double)axis->low, 0.0);
    at = scaled >= (double)last ? last : (uint64_t)scaled;
    return falls(axis) ? last - at : at;
}

int gcb_rate_axis_set(struct gcb_method *m, const struct gcb_rate_axis *axis, uint64_t position,
                      struct gcb_diag *diag)
{
    const struct gcb_param *p = axis->param;
    const uint64_t at = p && falls(axis) ? axis->count - 1 - position : position;
    double value = (double)(axis->low + at);

    if (!p)
        return 0;
    if (p->type == GCB_PARAM_REAL)
        value = gcb_decimal(FIRST + at % DECADE, axis->exponent + (int)(at / DECADE) - DIGITS,
                            p->complement[0]);
    m->given[axis->row] = true;
    return gcb_method_assign(m, p->name, value, diag);
}
