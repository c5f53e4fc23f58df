#include "src/tool/search/rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DECADE 90000 /* numbers in a decade: five digits, 10000 to 99999 */
#define DIGITS 4     /* digits after the first digit */

enum { DENSITY_FROM = -7, DENSITY_TO = 0, REAL_FROM = -12, REAL_TO = 6 };

double gcb_decimal(uint64_t m, int exponent, bool complement)
{
    double power = 1.0; /* and all its steps are exact */

    for (int i = 0; i < abs(exponent); i++)
        power *= 10.0;
    if (exponent > 0)
        return (double)m * power;
    return (complement ? power - (double)m : (double)m) / power;
}

/* Finds the parameter `key` (NULL: any) that changes the size and has an effect. Returns the first,
 * or NULL. */
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

static int init_whole(struct gcb_rate_axis *axis, const struct gcb_method *m, struct gcb_diag *diag)
{
    const struct gcb_param *p = axis->param;
    uint64_t low = p->min < 1.0 ? 1 : (uint64_t)p->min, high = (uint64_t)p->max;

    while (low < high && !is_valid(m, axis->row, low))
        low++;
    while (high > low && !is_valid(m, axis->row, high))
        high--;
    if (!is_valid(m, axis->row, low))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "method '%s': no value of '%s' is valid with its other parameters",
                            m->name, p->name);
    axis->low = low;
    axis->count = high - low + 1;
    return 0;
}

/* Whole decades within the parameter's range; of a complement, the decades of the complement. */
static void init_real(struct gcb_rate_axis *axis)
{
    const struct gcb_param *p = axis->param;
    const bool density = p->complement[0];
    const double least = density || p->min <= 0.0 ? -INFINITY : ceil(log10(p->min) - 1e-9);
    const double most = density ? INFINITY : floor(log10(p->max) + 1e-9);
    const int to = density ? DENSITY_TO : most < REAL_TO ? (int)most : REAL_TO;

    axis->exponent = density ? DENSITY_FROM : least > REAL_FROM ? (int)least : REAL_FROM;
    axis->count = (uint64_t)(to - axis->exponent) * DECADE + 1;
}

int gcb_rate_axis_init(struct gcb_rate_axis *axis, const struct gcb_method *m, const char *key,
                       struct gcb_diag *diag)
{
    *axis = (struct gcb_rate_axis){.count = 1};
    axis->param = find_param(m, key, &axis->row);
    if (!axis->param)
        return key ? gcb_diag_set(diag, GCB_E_INVALID,
                                  "method '%s' has no parameter '%s' that changes the size",
                                  m->name, key)
                   : 0;
    if (m->given[axis->row])
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "method '%s': '%s' is searched for; do not give its value", m->name,
                            axis->param->name);
    if (axis->param->type != GCB_PARAM_REAL)
        return init_whole(axis, m, diag);
    init_real(axis);
    return 0;
}

/* True if the number of a position falls along the line. Position 0 has the smallest messages; a
 * complement is 1 - parameter, so it rises if the parameter falls. */
static bool falls(const struct gcb_rate_axis *axis)
{
    return (axis->param->rate == GCB_RATE_DOWN) != (axis->param->complement[0] != NULL);
}

uint64_t gcb_rate_axis_scale(const struct gcb_rate_axis *axis, uint64_t position, double factor)
{
    const bool real = axis->param && axis->param->type == GCB_PARAM_REAL;
    const uint64_t last = axis->count - 1;
    uint64_t at;
    double number, digits;
    int decade;

    if (!axis->param)
        return position;
    at = falls(axis) ? last - position : position;
    factor = falls(axis) ? 1.0 / factor : factor;
    number = real ? (double)(10000 + at % DECADE) * pow(10.0, (double)(at / DECADE)) * factor
                  : (double)(axis->low + at) * factor;
    if (real && number >= 10000.0) {
        decade = (int)floor(log10(number)) - DIGITS;
        digits = rint(number / pow(10.0, decade)) - 10000.0;
        number = (double)decade * DECADE + fmin(fmax(digits, 0.0), DECADE);
    } else {
        number = real ? 0.0 : fmax(rint(number) - (double)axis->low, 0.0);
    }
    at = number >= (double)last ? last : (uint64_t)number;
    return falls(axis) ? last - at : at;
}

int gcb_rate_axis_set(struct gcb_method *m, const struct gcb_rate_axis *axis, uint64_t position,
                      struct gcb_diag *diag)
{
    const struct gcb_param *p = axis->param;
    const bool real = p && p->type == GCB_PARAM_REAL;
    const uint64_t at = p && falls(axis) ? axis->count - 1 - position : position;

    if (!p)
        return 0;
    m->given[axis->row] = true;
    return gcb_method_assign(m, p->name,
                             real ? gcb_decimal(10000 + at % DECADE,
                                                axis->exponent + (int)(at / DECADE) - DIGITS,
                                                p->complement[0])
                                  : (double)(axis->low + at),
                             diag);
}
