#include "src/tool/exchange/coding.h"

#include <math.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/diag.h"
#include "src/tool/payoff/payoff_load.h"

struct gcb_coding {
    const char *path;
    struct gcb_payoff_cases cases;
};

int gcb_coding_open(struct gcb_coding **out, const char *path, struct gcb_diag *diag)
{
    struct gcb_coding *c = gcb_alloc_zero(1, sizeof(*c));
    struct gcb_payoff_reader *reader = NULL;
    int err = c ? gcb_payoff_reader_create(&reader, NULL, diag)
                : gcb_diag_nomem(diag, sizeof(*c), "times of coding");

    if (!err)
        err = gcb_payoff_reader_file(reader, path, diag);
    if (!err)
        err = gcb_payoff_reader_finish(reader, &c->cases, diag);
    gcb_payoff_reader_destroy(reader);
    *out = c;
    if (c)
        c->path = path;
    return err;
}

void gcb_coding_close(struct gcb_coding *c)
{
    if (c)
        gcb_payoff_cases_fini(&c->cases);
    gcb_free(c);
}

/* Have the methods the same codec and parameters of the codec? Memory and collective may differ. */
static bool same_codec(const struct gcb_method *a, const struct gcb_method *b)
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

/* The baseline that the method is when an all-reduce carries it; GCB_BASELINES: none. */
static enum gcb_baseline baseline_of(const struct gcb_method *method, int collective)
{
    return collective == GCB_COLLECTIVE_ALLREDUCE ? gcb_baseline_of(method->name) : GCB_BASELINES;
}

static const struct gcb_payoff_case *find_case(const struct gcb_coding *c,
                                               const struct gcb_method *method)
{
    struct gcb_method measured;
    struct gcb_diag ignored;

    for (size_t i = 0; i < c->cases.count; i++)
        if (!gcb_method_parse(&measured, c->cases.items[i].spec, &ignored) &&
            same_codec(method, &measured))
            return &c->cases.items[i];
    return NULL;
}

int gcb_coding_find(struct gcb_coding_times *out, const struct gcb_coding *c,
                    const struct gcb_method *method, enum gcb_net_algorithm algorithm,
                    unsigned workers, double bytes, double messages, struct gcb_diag *diag)
{
    const struct gcb_payoff_model model = {
        .bytes = bytes, .messages = messages, .bucket = bytes, .compute = NAN, .inner_steps = 1.0};
    /* Only the times of computing are used. The latency makes payoff choose the way with the fewest steps. */
    const struct gcb_link link = {
        .topology = algorithm == GCB_NET_RING ? GCB_TOPOLOGY_RING : GCB_TOPOLOGY_BEST,
        .bandwidth = INFINITY,
        .latency = algorithm == GCB_NET_DOUBLING ? 1e9 : 0.0,
        .workers = workers,
        .servers = 1,
        .per_node = 1,
    };
    const struct gcb_payoff_case *found = find_case(c, method);
    struct gcb_payoff_baselines baselines;
    struct gcb_exchange_params params;
    struct gcb_payoff_scale scale;
    struct gcb_payoff_loads loads;
    struct gcb_payoff_times times;
    enum gcb_baseline baseline;
    struct gcb_load load;
    char spec[512];

    gcb_method_exchange(&params, method);
    baseline = baseline_of(method, params.collective);
    if (!found)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s has no times of %s; measure them: gcbench bench --method %s "
                            "--results FILE",
                            c->path, gcb_method_spec(spec, sizeof(spec), method, GCB_SPEC_GIVEN),
                            spec);
    baselines = gcb_payoff_find_baselines(&c->cases, found->group);
    gcb_payoff_load(&loads, &scale, found, &baselines, &model);
    load = baseline < GCB_BASELINES ? loads.baselines[GCB_BOUND_MEDIAN][baseline]
                                    : loads.method[GCB_BOUND_MEDIAN];
    load.collectives = GCB_COLLECTIVE_BIT((unsigned)params.collective);
    gcb_payoff_exchange(&times, &link, &load);
    *out = (struct gcb_coding_times){
        .encode = times.encode,
        .sum = times.decode + times.add + times.average,
    };
    if (out->encode >= 0.0 && out->sum >= 0.0)
        return 0;
    return gcb_diag_set(diag, GCB_E_INVALID, "%s has no times of decoding %s", c->path,
                        gcb_method_spec(spec, sizeof(spec), method, GCB_SPEC_GIVEN));
}
