#include "src/tool/measure/steady.h"

void gcb_steady_init(struct gcb_steady *s)
{
    *s = (struct gcb_steady){.look_at = GCB_STEADY_LEAST};
}

bool gcb_steady_due(const struct gcb_steady *s, size_t count)
{
    return count >= s->look_at;
}

bool gcb_steady_look(struct gcb_steady *s, size_t count, bool narrow)
{
    const bool before = s->narrow;

    s->look_at = count + 1 + count / 8;
    s->narrow = narrow;
    return before && narrow;
}

bool gcb_steady_narrow(const struct gcb_stats *stats, double precision)
{
    return stats->high - stats->low <= 2.0 * precision * stats->median;
}
