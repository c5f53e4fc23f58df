#include "src/tool/payoff/papers.h"

#include <math.h>

double gcb_payoff_least_ratio(double coding, double bandwidth)
{
    const double share = coding * bandwidth;

    return share < 1.0 ? 1.0 / (1.0 - share) : INFINITY;
}

static double stages_cost(const struct gcb_fft_stages *s)
{
    return 4.0 / s->quantise + 1.0 / s->transform + 1.0 / s->index + 1.0 / s->select;
}

double gcb_fft_stages_least_ratio(const struct gcb_fft_stages *s, double bandwidth)
{
    return gcb_payoff_least_ratio(2.0 * stages_cost(s), bandwidth);
}

double gcb_fft_stages_break_even(const struct gcb_fft_stages *s)
{
    return 1.0 / (2.0 * stages_cost(s));
}

void gcb_redsync_times(struct gcb_redsync_times *out, const struct gcb_redsync *in)
{
    const double p = in->workers, rounds = ceil(log2(p)), others = (p - 1.0) / p;
    const double message = in->bytes * in->density * in->words;

    out->sparse_latency = rounds * in->latency;
    out->sparse_wire = (p - 1.0) * message / in->bandwidth;
    out->sparse_unpack = p * in->unpack;
    out->sparse = in->select + out->sparse_latency + out->sparse_wire + out->sparse_unpack;
    out->dense_latency = 2.0 * rounds * in->latency;
    out->dense_wire = 2.0 * others * in->bytes / in->bandwidth;
    out->dense_reduce = others * in->reduce;
    out->dense = out->dense_latency + out->dense_wire + out->dense_reduce;
    out->bandwidth_ratio = (p - 1.0) * in->density * in->words / (2.0 * others);
    out->even_workers = 2.0 / (in->density * in->words);
}
