#include <math.h>
#include <string.h>

#include "cli/heading.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/replay_options.h"
#include "cli/replay_table.h"
#include "src/base/alloc.h"
#include "src/bench/replay_rows.h"
#include "src/report/environment.h"

#define MAX_STEPS_SHOWN 40 /* unless --per step */

/* Everything that lives as long as the command. Starts zeroed. */
struct replay {
    const struct replay_options *o;
    const struct opt_list *files;
    struct cmd_context *ctx;
    struct gcb_method *methods;
    size_t count;
    struct opt_backend backend;
    struct gcb_source *source;
    struct gcb_layout layout;
    struct gcb_replay_config config;
    struct gcb_replay *replay;
    struct out_report report;
    struct progress progress;
    struct gcb_rows_setting setting;
    struct gcb_replay_total *totals;
    size_t done; /* methods replayed */
    /* of the method at hand */
    struct gcb_table *steps; /* NULL: no lines for steps */
    bool scheduled;
};

static int resolve(struct replay *c, struct gcb_diag *diag)
{
    int err = opt_methods_resolve(&c->methods, &c->count, &c->o->methods, diag);

    if (!err && c->count == 0)
        err = gcb_diag_set(diag, GCB_E_INVALID,
                           "no method given: --method topk:memory=ef, for example; "
                           "`gcbench methods` lists them");
    if (!err)
        err = opt_exec_resolve(&c->backend, &c->o->exec, diag);
    if (!err && strcmp(c->backend.device, "cpu") != 0)
        err = gcb_diag_set(diag, GCB_E_BACKEND, "replay runs on the cpu only");
    if (!err)
        err = replay_schedule(&c->config.schedule, &c->o->own, diag);
    c->config.tune_steps = c->o->own.tune_steps;
    return err ? err : replay_check(&c->config, c->methods, c->count, diag);
}

static int open_input(struct replay *c, struct gcb_diag *diag)
{
    const struct gcb_layout_config config = opt_message_layout(&c->o->message);
    const struct opt_message *m = &c->o->message;
    int err = opt_input_open(&c->source, &c->o->input, c->files, m->min_elements, diag);

    if (!err)
        err = gcb_layout_init(&c->layout, c->source, &config, diag);
    c->config.source = c->source;
    c->config.layout = &c->layout;
    c->config.kernels = &c->backend.kernels;
    c->config.queue = &c->backend.queue;
    c->config.seed = c->backend.seed;
    c->config.fft_rigor = (enum gcb_fft_rigor)c->o->exec.fft_plan;
    c->config.nonfinite = (enum gcb_nonfinite_policy)m->nonfinite;
    c->config.output_layers = m->output_layer.items;
    c->config.output_layer_count = m->output_layer.count;
    c->config.loops = c->o->own.loops;
    c->config.allow_gaps = c->o->own.allow_gaps;
    return err ? err : gcb_replay_open(&c->replay, &c->config, diag);
}

static int put_environment(struct replay *c, struct gcb_diag *diag)
{
    const struct gcb_environment env = {
        .argc = c->ctx->argc,
        .argv = c->ctx->argv,
        .isa = c->backend.isa,
        .threads = c->backend.queue.threads,
        .device = c->backend.device,
        .inputs = c->files->items,
        .input_count = c->files->count,
    };
    struct gcb_row row;

    gcb_environment_row(&row, &env);
    return out_put(&c->report, &row, diag);
}

static int open_report(struct replay *c, struct gcb_diag *diag)
{
    const struct out_guard guard = {.inputs = c->files};
    const int err =
        out_open(&c->report, &c->o->show, &c->o->save, &guard, &gcb_replay_columns, c->ctx);

    c->setting = (struct gcb_rows_setting){
        .scope = opt_scopes[c->o->message.scope],
        .order = opt_orders[c->o->input.order],
        .device = c->backend.device,
        .isa = c->backend.isa,
        .threads = c->backend.queue.threads,
        .read_gbps = NAN,
        .fill_gbps = NAN,
    };
    return err || !out_wants_rows(&c->report) ? err : put_environment(c, diag);
}

static int on_step(void *ctx, const struct gcb_replay_step *step, struct gcb_diag *diag)
{
    struct replay *c = ctx;
    struct gcb_row row;
    int err = 0;

    if (c->steps)
        err = replay_steps_add(c->steps, step, c->scheduled, diag);
    if (err || c->o->own.per == REPLAY_PER_NONE || !out_wants_rows(&c->report))
        return err;
    gcb_rows_replay_step(&row, &c->setting, &c->methods[c->done], step);
    return out_put(&c->report, &row, diag);
}

static void on_progress(void *ctx, double done)
{
    struct replay *c = ctx;

    progress_update(&c->progress, ((double)c->done + done) / (double)c->count);
}

static bool on_stop(void *ctx)
{
    (void)ctx;
    return interrupt_seen();
}

/* Lines for steps: as asked, else for a single method with not too many. */
static bool wants_steps(const struct replay *c)
{
    const uint64_t loops = c->o->own.loops ? c->o->own.loops : 1;
    const size_t steps = gcb_replay_plan_of(c->replay)->step_count;

    if (!c->report.table || c->o->own.per != REPLAY_PER_DEFAULT)
        return c->report.table && c->o->own.per == REPLAY_PER_STEP;
    return c->count == 1 && steps <= MAX_STEPS_SHOWN && loops <= MAX_STEPS_SHOWN / steps;
}

static int put_total(struct replay *c, struct gcb_diag *diag)
{
    char files[4096];
    struct gcb_row row;

    if (!out_wants_rows(&c->report))
        return 0;
    heading_files(files, sizeof(files), c->files);
    gcb_rows_replay(&row, &c->setting, &c->methods[c->done], &c->totals[c->done], files);
    return out_put(&c->report, &row, diag);
}

static int run_method(struct replay *c, struct gcb_diag *diag)
{
    const struct gcb_replay_observer observer = {
        .step = on_step, .progress = on_progress, .stop = on_stop, .ctx = c};
    const struct gcb_method *method = &c->methods[c->done];
    char spec[256];
    int err = 0;

    c->scheduled = gcb_replay_schedules(&c->config, method);
    if (wants_steps(c))
        err = replay_steps_create(&c->steps, c->scheduled, diag);
    progress_start(&c->progress, c->ctx->err, !c->o->show.quiet);
    if (!err)
        err = gcb_replay_run(c->replay, method, &observer, &c->totals[c->done], diag);
    progress_end(&c->progress);
    if (!err && c->steps) {
        if (c->count > 1)
            fprintf(c->report.out, "%s\n",
                    gcb_method_spec(spec, sizeof(spec), method, GCB_SPEC_LABEL));
        out_table(&c->report, c->steps);
        fputc('\n', c->report.out);
    }
    gcb_table_destroy(c->steps);
    c->steps = NULL;
    return err ? err : put_total(c, diag);
}

static int print_head(struct replay *c, struct gcb_diag *diag)
{
    struct gcb_extent extent;
    char settings[160];
    const int err = c->report.table ? gcb_extent_of(&extent, c->source, diag) : 0;

    if (err || !c->report.table)
        return err;
    replay_settings(settings, sizeof(settings), c->o, &c->backend);
    heading_print(c->report.out, c->files, &extent, settings);
    return 0;
}

static int run(struct replay *c, struct gcb_diag *diag)
{
    int err = print_head(c, diag);

    for (; !err && c->done < c->count; c->done++) {
        err = run_method(c, diag);
        if (!err && c->totals[c->done].interrupted) {
            c->done++;
            break;
        }
    }
    return err;
}

static int finish(struct replay *c, struct gcb_diag *diag)
{
    const uint64_t skipped = gcb_replay_skipped_steps(c->replay);
    int err = 0;

    if (c->report.table)
        err = replay_show_totals(&c->report, c->methods, c->totals, c->done, diag);
    for (size_t i = 0; !err && c->report.table && !c->report.quiet && i < c->done; i++)
        replay_show_notes(c->report.out, &c->methods[i], &c->totals[i], c->count > 1);
    if (!err && c->report.table && skipped && !c->report.quiet)
        fprintf(c->report.out, "note: %llu step%s with infinities or NaNs left out\n",
                (unsigned long long)skipped, skipped == 1 ? "" : "s");
    if (!err)
        err = out_commit(&c->report, diag);
    if (err || c->done == 0 || !c->totals[c->done - 1].interrupted)
        return err;
    fprintf(c->ctx->err, "gcbench: interrupted\n");
    return CMD_FAILED;
}

static void release(struct replay *c)
{
    out_close(&c->report);
    gcb_replay_close(c->replay);
    gcb_free(c->totals);
    gcb_layout_fini(&c->layout);
    gcb_source_close(c->source);
    gcb_free(c->methods);
}

static int replay_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    struct replay c = {.o = options, .files = operands, .ctx = ctx};
    int err = resolve(&c, ctx->diag);

    if (err)
        goto out;
    interrupt_catch();
    err = open_input(&c, ctx->diag);
    if (err)
        goto out;
    c.totals = gcb_alloc_zero(c.count, sizeof(*c.totals));
    err = c.totals ? open_report(&c, ctx->diag) : gcb_diag_nomem(ctx->diag, 0, "totals");
    if (err)
        goto out;
    err = run(&c, ctx->diag);
    if (!err)
        err = finish(&c, ctx->diag);
out:
    release(&c);
    return err;
}

static void defaults(void *options)
{
    struct replay_options *o = options;

    o->own.per = REPLAY_PER_DEFAULT;
}

static const struct opt_group groups[] = {
    {"Methods", opt_methods_rows, offsetof(struct replay_options, methods)},
    {"Replay", replay_own_rows, offsetof(struct replay_options, own)},
    {"Input", opt_input_rows, offsetof(struct replay_options, input)},
    {"Messages", opt_message_rows, offsetof(struct replay_options, message)},
    {"Running", opt_exec_rows, offsetof(struct replay_options, exec)},
    {"Output", replay_show_rows, offsetof(struct replay_options, own)},
    {"Output", opt_save_rows, offsetof(struct replay_options, save)},
    {"Output", opt_show_rows, offsetof(struct replay_options, show)},
    {.rows = NULL},
};

static const struct opt_extra extra = {
    .name_at = opt_methods_key_at,
    .offset = offsetof(struct replay_options, methods.overrides),
};

const struct cmd cmd_replay = {
    .name = "replay",
    .summary = "send a dump's steps in order, with feedback, momentum, schedules",
    .usage = "replay [options] --method NAME[:key=value,...] FILE...",
    .examples = "  gcbench replay --method topk:theta=0.99,memory=ef gradients.h5\n"
                "  gcbench replay --method sbc:p=0.01,delay=4 gradients.h5\n"
                "  gcbench replay --method dgc --method redsync --loop 20 gradients.h5\n"
                "  gcbench replay --method fft:memory=ef --theta-schedule 0.9@0,0@8 gradients.h5\n"
                "  gcbench replay --method fft --tune-steps 3 --allow-gaps gradients.h5\n",
    .details =
        "Every worker keeps its own memory: none, ef, dgc, delay or demo (`--method "
        "qsgd:memory=ef`;\n"
        "`gcbench methods NAME` shows each method's own).\n"
        "wire: bytes of all workers. ratio: input over wire, steps summed before a message "
        "included. "
        "alpha: error of the averaged update against what it should be. cum err: of all updates so "
        "far. resid: norm of what is not sent yet. kept %: of positions. any %: of elements, sent "
        "by "
        "some worker. stale: steps since an element was sent, median/99th percentile. "
        "docs/replay.md has the definitions.\n",
    .spec = {.groups = groups, .extra = &extra},
    .size = sizeof(struct replay_options),
    .defaults = defaults,
    .run = replay_run,
};
