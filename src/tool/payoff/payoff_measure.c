#include "src/tool/payoff/payoff_measure.h"

#include "src/lib/base/alloc.h"
#include "src/tool/dump/synthetic.h"

#define LARGEST ((uint64_t)GCB_PAYOFF_SMALLEST << 2 * (GCB_PAYOFF_SIZES - 1))

static const char name[] = "synthetic";

static int add_row(struct gcb_payoff_reader *reader, const struct gcb_payoff_measure *m,
                   size_t method, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    struct gcb_row row;
    int err;

    gcb_rows_result(&row, m->setting, &m->methods[method], trial);
    err = row.failed ? gcb_diag_nomem(diag, 0, "a row")
                     : gcb_payoff_reader_row(reader, name, row.json, diag);
    gcb_row_fini(&row);
    return err;
}

static bool stopped(const struct gcb_payoff_measure *m)
{
    const struct gcb_timing *t = &m->trial.timing;

    return t->stop && t->stop(t->stop_ctx);
}

/* Measures all methods on a tensor of one size. */
static int measure_size(struct gcb_payoff_reader *reader, const struct gcb_payoff_measure *m,
                        struct gcb_trial_bench *bench, const float *x, uint64_t count,
                        struct gcb_diag *diag)
{
    const struct gcb_tensor tensor = {.path = name, .file = name, .count = count};
    const struct gcb_message_plan plan = {
        .count = count, .input_bytes = count * sizeof(float), .dtype = GCB_F32};
    const struct gcb_trial_input in = {
        .plan = &plan, .data = x, .env = {.count = count, .path = name}};
    int err = 0;

    for (size_t i = 0; !err && i < m->method_count && !stopped(m); i++) {
        struct gcb_run_trial trial = {
            .plan = &plan, .first = &tensor, .name = name, .method = i, .input = x};

        err = gcb_trial_run(bench, &trial.tally, &m->methods[i], &in, diag);
        trial.encode = &bench->encode;
        trial.decode = &bench->decode;
        trial.decoded = bench->decoded;
        if (!err)
            err = add_row(reader, m, i, &trial, diag);
    }
    return err;
}

int gcb_payoff_measure(struct gcb_payoff_reader *reader, const struct gcb_payoff_measure *m,
                       struct gcb_diag *diag)
{
    struct gcb_trial_bench bench = {.decoded = NULL};
    struct gcb_synthetic laplace;
    float *x = gcb_alloc_array(LARGEST, sizeof(*x));
    int err = x ? gcb_synthetic_parse(&laplace, "laplace", diag)
                : gcb_diag_nomem(diag, LARGEST * sizeof(*x), "a synthetic tensor");

    if (err)
        goto out;
    gcb_synthetic_fill(&laplace, x, LARGEST, m->trial.seed, 0);
    err = gcb_trial_bench_init(&bench, &m->trial, LARGEST, diag);
    for (unsigned i = 0; !err && i < GCB_PAYOFF_SIZES && !stopped(m); i++) {
        err = measure_size(reader, m, &bench, x, (uint64_t)GCB_PAYOFF_SMALLEST << 2 * i, diag);
        if (m->progress)
            m->progress(m->ctx, (double)(i + 1) / GCB_PAYOFF_SIZES);
    }
out:
    gcb_trial_bench_fini(&bench);
    gcb_free(x);
    return err;
}
