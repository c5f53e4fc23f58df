#include "cli/payoff/payoff_measure.h"

#include <math.h>
#include <string.h>

#include "cli/base/interrupt.h"
#include "src/lib/base/alloc.h"
#include "src/tool/payoff/payoff_measure.h"
#include "src/tool/rows/environment.h"

static bool on_stop(void *ctx)
{
    (void)ctx;
    return interrupt_seen();
}

static void on_progress(void *ctx, double done)
{
    struct payoff_machine *machine = ctx;

    progress_update(&machine->progress, done);
}

/* Those that were named, or all, and fp16 to compare them with. */
static int find_methods(const struct payoff_options *o, struct gcb_method **methods, size_t *count,
                        struct gcb_diag *diag)
{
    struct gcb_method *given = NULL, *m;
    size_t all = 0;
    int err = opt_methods_resolve(&given, count, &o->methods, diag);

    if (err)
        return err;
    while (gcb_method_at(&(struct gcb_method){.name = NULL}, all))
        all++;
    m = gcb_alloc_array(*count + all + 1, sizeof(*m));
    for (size_t i = 0; m && i < *count; i++)
        m[i] = given[i];
    for (size_t i = 0; m && *count == 0 && i < all; i++)
        gcb_method_at(&m[i], i);
    gcb_free(given);
    *methods = m;
    if (!m)
        return gcb_diag_nomem(diag, 0, "methods");
    if (*count == 0)
        *count = all;
    else
        err = gcb_method_parse(&m[(*count)++], "fp16", diag);
    for (size_t i = 0; i < *count; i++)
        gcb_method_forget(&m[i]);
    return err;
}

/* The row of the machine, which says how fast it adds. */
static int read_environment(struct payoff_machine *machine, struct gcb_payoff_reader *reader,
                            struct gcb_diag *diag)
{
    const struct gcb_environment env = {.isa = machine->backend.isa,
                                        .threads = machine->backend.queue.threads,
                                        .device = machine->backend.device,
                                        .bandwidth = &machine->bandwidth,
                                        .bandwidth_count = 1};
    struct gcb_row row;
    int err = gcb_bandwidth_measure(&machine->bandwidth, &machine->backend.queue, 0, diag);

    if (err)
        return err;
    gcb_environment_row(&row, &env);
    err = gcb_payoff_reader_row(reader, "synthetic", row.json, diag);
    gcb_row_fini(&row);
    return err;
}

int payoff_measure(struct gcb_payoff_reader *reader, const struct payoff_options *o,
                   struct payoff_machine *machine, const struct cmd_context *ctx)
{
    const struct gcb_rows_setting setting = {.scope = "tensor",
                                             .order = "name",
                                             .device = machine->backend.device,
                                             .isa = machine->backend.isa,
                                             .threads = machine->backend.queue.threads,
                                             .read_gbps = NAN,
                                             .fill_gbps = NAN,
                                             .without_samples = true};
    struct gcb_payoff_measure m = {
        .trial = {.kernels = &machine->backend.kernels,
                  .queue = &machine->backend.queue,
                  .seed = machine->backend.seed,
                  .fft_rigor = (enum gcb_fft_rigor)o->exec.fft_plan,
                  .stages = true,
                  .timing = {.warmup = 1, .repeat = 5, .min_time = 0.01, .stop = on_stop}},
        .setting = &setting,
        .progress = on_progress,
        .ctx = machine,
    };
    struct gcb_method *methods = NULL;
    int err = find_methods(o, &methods, &m.method_count, ctx->diag);

    m.methods = methods;
    if (!err)
        err = read_environment(machine, reader, ctx->diag);
    progress_start(&machine->progress, ctx->err, !o->show.quiet);
    if (!err)
        err = gcb_payoff_measure(reader, &m, ctx->diag);
    progress_end(&machine->progress);
    gcb_free(methods);
    return err;
}
