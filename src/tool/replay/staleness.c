#include "src/tool/replay/staleness.h"

#include <math.h>
#include <string.h>

void gcb_staleness_clear(struct gcb_staleness *s)
{
    memset(s, 0, sizeof(*s));
}

void gcb_staleness_add(struct gcb_staleness *s, const uint16_t *age, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        s->count[age[i]]++;
    s->total += n;
}

uint64_t gcb_staleness_at(const struct gcb_staleness *s, double share)
{
    const double wanted = ceil(share * (double)s->total);
    uint64_t seen = 0;

    for (uint64_t age = 0; age <= GCB_STALENESS_MAX; age++) {
        seen += s->count[age];
        if (s->total && (double)seen >= wanted)
            return age;
    }
    return 0;
}

uint64_t gcb_staleness_max(const struct gcb_staleness *s)
{
    uint64_t age = GCB_STALENESS_MAX;

    while (age > 0 && s->count[age] == 0)
        age--;
    return age;
}
