#include "src/tool/exchange/coding.h"

#include "src/lib/base/alloc.h"
#include "src/lib/base/diag.h"
#include "src/tool/payoff/timed.h"

struct gcb_coding {
    const char *path;
    struct gcb_timed timed;
};

int gcb_coding_open(struct gcb_coding **out, const char *path, struct gcb_diag *diag)
{
    struct gcb_coding *c = gcb_alloc_zero(1, sizeof(*c));

    *out = c;
    if (!c)
        return gcb_diag_nomem(diag, 0, "times of coding");
    c->path = path;
    return gcb_timed_read(&c->timed, &path, 1, NULL, diag);
}

void gcb_coding_close(struct gcb_coding *c)
{
    if (c)
        gcb_timed_fini(&c->timed);
    gcb_free(c);
}

int gcb_coding_find(struct gcb_coding_times *out, const struct gcb_coding *c,
                    const struct gcb_method *method, unsigned workers, double bytes,
                    struct gcb_diag *diag)
{
    const double elements = bytes / 4.0, n = workers;
    struct gcb_exchange_params params;
    struct gcb_cost cost;
    char spec[512];

    gcb_method_exchange(&params, method);
    if (!gcb_timed_exact(&cost, &c->timed, method, (enum gcb_collective)params.collective))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s has no times of %s; measure them: gcbench bench --method %s "
                            "--results FILE",
                            c->path, gcb_method_spec(spec, sizeof(spec), method, GCB_SPEC_GIVEN),
                            spec);
    out->encode = elements * (cost.code + cost.code_share / n);
    out->sum = elements * (cost.decode + cost.add + cost.add_each * n);
    if (params.collective == GCB_COLLECTIVE_ALLREDUCE) /* values are added on their way */
        out->sum += elements * cost.combine * (n - 1.0) / n;
    return 0;
}
