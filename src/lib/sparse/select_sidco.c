#include <math.h>

#include "src/lib/sparse/select.h"

/*
 * SIDCo's selection (Abdelmoniem et al. 2021): a distribution is fitted to the magnitudes, and its
 * quantile is the threshold. Far in the tail a fit is poor. So there are several stages if less
 * than a quarter is to be kept and the parameter `stages` is not 1. The first stage sets a
 * threshold for a quarter of the magnitudes. Each further stage fits the magnitudes from the
 * threshold on, minus the least of them, and raises the threshold. Zeros are left out of all fits.
 *
 * Logarithms and exponentials are computed here, so that all machines find the same threshold.
 */

enum fit { FIT_EXPONENTIAL, FIT_GAMMA, FIT_PARETO };

/* share that the first of several stages keeps; with stages=0 also the others, except the last */
#define FIRST_RATIO 0.25

/* The natural logarithm of x > 0. */
static double logarithm(double x)
{
    int exponent;
    double m = frexp(x, &exponent), t, power, sum = 0.0;

    if (m < 0.7071067811865476) {
        m *= 2.0;
        exponent--;
    }
    t = (m - 1.0) / (m + 1.0);
    power = t;
    for (int i = 1; i < 24; i += 2) {
        sum += power / i;
        power *= t * t;
    }
    return 2.0 * sum + exponent * 0.6931471805599453;
}

/* The mean of exp(t) for t from 0 to u: (exp(u) - 1) / u, or 1 for u = 0. */
static double mean_of_exp(double u)
{
    double sum = 0.0, term = 1.0;

    if (u < -700.0) /* exp(u) is too small to change the difference */
        return -1.0 / u;
    /* by halves: (e^u - 1) / u = (e^(u/2) + 1) / 2 * (e^(u/2) - 1) / (u/2) */
    if (u < -0.5 || u > 0.5) {
        const double half = mean_of_exp(u / 2.0);

        return half * (half * u / 4.0 + 1.0);
    }
    for (int i = 1; i < 16; i++) {
        sum += term;
        term *= u / (i + 1);
    }
    return sum;
}

/* The logarithm of the gamma function of a > 0. */
static double log_gamma(double a)
{
    double below = 1.0, z;

    for (; a < 8.0; a += 1.0)
        below *= a;
    z = 1.0 / (a * a);
    return (a - 0.5) * logarithm(a) - a + 0.9189385332046727 - logarithm(below) +
           (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z / 1680.0))) / a;
}

/* Count and sums of the magnitudes that are not 0. */
struct moments {
    double count, sum, sum_sq;
    double sum_log; /* 0 unless wanted */
};

/* The sum of the logarithms of the magnitudes other than 0. Mantissas are multiplied, exponents
 * added. */
static double sum_logs(const float *x, uint64_t n)
{
    double product = 1.0, sum = 0.0;
    int64_t exponents = 0;

    for (uint64_t i = 0; i < n; i++) {
        int exponent = 0;

        if (x[i] != 0.0f)
            product *= frexp(fabs((double)x[i]), &exponent);
        exponents += exponent;
        if (i % 512 == 511 || i + 1 == n) {
            sum += logarithm(product);
            product = 1.0;
        }
    }
    return sum + (double)exponents * 0.6931471805599453;
}

/* `sum` and `sum_sq` follow the rule of kernels/reduce/reduce.h. */
static struct moments moments_of(const struct gcb_selection *s, const float *x, uint64_t n,
                                 bool logs)
{
    const struct gcb_reduce_fns *reduce = &s->kernels->reduce;

    return (struct moments){
        .count = (double)s->kernels->select.count(x, n, 1),
        .sum = gcb_reduce_blocks(reduce->sum_abs, x, n),
        .sum_sq = gcb_reduce_blocks(reduce->sum_sq, x, n),
        .sum_log = logs ? sum_logs(x, n) : 0.0,
    };
}

/* The magnitude above which the fitted distribution has the share `ratio`. No magnitude is below
 * `least`. */
static double quantile(enum fit fit, const struct moments *m, double least, double ratio)
{
    const double mean = m->sum / m->count, excess = mean - least, l = logarithm(ratio);
    const double variance = m->sum_sq / m->count - mean * mean;
    double shape;

    if (fit == FIT_EXPONENTIAL || excess <= 0.0 || variance <= 0.0)
        return least - excess * l;
    if (fit == FIT_GAMMA) {
        const double s = logarithm(mean) - m->sum_log / m->count;

        if (!(s > 1e-9))
            return mean;
        shape = (3.0 - s + sqrt((s - 3.0) * (s - 3.0) + 24.0 * s)) / (12.0 * s);
        return -mean / shape * (l + log_gamma(shape));
    }
    shape = 0.5 * (excess * excess / variance - 1.0);
    return least - 0.5 * excess * (excess * excess / variance + 1.0) * l * mean_of_exp(shape * l);
}

/* The bits of the threshold, but at least 1 and at most `most`, the bits of the largest
 * magnitude. */
static uint32_t threshold_bits(double threshold, uint32_t most)
{
    const uint32_t bits = threshold > 0.0 ? gcb_bits_of((float)threshold) : 1;

    return bits > most ? most : bits < 1 ? 1 : bits;
}

static uint32_t least_bits(const float *x, uint64_t n)
{
    uint32_t least = GCB_INF_BITS;

    for (uint64_t i = 0; i < n; i++)
        least = gcb_magnitude(x[i]) < least ? gcb_magnitude(x[i]) : least;
    return least;
}

/* Plans the stages after the first, and returns their number. Sets *each, the share that each of
 * them keeps, except the last, and *last, the share that the last keeps. The product of all these
 * shares is `rest`. `stages` is the parameter, which is not 1. */
static uint64_t plan_stages(uint64_t stages, double rest, double *each, double *last)
{
    uint64_t later = 1;

    *each = FIRST_RATIO;
    *last = rest;
    if (stages) {
        const double l = logarithm(rest) / (double)(stages - 1);

        *each = *last = 1.0 + l * mean_of_exp(l);
        return stages - 1;
    }
    for (; *last < FIRST_RATIO; *last /= FIRST_RATIO)
        later++;
    return later;
}

static bool select_sidco(struct gcb_selection *s, uint64_t k)
{
    enum fit fit = (enum fit)s->p.fit;
    struct moments m;
    uint64_t later = 0;
    uint32_t most;
    double ratio, each, last;

    s->kept = 0;
    if (!gcb_blocks_all(s))
        return false;
    most = s->kernels->reduce.max_bits(s->from.order, s->positions);
    m = moments_of(s, s->from.order, s->positions, fit == FIT_GAMMA);
    if ((double)k >= m.count || most >= GCB_INF_BITS)
        return gcb_select_collect(s, 1);
    ratio = (double)k / m.count;
    if (s->p.stages != 1 && ratio < FIRST_RATIO) {
        later = plan_stages(s->p.stages, ratio / FIRST_RATIO, &each, &last);
        ratio = FIRST_RATIO;
    }
    gcb_select_collect(s, threshold_bits(quantile(fit, &m, 0.0, ratio), most));
    fit = fit == FIT_GAMMA ? FIT_PARETO : fit;
    for (; later > 0 && s->kept > 1; later--) {
        const double least = (double)gcb_float_of(least_bits(s->value, s->kept));

        m = moments_of(s, s->value, s->kept, false);
        gcb_select_cut(s, gcb_side_any,
                       threshold_bits(quantile(fit, &m, least, later > 1 ? each : last), most),
                       UINT64_MAX);
    }
    return true;
}

const char *const gcb_sidco_fit_names[] = {"exponential", "gamma", "pareto", NULL};

const struct gcb_selector gcb_selector_sidco = {
    .max_kept = gcb_select_max_kept_all,
    .select = select_sidco,
};
