#include <math.h>
#include <string.h>

#include "cli/base/interrupt.h"
#include "cli/base/progress.h"
#include "cli/payoff/payoff_show.h"
#include "src/lib/base/alloc.h"
#include "src/tool/payoff/payoff_measure.h"
#include "src/tool/rows/environment.h"

/* The state of the command. Starts zeroed. */
struct payoff {
    const struct payoff_options *o;
    const struct opt_list *files;
    struct cmd_context *ctx;
    struct payoff_plan plan;
    struct opt_backend backend;
    struct gcb_bandwidth bandwidth; /* set only if payoff measures the times itself */
    struct progress progress;
    struct gcb_payoff_cases cases;
    struct gcb_truths truths; /* measured exchanges */
    struct out_report report;
    struct gcb_payoff_point *points; /* points of one group of cases and one number of workers */
    struct gcb_payoff_place
        *places; /* for the answer: each group, number of workers and bandwidth */
    size_t place_count, place_cap;
    bool stages_shown;
};

/* ---- times: measured now, or read ---- */

/* Finds the methods that were named, and the baselines. If none was named, finds all methods. */
static int find_methods(const struct payoff *c, struct gcb_method **methods, size_t *count,
                        struct gcb_diag *diag)
{
    int err = opt_methods_or_all(methods, count, &c->o->methods, diag);

    if (!err && c->o->methods.specs.count)
        err = opt_methods_append(methods, count, "fp16", diag);
    if (!err && c->o->methods.specs.count)
        err = opt_methods_append(methods, count, "bf16", diag);
    for (size_t i = 0; !err && i < *count; i++)
        gcb_method_forget(&(*methods)[i]);
    return err;
}

/* Measures the machine's bandwidth, which tells how fast it adds gradients, and gives the reader a row with it. */
static int measure_bandwidth(struct payoff *c, struct gcb_payoff_reader *reader,
                             struct gcb_diag *diag)
{
    const struct gcb_environment env = {.isa = c->backend.isa,
                                        .threads = c->backend.queue.threads,
                                        .device = c->backend.device,
                                        .bandwidth = &c->bandwidth,
                                        .bandwidth_count = 1};
    struct gcb_row row;
    int err = gcb_bandwidth_measure(&c->bandwidth, &c->backend.queue, 0, diag);

    if (err)
        return err;
    gcb_environment_row(&row, &env);
    err = gcb_payoff_reader_row(reader, "synthetic", row.json, diag);
    gcb_row_fini(&row);
    return err;
}

/* Measures the methods on synthetic tensors. */
static int measure_times(struct payoff *c, struct gcb_payoff_reader *reader, struct gcb_diag *diag)
{
    const struct gcb_rows_setting setting = {.scope = "tensor",
                                             .order = "name",
                                             .device = c->backend.device,
                                             .isa = c->backend.isa,
                                             .threads = c->backend.queue.threads,
                                             .read_gbps = NAN,
                                             .fill_gbps = NAN,
                                             .without_samples = true};
    struct gcb_payoff_measure m = {
        .trial = {.kernels = &c->backend.kernels,
                  .queue = &c->backend.queue,
                  .seed = c->backend.seed,
                  .fft_rigor = (enum gcb_fft_rigor)c->o->exec.fft_plan,
                  .stages = true,
                  .sums = true,
                  .timing = {.warmup = 1, .repeat = 9, .min_time = 0.01, .stop = interrupt_stop}},
        .setting = &setting,
        .progress = progress_update,
        .ctx = &c->progress,
    };
    struct gcb_payoff_model *model = &c->plan.model;
    struct gcb_method *methods = NULL;
    int err = find_methods(c, &methods, &m.method_count, diag);

    m.methods = methods;
    /* without --messages, assume the fewest messages that are no larger than the measured ones */
    if (model->messages == 0.0)
        model->messages =
            ceil(model->bytes / ldexp(4.0 * GCB_PAYOFF_SMALLEST, 2 * (GCB_PAYOFF_SIZES - 1)));
    if (!err)
        err = measure_bandwidth(c, reader, diag);
    progress_start(&c->progress, c->ctx->err, !c->o->show.quiet);
    if (!err)
        err = gcb_payoff_measure(reader, &m, diag);
    progress_end(&c->progress);
    gcb_free(methods);
    return err;
}

static int find_cases(struct payoff *c, struct gcb_diag *diag)
{
    const struct opt_list *specs = &c->o->methods.specs;
    struct gcb_payoff_reader *reader = NULL;
    int err = gcb_payoff_reader_create(&reader, &c->truths, diag);

    if (!err && c->files->count == 0)
        err = measure_times(c, reader, diag);
    for (size_t i = 0; !err && i < c->files->count; i++)
        err = gcb_payoff_reader_file(reader, c->files->items[i], diag);
    if (!err)
        err = gcb_payoff_reader_finish(reader, &c->cases, diag);
    gcb_payoff_reader_destroy(reader);
    for (size_t i = 0; !err && i < c->cases.count && c->plan.model.bytes == 0.0; i++)
        if (!(c->cases.items[i].exchanges > 0.0))
            err =
                gcb_diag_set(diag, GCB_E_INVALID,
                             "%s: %s has only a summary of several steps or workers, and does not "
                             "say of how many: give --model-bytes",
                             c->cases.items[i].path, c->cases.items[i].label);
    if (!err && c->cases.count && c->files->count && specs->count)
        err = gcb_payoff_select(&c->cases, specs->items, specs->count, diag);
    if (!err && c->truths.count && specs->count)
        err = gcb_truths_select(&c->truths, specs->items, specs->count, diag);
    if (!err && c->truths.count)
        err = gcb_truths_take_coding(&c->truths, &c->cases, diag);
    if (!err && c->truths.count && c->plan.bandwidths.count != 1)
        err = gcb_diag_set(diag, GCB_E_INVALID,
                           "the results hold measured exchanges, and a prediction needs their "
                           "network: give --link FILE (`gcbench-mpi --calibrate -o FILE` measures "
                           "it) or one --bandwidth");
    return err;
}

/* ---- rows and tables ---- */

static int open_report(struct payoff *c)
{
    const struct out_bandwidths bandwidths = {&c->bandwidth, c->bandwidth.bytes > 0};
    const int err = out_open(&c->report, &c->o->show, &c->o->save, c->files,
                             GCB_RECORD_BIT(GCB_RECORD_PAYOFF), c->ctx);

    return err ? err
               : out_environment(&c->report, &c->backend, c->files, &bandwidths, false, c->ctx);
}

/* Makes the points of the baselines and of the cases from `first` on: `methods` in all. */
static int put_points(struct payoff *c, const struct gcb_payoff_case *first,
                      const struct gcb_payoff_baselines *baselines, size_t methods,
                      struct gcb_link link, struct gcb_diag *diag)
{
    const size_t bandwidths = c->plan.bandwidths.count;
    struct gcb_row row;
    int err = 0;

    for (size_t i = 0; !err && i < methods * bandwidths && !interrupt_seen(); i++) {
        struct gcb_payoff_point *p = &c->points[i];
        const size_t method = i / bandwidths;

        p->c = method < GCB_BASELINES ? NULL : &first[method - GCB_BASELINES];
        p->group = p->c ? p->c : first;
        p->baseline = p->c ? GCB_BASELINE_FP32 : (enum gcb_baseline)method;
        link.bandwidth = c->plan.bandwidths.values[i % bandwidths];
        gcb_payoff_point(p, baselines, &link, &c->plan.model,
                         i % bandwidths ? &p[-1].verdict : NULL);
        if (!out_wants_rows(&c->report))
            continue;
        gcb_payoff_row(&row, p);
        err = out_put(&c->report, &row, diag);
    }
    return err;
}

/* Sends the FFT paper's condition for each case that has times of its stages, and prints it. */
static int put_stages(struct payoff *c, const struct gcb_payoff_case *cases, size_t count,
                      struct gcb_diag *diag)
{
    const struct gcb_payoff_grid *bandwidths = &c->plan.bandwidths;
    struct gcb_fft_stages stages;
    struct gcb_row row;
    int err = 0;

    for (size_t i = 0; !err && i < count; i++) {
        if (!gcb_payoff_stages(&stages, &cases[i]))
            continue;
        if (c->report.table && c->report.verbose) {
            payoff_show_stages(&c->report, &cases[i], &stages, bandwidths);
            c->stages_shown = true;
        }
        for (size_t b = 0; !err && b < bandwidths->count && out_wants_rows(&c->report); b++) {
            gcb_payoff_fft_row(&row, &cases[i], &stages, bandwidths->values[b]);
            err = out_put(&c->report, &row, diag);
        }
    }
    return err;
}

/* Judges the bandwidths of the points of one group and number of workers. */
static int put_places(struct payoff *c, const struct payoff_view *view, struct gcb_diag *diag)
{
    for (size_t i = 0; i < view->bandwidths; i++) {
        if (gcb_grow(&c->places, &c->place_cap, c->place_count, sizeof(*c->places)))
            return gcb_diag_nomem(diag, 0, "places");
        gcb_payoff_place(&c->places[c->place_count++], view->points + i, view->methods,
                         view->bandwidths);
    }
    return 0;
}

static int run_group(struct payoff *c, const struct gcb_payoff_case *first, size_t count,
                     struct gcb_diag *diag)
{
    const struct payoff_view view = {.methods = count + GCB_BASELINES,
                                     .bandwidths = c->plan.bandwidths.count,
                                     .points = c->points};
    const struct gcb_payoff_baselines baselines =
        gcb_payoff_find_baselines(&c->cases, first->group);
    int err = 0;

    for (size_t w = 0; !err && w < c->plan.workers.count && !interrupt_seen(); w++) {
        struct gcb_link link = c->plan.link;

        link.workers = (unsigned)c->plan.workers.values[w];
        err = put_points(c, first, &baselines, view.methods, link, diag);
        if (err || interrupt_seen())
            continue;
        err = put_places(c, &view, diag);
        if (!err && c->report.table) {
            err = payoff_show(&c->report, &view, diag);
            if (w + 1 < c->plan.workers.count)
                fputc('\n', c->report.out);
        }
    }
    if (!err)
        err = put_stages(c, first, count, diag);
    if (!err && c->report.table && !c->report.quiet && !interrupt_seen())
        payoff_show_notes(&c->report, &view, baselines.cases[GCB_BASELINE_FP16]);
    return err;
}

/* Sends and prints the measured exchanges beside their predictions. */
static int run_truths(struct payoff *c, struct gcb_diag *diag)
{
    struct gcb_link link = c->plan.link;
    struct gcb_row row;
    int err = 0;

    link.bandwidth = c->plan.bandwidths.values[0];
    gcb_truths_judge(&c->truths, &link);
    for (size_t i = 0; !err && i < c->truths.count && out_wants_rows(&c->report); i++) {
        gcb_truth_row(&row, &c->truths, &c->truths.items[i], &link);
        err = out_put(&c->report, &row, diag);
    }
    if (err || !c->report.table)
        return err;
    if (c->cases.count)
        fputc('\n', c->report.out);
    return payoff_show_truths(&c->report, &c->truths, &link, diag);
}

/* Computes, sends and prints one group of cases after another. */
static int run_exchange(struct payoff *c, struct gcb_diag *diag)
{
    const struct gcb_payoff_cases *all = &c->cases;
    char answer[GCB_PAYOFF_WORDS];
    size_t count;
    int err = 0;

    c->points = gcb_alloc_array((all->count + GCB_BASELINES) * c->plan.bandwidths.count,
                                sizeof(*c->points));
    if (!c->points)
        return gcb_diag_nomem(diag, 0, "points");
    for (size_t i = 0; !err && i < all->count && !interrupt_seen(); i += count) {
        size_t listed = 0;

        for (count = 0; i + count < all->count; count++) {
            if (all->items[i + count].group != all->items[i].group)
                break;
            listed += !all->items[i + count].baseline;
        }
        if (i > 0 && c->report.table)
            fputc('\n', c->report.out);
        err = run_group(c, &all->items[i], listed, diag);
    }
    if (!err && c->stages_shown)
        payoff_show_symbols(&c->report);
    if (err || interrupt_seen())
        return err;
    if (c->report.table && !c->report.quiet)
        payoff_show_left_out(&c->report, all->left_out);
    if (all->count)
        err = out_answer(
            &c->report, gcb_payoff_answer(answer, sizeof(answer), c->places, c->place_count), diag);
    return err || c->truths.count == 0 ? err : run_truths(c, diag);
}

static int run_fft(struct payoff *c, struct gcb_diag *diag)
{
    const struct gcb_payoff_grid *bandwidths = &c->plan.bandwidths;
    struct gcb_row row;
    int err = 0;

    if (c->report.table)
        err = payoff_show_fft(&c->report, &c->plan.stages, bandwidths, diag);
    for (size_t b = 0; !err && b < bandwidths->count && out_wants_rows(&c->report); b++) {
        gcb_payoff_fft_row(&row, NULL, &c->plan.stages, bandwidths->values[b]);
        err = out_put(&c->report, &row, diag);
    }
    return err;
}

static int run_redsync(struct payoff *c, struct gcb_diag *diag)
{
    const struct gcb_payoff_grid *workers = &c->plan.workers, *bandwidths = &c->plan.bandwidths;
    struct gcb_redsync in = c->plan.redsync;
    struct gcb_redsync_times times;
    struct gcb_row row;
    int err = c->report.table ? payoff_show_redsync(&c->report, &c->plan, diag) : 0;

    for (size_t w = 0; !err && w < workers->count && out_wants_rows(&c->report); w++) {
        for (size_t b = 0; !err && b < bandwidths->count; b++) {
            in.workers = workers->values[w];
            in.bandwidth = bandwidths->values[b];
            gcb_redsync_times(&times, &in);
            gcb_payoff_redsync_row(&row, &in, &times);
            err = out_put(&c->report, &row, diag);
        }
    }
    return err;
}

static int interrupted(const struct cmd_context *ctx)
{
    fprintf(ctx->err, "gcbench: interrupted\n");
    return CMD_FAILED;
}

static int payoff_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    static int (*const modes[])(struct payoff *, struct gcb_diag *) = {run_exchange, run_fft,
                                                                       run_redsync};
    struct payoff c = {.o = options, .files = operands, .ctx = ctx};
    int err = payoff_plan(&c.plan, c.o, operands, ctx->diag);

    if (!err)
        err = opt_exec_cpu(
            &c.o->exec,
            "payoff itself measures only on the cpu; for the times of a device give it results: "
            "`gcbench payoff r.json`, with r.json from `gcbench bench --device cuda "
            "--results r.json`",
            ctx->diag);
    if (!err)
        err = opt_exec_resolve(&c.backend, &c.o->exec, ctx->diag);
    if (!c.files->count)
        interrupt_catch(); /* not while payoff reads files: a signal may end it then, because nothing is lost */
    if (!err && c.plan.mode == PAYOFF_EXCHANGE)
        err = find_cases(&c, ctx->diag);
    if (err && interrupt_seen())
        err = interrupted(ctx); /* too little was measured to compute anything */
    interrupt_catch();
    if (!err)
        err = open_report(&c);
    if (!err)
        err = modes[c.plan.mode](&c, ctx->diag);
    if (!err)
        err = out_commit(&c.report, ctx->diag);
    if (!err && interrupt_seen())
        err = interrupted(ctx);
    out_close(&c.report);
    gcb_free(c.points);
    gcb_free(c.places);
    gcb_payoff_cases_fini(&c.cases);
    gcb_truths_fini(&c.truths);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Exchange", payoff_own_rows, struct payoff_options, own),
    OPT_GROUP("Papers' own models", payoff_papers_rows, struct payoff_options, papers),
    OPT_GROUP("Methods", payoff_methods_rows, struct payoff_options, methods),
    OPT_GROUP("Measuring, without RESULTS", opt_cpu_rows, struct payoff_options, exec),
    OPT_GROUP("Measuring, without RESULTS", opt_threads_rows, struct payoff_options, exec),
    OPT_GROUP("Measuring, without RESULTS", opt_exec_rows, struct payoff_options, exec),
    OPT_GROUP("Output", opt_force_rows, struct payoff_options, save),
    OPT_GROUP("Output", opt_save_rows, struct payoff_options, save),
    OPT_GROUP("Output", opt_show_rows, struct payoff_options, show),
    {.rows = NULL},
};

const struct cmd cmd_payoff = {
    .name = "payoff",
    .summary = "tell whether a compressor pays, from measured times and a link",
    .usage = "payoff [options] [RESULTS...]",
    .examples = "  gcbench bench --repeat 9 --scope bucket --results r.json gradients.h5\n"
                "  gcbench payoff r.json\n"
                "  gcbench payoff --bandwidth 10Gb --workers 4,64 --compute 80ms r.json\n"
                "  gcbench payoff --model-bytes 250M --bandwidth 1Gb..99Gb/9 --format csv r.json\n"
                "  gcbench payoff --model-bytes 100M --method fft --method qsgd\n"
                "  gcbench payoff --link link.json exchanges.json\n"
                "  gcbench payoff --stage-gbps transform=71,select=30,quantise=600,index=67\n"
                "  gcbench payoff --density 0.001 --workers 128 --model-bytes 100M\n",
    .details =
        "A method pays if it is faster than fp32, fp16 and bf16, whichever is fastest.\n"
        "It is charged for the fastest way of sending that keeps its error: all-gather, or its own "
        "all-reduce. A faster collective that enlarges the error is only mentioned, unless the "
        "method's spec names it. An all-gather brings each worker the messages of all others, so "
        "with many workers small messages can be more bytes than an all-reduce of fp16.\n"
        "Columns: rel L2: error of the gradient. encode, wire and add are one worker's times in an "
        "exchange; add is the time of adding up messages, decoding and weighting. x fp16 (or x "
        "bf16, x fp32): speed-up over the fastest of fp32, fp16 and bf16. exposed: the part of the "
        "exchange that --compute "
        "does not hide.\n"
        "If RESULTS hold exchanges that gcbench-mpi measured, they are compared with predictions.\n"
        "-v prints full verdicts with the ways of sending, and the FFT paper's condition with "
        "measured stages. Bandwidths "
        "are decimal: Gb and GB are 1e9. docs/payoff.md has the model and what it leaves out.\n",
    .spec = {.groups = groups},
    .size = sizeof(struct payoff_options),
    .run = payoff_run,
};
