#include "src/tool/measure/budget.h"

#include <math.h>

#include "src/tool/base/clock.h"

#define LEAST 1e-9   /* seconds if no time is left: a measurement ends after its first sample */
#define GENEROUS 3.0 /* a piece may take this many times its share */
#define KEPT 0.5     /* part of the initial share that later pieces keep */

void gcb_budget_start(struct gcb_budget *b, double seconds, double weight)
{
    b->deadline = gcb_clock() + seconds;
    b->weight = weight;
    b->fair = weight > 0.0 ? seconds / weight : 0.0;
}

double gcb_budget_take(struct gcb_budget *b, double weight)
{
    const double left = b->deadline - gcb_clock();
    const double share = weight < b->weight ? left * weight / b->weight : left;
    double spare;

    b->weight = fmax(b->weight - weight, 0.0);
    spare = left - KEPT * b->fair * b->weight;
    return fmax(LEAST, fmin(GENEROUS * share, fmax(spare, share)));
}
