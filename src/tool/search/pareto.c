#include "src/tool/search/pareto.h"

#include <math.h>

void gcb_pareto_mark(bool *mark, const struct gcb_pareto_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct gcb_pareto_point *p = &points[i];

        mark[i] = !isnan(p->error) && !isnan(p->bits);
        for (size_t k = 0; mark[i] && k < count; k++)
            mark[i] = !(points[k].error <= p->error && points[k].bits <= p->bits &&
                        (points[k].error < p->error || points[k].bits < p->bits));
    }
}
