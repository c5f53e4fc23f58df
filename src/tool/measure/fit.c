#include "src/tool/measure/fit.h"

#include <math.h>

void gcb_fit_add(struct gcb_fit_sums *s, double x, double y)
{
    double w;

    if (!(x > 0.0 && y > 0.0 && isfinite(x) && isfinite(y)))
        return;
    if (s->points++ == 0) {
        s->unit = x;
        s->least = s->most = x;
    }
    s->least = fmin(s->least, x);
    s->most = fmax(s->most, x);
    w = 1.0 / (y * y);
    x /= s->unit;
    s->w += w;
    s->wx += w * x;
    s->wy += w * y;
    s->wxx += w * x * x;
    s->wxy += w * x * y;
    s->wyy += w * y * y;
}

/* Returns the sum of squared relative errors of the line a + b x, with x in units of s->unit. */
static double squares(const struct gcb_fit_sums *s, double a, double b)
{
    const double sum =
        s->wyy + a * a * s->w + b * b * s->wxx + 2.0 * (a * b * s->wx - a * s->wy - b * s->wxy);

    return fmax(sum, 0.0);
}

/* Finds the a >= 0 and b >= 0 for which squares() is smallest. If the unconstrained minimum has a <
 * 0 or b < 0, the minimum has a = 0 or b = 0, because squares() is convex. */
static void solve(const struct gcb_fit_sums *s, double *a, double *b)
{
    const double det = s->w * s->wxx - s->wx * s->wx;
    const double level = s->wy / s->w;    /* the best a if b = 0 */
    const double slope = s->wxy / s->wxx; /* the best b if a = 0 */

    *a = (s->wxx * s->wy - s->wx * s->wxy) / det;
    *b = (s->w * s->wxy - s->wx * s->wy) / det;
    if (*a >= 0.0 && *b >= 0.0)
        return;
    *a = squares(s, level, 0.0) < squares(s, 0.0, slope) ? level : 0.0;
    *b = *a > 0.0 ? 0.0 : slope;
}

void gcb_fit_line(struct gcb_fit *out, const struct gcb_fit_sums *s)
{
    double a = 0.0, b;

    *out = (struct gcb_fit){NAN, NAN, NAN, 0, false};
    if (s->points == 0)
        return;
    out->points = s->points;
    out->good = s->most >= 2.0 * s->least;
    b = s->wxy / s->wxx;
    if (out->good)
        solve(s, &a, &b);
    out->fixed = a;
    out->slope = b / s->unit;
    out->error = sqrt(squares(s, a, b) / (double)s->points);
}
