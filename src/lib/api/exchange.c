#include "src/lib/exchange/exchange.h"

#include <math.h>

#include "src/lib/api/options.h"

/* Public functions of struct gcb_exchange. src/lib/exchange/exchange.c has the other ones. */

#define WORKERS_MOST 0x100000u /* GCB_SUMMAND_MOST (src/lib/codec) relies on this limit */

static int check_options(const struct gcb_options *o, unsigned workers, struct gcb_diag *diag)
{
    if (o->input != GCB_F32)
        return gcb_invalid(diag, "an exchange takes float32 elements only");
    if (o->worker >= workers)
        return gcb_invalid(diag, "worker %u of %u: workers are counted from 0", o->worker, workers);
    if (workers > WORKERS_MOST)
        return gcb_invalid(diag, "an exchange has at most %u workers, not %u", WORKERS_MOST,
                           workers);
    for (unsigned w = 0; o->weights && w < workers; w++)
        if (!isfinite(o->weights[w]))
            return gcb_invalid(diag, "the weight of worker %u is not finite", w);
    return 0;
}

int gcb_exchange_open(struct gcb_exchange **out, const char *spec, uint64_t n,
                      const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_exchange_config config = {0};
    struct gcb_settings s;
    int err = gcb_settings_open(&s, out, "the place for the exchange", spec, n, options, diag);

    if (err)
        return err;
    config.coder = s.config;
    config.workers = s.options.workers ? s.options.workers : 1;
    config.worker = s.options.worker;
    config.weights = s.options.weights;
    err = check_options(&s.options, config.workers, diag);
    return err ? err : gcb_exchange_create(out, &s.method, &config, diag);
}

int gcb_exchange_set_norm(struct gcb_exchange *e, double norm, struct gcb_diag *diag)
{
    if (gcb_need(e, "the exchange", diag))
        return GCB_E_INVALID;
    if (norm < 0.0)
        return gcb_invalid(diag, "the norm %g is negative", norm);
    gcb_memory_set_norm(gcb_exchange_memory(e), isnan(norm) ? (double)INFINITY : norm);
    return 0;
}
