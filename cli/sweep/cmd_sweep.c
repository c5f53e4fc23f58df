#include "cli/base/interrupt.h"
#include "cli/base/output.h"
#include "cli/base/session.h"
#include "cli/sweep/sweep_options.h"
#include "cli/sweep/sweep_table.h"
#include "src/lib/base/alloc.h"
#include "src/tool/replay/mean.h"

#define SECONDS 0.1 /* most seconds of timing for a setting, unless a single pass takes longer */
/* The most elements of a worker, and of all workers and steps together, on which errors of means are measured. */
#define MEAN_MOST (UINT64_C(1) << 20)
#define MEAN_TOGETHER (UINT64_C(4) << 20)
#define MEAN_STEPS 3
#define SEARCH 0.8 /* share of the progress bar for the searches of --match */

/* The state of the command. Starts zeroed. */
struct sweep {
    const struct sweep_options *o;
    struct session s;
    struct sweep_plan plan;
    bool *pareto; /* one for each of plan.methods, and then `missed` */
    struct gcb_run_result
        result;            /* at the end, tallies of searched settings are those of their mixes */
    struct gcb_tally *own; /* the settings' own tallies */
    struct gcb_gradients gradients; /* of --match error_of_mean= */
    double from, to;                /* of the progress bar: what is being done now */
};

static int resolve(struct sweep *c, struct gcb_diag *diag)
{
    int err = sweep_methods(&c->plan, c->o, diag);

    if (err)
        return err;
    session_drop_memory(&c->s, "sweep", c->plan.methods, c->plan.given);
    err = sweep_expand(&c->plan, c->o, diag);
    return err ? err : session_resolve(&c->s);
}

static int on_trial(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    struct sweep *c = ctx;
    struct gcb_row row;

    (void)diag; /* session_put uses ctx->diag */
    if (c->o->own.per != SWEEP_PER_MESSAGE || !out_wants_rows(&c->s.report))
        return 0;
    gcb_rows_result(&row, &c->s.setting, &c->plan.methods[trial->method], trial);
    return session_put(&c->s, &row);
}

static void on_progress(void *ctx, double done)
{
    struct sweep *c = ctx;

    progress_update(&c->s.progress, c->from + (c->to - c->from) * done);
}

struct means {
    const struct gcb_gradients *gradients;
    struct gcb_mean_config config;
};

static int measure_mean(void *ctx, double *out, const struct gcb_method *method, unsigned n,
                        struct gcb_diag *diag)
{
    const struct means *m = ctx;
    const struct gcb_gradients *g = m->gradients;
    struct gcb_mean mean;
    const int err = gcb_mean_measure(&mean, g, &m->config, method, diag);

    if (!err)
        *out = gcb_mean_among(method, mean.error, mean.second_error, mean.shared, g->signal,
                              g->noise, g->workers, n, 1);
    return err;
}

/* Reads the gradients of targets for the error of a mean, if there are any. */
static int read_gradients(struct sweep *c, const struct gcb_match_mean *mean,
                          const struct gcb_run_config *run, struct gcb_diag *diag)
{
    const struct gcb_layout_config scope = {.scope = GCB_SCOPE_TENSOR};
    struct gcb_gradients_config config = {
        .steps = MEAN_STEPS, .most = MEAN_MOST, .most_together = MEAN_TOGETHER};
    struct gcb_layout layout = {.count = 0};
    int err;

    for (size_t i = 0; i < c->plan.goal_count; i++) {
        struct gcb_match_goal *goal = &c->plan.goals[i];

        goal->mean = mean;
        if (goal->workers > config.workers)
            config.workers = goal->workers;
    }
    if (config.workers == 0)
        return 0;
    err = gcb_layout_init(&layout, c->s.source, &scope, diag);
    if (!err)
        err = gcb_gradients_read(&c->gradients, c->s.source, &layout, &config, run->trial.kernels,
                                 run->trial.queue, diag);
    gcb_layout_fini(&layout);
    return err;
}

/* Runs the searches of --match, where times do not matter. */
static int search(struct sweep *c, const struct gcb_run_observer *observer, struct gcb_diag *diag)
{
    const struct gcb_run_config config = session_run_config(&c->s, &c->o->timing, NULL, 0);
    struct means means = {&c->gradients,
                          {.kernels = config.trial.kernels,
                           .queue = config.trial.queue,
                           .seed = config.trial.seed,
                           .fft_rigor = config.trial.fft_rigor,
                           .draws = 1,
                           .stop = observer->stop,
                           .ctx = observer->ctx}};
    const struct gcb_match_mean mean = {measure_mean, &means};
    int err = read_gradients(c, &mean, &config, diag);

    if (!err)
        err = gcb_choose_run(&c->plan.choice, &config, observer, &c->result.interrupted, diag);
    return err ? err : sweep_take_choice(&c->plan, c->o, diag);
}

static int run_settings(struct sweep *c, struct gcb_diag *diag)
{
    const struct gcb_run_observer observer = {
        .trial = on_trial, .progress = on_progress, .stop = interrupt_stop, .ctx = c};
    const struct gcb_method *const **by_tensor = NULL;
    struct gcb_run_config config;
    int err = 0;

    session_start_progress(&c->s);
    c->to = SEARCH;
    if (c->plan.matching)
        err = search(c, &observer, diag);
    c->from = c->plan.matching ? SEARCH : 0.0;
    c->to = 1.0;
    config = session_run_config(&c->s, &c->o->timing, c->plan.methods, c->plan.count);
    config.carry_on = true;
    /* payoff needs the times of sums; a single run would not decide anything */
    config.trial.sums = c->plan.matching && !config.trial.device &&
                        (config.trial.timing.repeat > 1 || config.trial.timing.min_time > 0.0);
    session_repeat(&c->s, &config, &c->o->timing, SECONDS);
    if (!err && c->plan.policy != SIZE_MAX) {
        by_tensor = gcb_alloc_zero(c->plan.count, sizeof(*by_tensor));
        err = by_tensor ? 0 : gcb_diag_nomem(diag, 0, "a policy");
    }
    if (by_tensor) {
        by_tensor[c->plan.policy] = c->plan.choice.policy.by_tensor;
        config.by_tensor = by_tensor;
        c->s.setting.policy = &c->plan.choice.policy;
    }
    if (!err && !c->result.interrupted)
        err = gcb_run(&c->result, &config, &observer, diag);
    if (!err && c->plan.matching && c->result.interrupted)
        err = gcb_match_fill_totals(&c->result, c->plan.count, c->plan.choice.searches,
                                    c->plan.given, diag);
    gcb_free(by_tensor);
    progress_end(&c->s.progress);
    return err;
}

static int put_summaries(struct sweep *c)
{
    const bool whole = !c->result.interrupted;
    char files[SESSION_FILES];
    int err = 0;

    session_name_files(files, &c->s);
    for (size_t i = 0; !err && i < c->plan.count && out_wants_rows(&c->s.report); i++) {
        struct gcb_run_total total = c->result.totals[i];
        const bool searched = c->plan.matching && i < c->plan.given;
        const struct gcb_sweep_row sweep = {
            .compared = whole,
            .pareto = c->pareto[i],
            .matching = c->plan.matching,
            .match = searched ? &c->plan.choice.searches[i] : NULL,
            .total = &total,
        };
        struct gcb_row row;

        total.tally = c->own[i];
        if (!whole && total.tally.messages == 0 && !total.failure.status)
            continue;
        gcb_rows_summary(&row, &c->s.setting, &c->plan.methods[i], &total, files, !whole);
        gcb_sweep_put(&row, &sweep);
        if (c->plan.matching)
            gcb_choice_put(&row, &c->plan.choice, i);
        err = session_put(&c->s, &row);
    }
    return err;
}

static int show_table(struct sweep *c, struct gcb_diag *diag)
{
    const struct sweep_view view = {
        .plan = &c->plan,
        .result = &c->result,
        .pareto = c->pareto,
        .repeat = (unsigned)c->o->timing.repeat,
    };
    char answer[4000];
    struct gcb_row row;
    int err = session_print_heading(&c->s, "");

    if (!err && c->s.report.table)
        err = sweep_show(&view, &c->s.report, diag);
    if (err || c->result.interrupted)
        return err;
    gcb_answer_row(&row, sweep_answer(answer, sizeof(answer), &view), NULL);
    return out_answer(&c->s.report, &row, diag);
}

static int judge_outcome(const struct sweep *c, struct gcb_diag *diag)
{
    struct bench_outcome outcome = {.noun = "settings"};

    bench_outcome_add(&outcome, &c->result);
    return bench_outcome_judge(&outcome, c->s.ctx->err, diag);
}

/* Marks the settings that no other beats. Settings that miss their target do not count. */
static int mark_pareto(struct sweep *c, struct gcb_diag *diag)
{
    bool *missed;

    c->pareto = gcb_alloc_zero(2 * c->plan.count, sizeof(*c->pareto));
    if (!c->pareto)
        return gcb_diag_nomem(diag, c->plan.count, "marks");
    if (c->result.interrupted)
        return 0;
    missed = c->pareto + c->plan.count;
    for (size_t i = 0; c->plan.matching && i < c->plan.given; i++)
        missed[i] = !gcb_match_reached(&c->plan.choice.searches[i], &c->result.totals[i].tally);
    return gcb_pareto_totals(c->pareto, &c->result, missed, c->plan.pareto, c->plan.pareto_count,
                             diag);
}

/* Keeps the settings' own tallies for the rows. The rest compares what meets the targets: settings, or mixes of two. */
static int mix_tallies(struct sweep *c, struct gcb_diag *diag)
{
    c->own = gcb_alloc_zero(c->plan.count + 1, sizeof(*c->own));
    if (!c->own)
        return gcb_diag_nomem(diag, c->plan.count, "results");
    for (size_t i = 0; i < c->result.method_count; i++) {
        if (c->plan.matching && i < c->plan.given && c->plan.choice.searches[i].goal->workers)
            c->result.totals[i].tally.error_of_mean = c->plan.choice.searches[i].found.value;
        c->own[i] = c->result.totals[i].tally;
        if (c->plan.matching && i < c->plan.given)
            gcb_match_mix_tally(&c->result.totals[i].tally, &c->plan.choice.searches[i]);
    }
    return 0;
}

/* Is there a result? Not if the search was interrupted on its sample. */
static bool was_measured(const struct sweep *c)
{
    for (size_t i = 0; i < c->result.method_count; i++)
        if (c->own[i].messages)
            return true;
    return false;
}

static int finish(struct sweep *c, struct gcb_diag *diag)
{
    int err = mix_tallies(c, diag);

    if (!err)
        err = mark_pareto(c, diag);
    if (!err)
        err = put_summaries(c);
    if (!err)
        err = show_table(c, diag);
    if (!err)
        err = out_commit(&c->s.report, diag);
    if (err || !c->result.interrupted)
        return err ? err : judge_outcome(c, diag);
    return session_interrupted(&c->s, !was_measured(c)   ? "nothing was measured on all messages"
                                      : c->plan.matching ? "the best settings so far are kept"
                                                         : "the results so far are kept");
}

static void release(struct sweep *c)
{
    gcb_run_result_fini(&c->result);
    gcb_free(c->pareto);
    gcb_free(c->own);
    gcb_gradients_fini(&c->gradients);
    sweep_plan_fini(&c->plan);
    session_close(&c->s);
}

static int sweep_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct sweep_options *o = options;
    struct sweep c = {
        .o = o,
        .s = {.o = o->common, .files = operands, .ctx = ctx},
    };
    int err = resolve(&c, ctx->diag);

    if (err)
        goto out;
    err = session_open_input(&c.s);
    if (err)
        goto out;
    interrupt_catch();
    err = session_start_measured_report(&c.s, GCB_SWEEP_RECORDS);
    if (err)
        goto out;
    err = run_settings(&c, ctx->diag);
    if (!err)
        err = finish(&c, ctx->diag);
out:
    release(&c);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Methods", opt_methods_rows, struct sweep_options, methods),
    OPT_GROUP("Settings", sweep_own_rows, struct sweep_options, own),
    SESSION_GROUPS(struct sweep_options),
    OPT_GROUP("Running", opt_timing_rows, struct sweep_options, timing),
    OPT_GROUP("Output", sweep_show_rows, struct sweep_options, own),
    OPT_GROUP("Output", opt_lines_rows, struct sweep_options, lines),
    SESSION_OUTPUT_GROUPS(struct sweep_options),
    {.rows = NULL},
};

const struct cmd cmd_sweep = {
    .name = "sweep",
    .summary = "compare methods at many settings, or at equal error or size",
    .usage = "sweep [options] --vary KEY=V | --match F=X | --budget F=X FILE...",
    .examples =
        "  gcbench sweep --match rel_l2=0.4 gradients.h5\n"
        "  gcbench sweep --match ratio=20 --method fft --method topk gradients.h5\n"
        "  gcbench sweep --budget rel_l2=0.4 gradients.h5\n"
        "  gcbench sweep --vary theta=0.5..0.999/12log --vary bits=4,6,8 gradients.h5\n"
        "  gcbench sweep --method fft --vary index=u32,golomb --match bits=2 gradients.h5\n",
    .details =
        "Without --method, all sparsifiers and quantisers are run, and --match also searches the "
        "sparse codec's stages (transform and chunk, selection, values and bits, index coder) for "
        "the composition that is best; it shows what each stage earns. An input of more than a "
        "million elements is searched on a sample first; of a very large one, methods that are "
        "far behind on the sample are left out. A KEY of --vary applies to the "
        "methods that have this parameter.\n"
        "--match searches the parameters that change a method's size or error: bits, bucket, "
        "chunk, "
        "coding, theta and so on. What --method gives stays. For a limit on the error it reports "
        "the smallest messages, for a limit on the size the smallest error. If no single setting "
        "is "
        "at the limit, it reports two that meet it together, each for a share of the messages. If "
        "no setting is within the limit, it reports the nearest one. Only the reported setting is "
        "timed; with --repeat, its sums are timed too, which `gcbench payoff` needs.\n"
        "--budget also finds a policy, a method for each tensor. Beginning with the cheapest "
        "settings, it takes the step that reduces the error most for each byte, until the budget "
        "is used up. It prints the options with which `gcbench compress` uses the policy, and "
        "compares it with the best single method.\n"
        "--device cuda runs every setting on a GPU and compares its messages with the CPU's; the "
        "exit status is as for `gcbench bench`.\n"
        "Pareto *: no other row is at least as good in both rel_l2 and bits/el, and better in one "
        "of them. Rows that miss their target do not count.\n",
    .spec = {.groups = groups,
             .extra = {opt_methods_key_at, offsetof(struct sweep_options, methods.overrides)}},
    .size = sizeof(struct sweep_options),
    .run = sweep_run,
};
