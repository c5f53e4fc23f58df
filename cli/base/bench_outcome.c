#include "cli/base/bench_outcome.h"

static void add_total(struct bench_outcome *o, const struct gcb_run_total *total)
{
    const int status = total->failure.status;

    if (status == GCB_E_BACKEND && !o->missing.status)
        o->missing = total->failure;
    if (!status || gcb_run_unsupported(total))
        return;
    if (!o->failed || (status == GCB_E_UNVERIFIED && !o->unverified))
        o->first_bad = total->failure;
    o->failed++;
    o->unverified += status == GCB_E_UNVERIFIED;
}

void bench_outcome_add(struct bench_outcome *o, const struct gcb_run_result *result)
{
    for (size_t i = 0; result->totals && i < result->method_count; i++)
        add_total(o, &result->totals[i]);
    o->methods += result->method_count;
}

int bench_outcome_judge(const struct bench_outcome *o, FILE *err, struct gcb_diag *diag)
{
    if (o->failed)
        fprintf(err, "gcbench: %zu of %zu %s failed%s: %s\n", o->failed, o->methods,
                o->noun ? o->noun : "methods", o->failed > 1 ? "; the first" : "",
                o->first_bad.text);
    if (o->unverified)
        return CMD_NOT_VERIFIED;
    if (o->failed)
        return CMD_FAILED;
    return o->missing.status ? gcb_diag_set(diag, GCB_E_BACKEND, "%s", o->missing.text) : 0;
}
