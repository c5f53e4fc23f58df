#include <inttypes.h>
#include <string.h>

#include "cli/base/bench_options.h"
#include "cli/base/session.h"
#include "cli/replay/replay.h"
#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

#define MAX_STEPS_SHOWN 40 /* with more steps, only --per step shows them */

enum replay_per { REPLAY_PER_DEFAULT = -1, REPLAY_PER_STEP, REPLAY_PER_NONE };

struct replay_own {
    uint64_t loops, tune_steps; /* 0: not given */
    struct gcb_replay_order order;
    const char *suite, *schedule, *lr; /* NULL: not given */
    double lipschitz;                  /* 0: not given */
    int per;                           /* enum replay_per */
};

struct replay_options {
    struct opt_methods methods;
    struct session_options common;
    struct replay_own own;
};

static const char *const pers[] = {"step", "none", NULL};

/* clang-format off */
static const struct opt_row own_rows[] = {
    {OPT_ROW("suite", TEXT, replay_own, suite), .metavar = "NAME|FILE",
     .help = "replay the methods of a suite, such as paper-sbc or FILE.json; its other fields "
             "are for `gcbench bench`"},
    {OPT_ROW("loop", U64, replay_own, loops), .min = 1, .max = 1e9,
     .help = "replay the recorded steps N times over (default 1)"},
    {OPT_ROW("allow-gaps", FLAG, replay_own, order.allow_gaps),
     .help = "replay even if steps are missing between the recorded ones"},
    {OPT_ROW("workers", U64, replay_own, order.workers), .min = 1, .max = GCB_REPLAY_WORKERS,
     .help = "replay with N workers: the dump's first N, or all of them repeated"},
    {OPT_ROW("split-steps", FLAG, replay_own, order.split_steps),
     .help = "with --workers: consecutive steps of the dump become workers of one step"},
    {OPT_ROW("theta-schedule", TEXT, replay_own, schedule), .metavar = "SCHEDULE",
     .help = "theta by step: 0.9@0,0.5@8 (0.9 from step 0 on, 0.5 from step 8 on), sqrt-lr "
             "(theta^2 = L lr, L from --lipschitz) or dgc-warmup[:STEPS_PER_EPOCH]"},
    {OPT_ROW("lr", TEXT, replay_own, lr), .metavar = "RATE",
     .help = "learning rate for sqrt-lr: V or V@STEP,... (default: the dump's lr)"},
    {OPT_ROW("lipschitz", REAL, replay_own, lipschitz), .metavar = "L", .min = 1e-300, .max = 1e300,
     .help = "for sqrt-lr: L, the Lipschitz constant of the gradient"},
    {OPT_ROW("tune-steps", U64, replay_own, tune_steps), .min = 1, .max = 1e9,
     .help = "after N steps, fix the max of each range float at the largest value so far"},
    {.name = NULL},
};

static const struct opt_row show_rows[] = {
    {OPT_ROW("per", CHOICE, replay_own, per), .metavar = "WHAT", .choices = pers,
     .initial = REPLAY_PER_DEFAULT,
     .help = "step: a line for each step of each method; none: only totals, in every format "
             "(default: steps if there are at most 40, of one method)"},
    {.name = NULL},
};
/* clang-format on */

/* The state of the command. Starts zeroed. */
struct replay {
    const struct replay_options *o;
    struct session s;
    struct gcb_suite suite; /* owns texts of the methods */
    struct gcb_method *methods;
    size_t count;  /* without those that failed */
    size_t failed; /* plug-ins that failed */
    struct gcb_replay_config config;
    struct gcb_replay replay;
    struct gcb_replay_total *totals;
    size_t done; /* number of methods replayed so far */
    /* of the method that runs now: its table of steps (NULL: steps are not shown), and whether a
     * schedule changes its theta */
    struct gcb_table *steps;
    bool scheduled;
};

/* Makes the list of methods: those of --method or, if there are none, those of --suite. */
static int resolve_methods(struct replay *c, struct gcb_diag *diag)
{
    struct bench_options suite = {.own = {.suite = NULL}};
    struct opt_methods wanted = c->o->methods;
    int err = c->o->own.suite ? gcb_suite_load(&c->suite, c->o->own.suite, diag) : 0;

    if (!err)
        err = bench_fill(&suite, &c->suite, diag);
    if (!wanted.specs.count)
        wanted.specs = suite.methods.specs;
    if (!err)
        err = opt_methods_resolve(&c->methods, &c->count, &wanted, NULL, diag);
    opt_fini(&(struct opt_result){.help = false}, &cmd_bench.spec, &suite);
    if (err || c->count)
        return err;
    return gcb_invalid(diag, "no method given: add --method topk:memory=ef, for example, or a "
                             "--suite that names methods; `gcbench methods` lists them");
}

/* Makes the schedule that the options describe. GCB_E_INVALID: the options do not go together. */
static int read_schedule(struct gcb_schedule *out, const struct replay_own *own,
                         struct gcb_diag *diag)
{
    int err = 0;

    memset(out, 0, sizeof(*out));
    if (own->schedule)
        err = gcb_schedule_parse(out, own->schedule, diag);
    if (err)
        return err;
    if (out->kind != GCB_SCHEDULE_SQRT_LR && (own->lr || own->lipschitz > 0.0))
        return gcb_invalid(
            diag, "--lr and --lipschitz have a meaning only with --theta-schedule sqrt-lr");
    if (out->kind == GCB_SCHEDULE_SQRT_LR && !(own->lipschitz > 0.0))
        return gcb_invalid(
            diag, "--theta-schedule sqrt-lr needs the gradient's Lipschitz constant: --lipschitz");
    out->lipschitz = own->lipschitz;
    return own->lr ? gcb_points_parse(&out->lr, own->lr, "--lr", diag) : 0;
}

/* GCB_E_INVALID: a schedule is given and no method has a theta; or tuning is asked for and no
 * method has a range to tune. */
static int check_methods(const struct gcb_replay_config *config, const struct gcb_method *methods,
                         size_t count, struct gcb_diag *diag)
{
    size_t scheduled = 0, tuned = 0;

    for (size_t i = 0; i < count; i++) {
        scheduled += gcb_replay_schedules(config, &methods[i]);
        tuned += gcb_replay_tunes(config, &methods[i]);
    }
    if (config->schedule.kind != GCB_SCHEDULE_NONE && !scheduled)
        return gcb_invalid(diag, "--theta-schedule: no method given has a theta");
    if (config->tune_steps && !tuned)
        return gcb_invalid(diag, "--tune-steps: no method given has a range whose maximum can be "
                                 "tuned (fft and range have one, unless max is given)");
    return 0;
}

static int resolve(struct replay *c, struct gcb_diag *diag)
{
    int err = resolve_methods(c, diag);

    if (!err)
        err = session_resolve(&c->s);
    if (!err)
        err = read_schedule(&c->config.schedule, &c->o->own, diag);
    c->config.tune_steps = c->o->own.tune_steps;
    if (!err && c->o->own.order.split_steps && !c->o->own.order.workers)
        err = gcb_invalid(diag, "--split-steps needs a number of --workers");
    return err ? err : check_methods(&c->config, c->methods, c->count, diag);
}

/* Opens the dump and plans the replay; for that, all values are searched for infinities and
 * NaNs. */
static int open_input(struct replay *c, struct gcb_diag *diag)
{
    const struct opt_message *m = &c->o->common.message;
    int err = session_open_input(&c->s);

    c->config.source = c->s.source;
    c->config.layout = &c->s.layout;
    c->config.compute = session_compute(&c->s);
    c->config.nonfinite = (enum gcb_nonfinite_policy)m->nonfinite;
    c->config.output_layers =
        (struct gcb_output_layers){m->output_layer.items, m->output_layer.count};
    c->config.loops = c->o->own.loops;
    c->config.order = c->o->own.order;
    c->config.watch = session_watch(&c->s);
    if (err)
        return err;
    session_start_progress(&c->s);
    err = gcb_replay_open(&c->replay, &c->config, diag);
    progress_end(&c->s.progress);
    return err;
}

static int on_step(void *ctx, const struct gcb_replay_step *step, struct gcb_diag *diag)
{
    struct replay *c = ctx;
    struct gcb_row row;

    (void)diag; /* session_put uses ctx->diag */
    if (c->steps)
        replay_steps_add(c->steps, step, c->scheduled);
    if (c->o->own.per == REPLAY_PER_NONE || !out_wants_rows(&c->s.report))
        return 0;
    gcb_rows_replay_step(&row, &c->s.setting, &c->methods[c->done], &c->replay.plan, step);
    return session_put(&c->s, &row);
}

/* True if the table has a line for each step: with --per step; and without --per, if there is one
 * method and at most MAX_STEPS_SHOWN steps. */
static bool wants_steps(const struct replay *c)
{
    const uint64_t loops = c->o->own.loops ? c->o->own.loops : 1;
    const size_t steps = c->replay.plan.step_count;

    if (!c->s.report.table || c->o->own.per != REPLAY_PER_DEFAULT)
        return c->s.report.table && c->o->own.per == REPLAY_PER_STEP;
    return c->count == 1 && steps <= MAX_STEPS_SHOWN && loops <= MAX_STEPS_SHOWN / steps;
}

/* Sends the row of the method that ran. */
static int put_total(struct replay *c)
{
    char files[SESSION_FILES];
    struct gcb_row row;

    if (!out_wants_rows(&c->s.report))
        return 0;
    gcb_rows_replay(&row, &c->s.setting, &c->methods[c->done], &c->replay.plan, &c->totals[c->done],
                    session_name_files(files, &c->s));
    return session_put(&c->s, &row);
}

/* Sends the row of a plug-in that failed, and removes it from the methods. */
static int put_failure(struct replay *c, const struct gcb_diag *why)
{
    int err;

    c->totals[c->done] = (struct gcb_replay_total){.failure = *why};
    fprintf(c->s.ctx->err, "gcbench: %s: failed: %s\n", c->methods[c->done].name, why->text);
    err = put_total(c);
    c->failed++;
    c->count--;
    memmove(&c->methods[c->done], &c->methods[c->done + 1],
            (c->count - c->done) * sizeof(*c->methods));
    c->done--; /* the next method has its place */
    return err;
}

static int run_method(struct replay *c, struct gcb_diag *diag)
{
    const struct gcb_watch all = session_watch(&c->s);
    const double count = (double)c->count, done = (double)c->done;
    const struct gcb_replay_observer observer = {
        .step = on_step,
        .ctx = c,
        .watch = gcb_watch_part(&all, done / count, (done + 1.0) / count)};
    const struct gcb_method *method = &c->methods[c->done];
    char spec[256];
    const bool shown = wants_steps(c);
    int err;

    c->scheduled = gcb_replay_schedules(&c->config, method);
    c->steps = shown ? replay_steps_create(c->scheduled) : NULL;
    session_start_progress(&c->s);
    err = gcb_replay_run(&c->replay, method, &observer, &c->totals[c->done], diag);
    progress_end(&c->s.progress);
    if (!err && shown) {
        if (c->count > 1)
            fprintf(c->s.report.out, "%s\n",
                    gcb_method_spec(spec, sizeof(spec), method, GCB_SPEC_LABEL));
        out_table(&c->s.report, c->steps);
        fputc('\n', c->s.report.out);
    } else {
        gcb_table_destroy(c->steps);
    }
    c->steps = NULL;
    if (err && gcb_method_caps(method) & GCB_CAP_FOREIGN && diag)
        return put_failure(c, diag);
    return err ? session_status(&c->s, err) : put_total(c);
}

/* Replays the methods one after the other, until a signal comes. */
static int run(struct replay *c, struct gcb_diag *diag)
{
    char times[80] = "";
    int err = 0;

    if (c->o->own.loops > 1)
        snprintf(times, sizeof(times), ", %" PRIu64 " times over", c->o->own.loops);
    session_print_heading(&c->s, times);
    if (c->s.report.table)
        replay_show_workers(c->s.report.out, &c->replay.plan);
    for (; !err && c->done < c->count; c->done++) {
        err = run_method(c, diag);
        if (!err && c->done < c->count && c->totals[c->done].interrupted) {
            c->done++;
            break;
        }
    }
    return err;
}

/* Prints the table and the notes, and gives the answer. */
static int show(struct replay *c, const struct gcb_label *labels, struct gcb_diag *diag)
{
    const uint64_t skipped = c->replay.scan.step_count;
    const struct gcb_replay_plan *plan = &c->replay.plan;
    const struct out_report *report = &c->s.report;
    int err = 0;

    if (report->table)
        replay_show_totals(report, c->methods, labels, plan, c->totals, c->done);
    for (size_t i = 0; report->table && !report->quiet && i < c->done; i++)
        replay_show_notes(report->out, &c->methods[i], &c->totals[i],
                          c->count == 1 ? NULL : labels[i].text);
    if (report->table && skipped && !report->quiet)
        opt_note(report->out, "%llu step%s with infinities or NaNs left out",
                 (unsigned long long)skipped, skipped == 1 ? "" : "s");
    if (report->table && !report->quiet)
        opt_note(report->out, "alpha: error of each step's update; cum err: error of the sum of "
                              "all updates; `gcbench help replay` explains the other figures");
    if (c->done == c->count && c->done && !c->totals[c->done - 1].interrupted)
        err = replay_answer(&c->s.report, c->methods, labels, plan, c->totals, c->done, diag);
    return err;
}

static int finish(struct replay *c, struct gcb_diag *diag)
{
    struct gcb_label *labels = gcb_label_methods(c->methods, sizeof(*c->methods), c->count);
    int err = 0;

    if (c->count)
        err = show(c, labels, diag);

    gcb_free(labels);
    if (!err)
        err = out_commit(&c->s.report, diag);
    if (err || c->count == 0 || !c->totals[c->done - 1].interrupted)
        return !err && c->failed ? CMD_FAILED : err;
    return session_interrupted(&c->s, "");
}

static void release(struct replay *c)
{
    gcb_replay_close(&c->replay);
    gcb_free(c->totals);
    session_close(&c->s);
    gcb_free(c->methods);
    gcb_suite_fini(&c->suite);
}

static int replay_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct replay_options *o = options;
    struct replay c = {.o = o, .s = {.o = o->common, .files = operands, .ctx = ctx}};
    int err = resolve(&c, ctx->diag);

    interrupt_catch();
    if (!err)
        err = open_input(&c, ctx->diag);
    c.totals = gcb_must_zero(c.count, sizeof(*c.totals));
    if (!err)
        err = session_start_report(&c.s, GCB_REPLAY_RECORDS, false);
    if (!err)
        err = run(&c, ctx->diag);
    if (!err)
        err = finish(&c, ctx->diag);
    release(&c);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Methods", opt_methods_rows, struct replay_options, methods),
    OPT_GROUP("Replay", own_rows, struct replay_options, own),
    SESSION_GROUPS(struct replay_options),
    OPT_GROUP("Output", show_rows, struct replay_options, own),
    SESSION_OUTPUT_GROUPS(struct replay_options),
    {.rows = NULL},
};

const struct cmd cmd_replay = {
    .name = "replay",
    .summary = "replay the steps of a dump, with error feedback and schedules",
    .usage = "replay [options] --method NAME[:key=value,...] FILE...",
    .examples = "  gcbench replay --method topk:theta=0.99,memory=ef gradients.h5\n"
                "  gcbench replay --method sbc:p=0.01,delay=4 gradients.h5\n"
                "  gcbench replay --method dgc --method redsync --loop 20 gradients.h5\n"
                "  gcbench replay --method fft:memory=ef --theta-schedule 0.9@0,0@8 gradients.h5\n"
                "  gcbench replay --method fft --tune-steps 3 --allow-gaps gradients.h5\n"
                "  gcbench replay --device cuda --method topk:memory=ef gradients.h5\n"
                "  gcbench replay --workers 8 --split-steps --method qsgd gradients.h5\n",
    .details =
        "Each worker keeps its own memory between steps: none, ef, dgc, delay, demo, gmc or loco "
        "(`--method qsgd:memory=ef`; `gcbench methods NAME` shows the default of each method).\n"
        "Columns of all methods. sent by: the collective. per step: bytes that each worker puts on "
        "its link in a step, on average; compare collectives by it, because ratio counts each "
        "message once. ratio: input bytes over message bytes; the input includes the steps that "
        "were added up before a message. alpha: error of the update, relative to the exact update: "
        "the mean over workers of all gradients since the last message. cum err: the same for the "
        "sum of all updates so far. cosine: between the update and the exact update.\n"
        "Other columns of steps. wire: bytes of all workers' messages. resid: norm of what is not "
        "sent yet. kept %: share of positions sent. any %: share of elements that at least one "
        "worker sent. stale: steps since an element was last sent, median and 99th percentile.\n"
        "Notes. positions: elements, or bins of a transform. residual: norm of what is not sent "
        "yet. contraction: 1 minus the share of the squared norm that encoding loses, in the worst "
        "step and worker, and on average. docs/replay.md defines all figures.\n"
        "With --device cuda, memories, encoders and decoders are on the device, and each step is "
        "compared with the CPU. Exit status 5: the device gave other values; 3: the device or a "
        "library is missing, or the method does not run there.\n",
    .spec = {.groups = groups,
             .extra = {opt_methods_key_at, offsetof(struct replay_options, methods.overrides)}},
    .size = sizeof(struct replay_options),
    .run = replay_run,
};
