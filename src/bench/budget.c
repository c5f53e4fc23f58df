#include "src/bench/budget.h"

#include "src/base/clock.h"

#define LEAST 1e-9   /* seconds: over after the first sample */
#define GENEROUS 3.0 /* times a fair share */

void gcb_budget_start(struct gcb_budget *b, double seconds, double weight)
{
    b->deadline = gcb_clock() + seconds;
    b->weight = weight;
}

double gcb_budget_take(struct gcb_budget *b, double weight)
{
    const double left = b->deadline - gcb_clock();
    const double fair = b->weight > 0.0 ? GENEROUS * weight / b->weight : 1.0;
    const double share = fair < 1.0 ? fair : 1.0;

    b->weight -= weight;
    return left * share > LEAST ? left * share : LEAST;
}
