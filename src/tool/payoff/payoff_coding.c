#include "src/tool/payoff/payoff_coding.h"

#include <math.h>
#include <string.h>

bool gcb_payoff_same_codec(const struct gcb_method *a, const struct gcb_method *b)
{
    const struct gcb_param *p;

    if (a->codec != b->codec)
        return false;
    for (size_t row = 0; (p = gcb_method_param(a, row)) && p != gcb_memory_table; row++)
        if (gcb_method_applies(a, row) != gcb_method_applies(b, row) ||
            (gcb_method_applies(a, row) && a->value[row] != b->value[row]))
            return false;
    return true;
}

void gcb_payoff_coding(struct gcb_payoff_coding *out, const struct gcb_payoff_cases *cases,
                       const struct gcb_payoff_case *c, const struct gcb_payoff_exchanged *x)
{
    const struct gcb_payoff_model model = {.bytes = x->bytes,
                                           .messages = x->messages,
                                           .bucket = x->bytes,
                                           .compute = NAN,
                                           .inner_steps = 1.0};
    /* Only the times of computing are used. The latency makes payoff choose the way with the fewest steps. */
    const struct gcb_link link = {
        .topology = strcmp(x->algorithm, "ring") == 0 ? GCB_TOPOLOGY_RING : GCB_TOPOLOGY_BEST,
        .bandwidth = INFINITY,
        .latency = strcmp(x->algorithm, "doubling") == 0 ? 1e9 : 0.0,
        .workers = x->workers,
        .servers = 1,
        .per_node = 1,
    };
    const struct gcb_payoff_baselines baselines = gcb_payoff_find_baselines(cases, c->group);
    struct gcb_exchange_params params;
    struct gcb_payoff_scale scale;
    struct gcb_payoff_loads loads;
    enum gcb_baseline baseline;

    gcb_method_exchange(&params, &x->method);
    baseline = params.collective == GCB_COLLECTIVE_ALLREDUCE ? gcb_baseline_of(x->method.name)
                                                             : GCB_BASELINES;
    gcb_payoff_load(&loads, &scale, c, &baselines, &model);
    for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++) {
        struct gcb_load load =
            baseline < GCB_BASELINES ? loads.baselines[b][baseline] : loads.method[b];
        struct gcb_payoff_times times;

        load.collectives = GCB_COLLECTIVE_BIT((unsigned)params.collective);
        gcb_payoff_exchange(&times, &link, &load);
        out->encode[b] = times.encode;
        out->add[b] = params.collective == GCB_COLLECTIVE_ALLREDUCE ? times.add : 0.0;
        out->sum[b] = times.decode + times.average +
                      (params.collective == GCB_COLLECTIVE_ALLREDUCE ? 0.0 : times.add);
    }
}
