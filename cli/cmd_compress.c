#include <math.h>
#include <string.h>

#include "cli/compress_options.h"
#include "cli/compress_table.h"
#include "cli/heading.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "src/base/alloc.h"
#include "src/base/text.h"
#include "src/bench/rows.h"
#include "src/bench/shapes.h"

/* Everything that lives as long as the command. Starts zeroed. */
struct compress {
    const struct compress_options *o;
    const struct opt_list *files;
    struct cmd_context *ctx;
    struct gcb_method *methods;
    size_t given, count; /* methods the user named; with the baseline */
    gcb_tally_figure_fn *sort;
    struct opt_backend backend;
    struct gcb_bandwidth bandwidth;
    struct gcb_source *source;
    struct gcb_layout layout;
    struct gcb_container_writer *keep;
    struct out_report report;
    struct progress progress;
    struct gcb_rows_setting setting;
    struct gcb_trial_config trial;
    struct gcb_groups groups;
    struct gcb_losses *losses;
    struct gcb_shapes *shapes; /* NULL without --histogram and --spectrum */
    struct gcb_run_result result;
};

/* Here every message stands alone: a preset's memory is left away, one that was asked for with a note. */
static void forget_memories(struct compress *c)
{
    bool asked = false;

    for (size_t i = 0; i < c->count; i++)
        asked |= gcb_method_forget(&c->methods[i]);
    if (asked && !c->o->show.quiet)
        fprintf(c->ctx->err, "gcbench: a memory acts from step to step, and so in `gcbench replay` "
                             "alone: compress leaves it away\n");
}

static int resolve(struct compress *c, struct gcb_diag *diag)
{
    int err = compress_check(&c->sort, c->o, diag);

    if (!err)
        err = opt_message_check(&c->o->message, diag);
    if (!err)
        err = compress_methods(&c->methods, &c->given, &c->count, c->o, diag);
    if (!err)
        forget_memories(c);
    if (!err)
        err = opt_exec_resolve(&c->backend, &c->o->exec, diag);
    if (!err && strcmp(c->backend.device, "cpu") != 0)
        err = gcb_diag_set(diag, GCB_E_BACKEND, "compress runs on the cpu only");
    return err;
}

static int open_input(struct compress *c, struct gcb_diag *diag)
{
    const struct gcb_layout_config config = opt_message_layout(&c->o->message);
    const int err =
        opt_input_open(&c->source, &c->o->input, c->files, c->o->message.min_elements, diag);

    return err ? err : gcb_layout_init(&c->layout, c->source, &config, diag);
}

static int open_output(struct compress *c, struct gcb_diag *diag)
{
    const struct opt_make *make = &c->o->make;
    char spec[512];
    int err;

    if (!make->output)
        return 0;
    err = gcb_container_create(&c->keep, make->output, make->force, c->files->items,
                               c->files->count, diag);
    if (!err)
        err = gcb_container_note(c->keep, "gcbench_version", gcb_version(), diag);
    if (!err)
        err = gcb_container_note(c->keep, "method",
                                 gcb_method_spec(spec, sizeof(spec), &c->methods[0], GCB_SPEC_FULL),
                                 diag);
    return err;
}

/* Rows come with the machine's bandwidth, which takes a moment; a table does without. */
static int open_report(struct compress *c, struct gcb_diag *diag)
{
    const struct compress_options *o = c->o;
    const struct out_guard guard = {.inputs = c->files, .force = o->make.force};
    int err = out_open(&c->report, &o->show, &o->save, &guard, &gcb_result_columns, c->ctx);

    c->setting = (struct gcb_rows_setting){
        .scope = opt_scopes[o->message.scope],
        .order = opt_orders[o->input.order],
        .device = c->backend.device,
        .isa = c->backend.isa,
        .threads = c->backend.queue.threads,
        .read_gbps = NAN,
        .fill_gbps = NAN,
    };
    if (err || !out_wants_rows(&c->report))
        return err;
    err = gcb_bandwidth_measure(&c->bandwidth, &c->backend.queue,
                                gcb_run_bandwidth_bytes(&c->layout), diag);
    c->setting.read_gbps = c->bandwidth.read_gbps;
    c->setting.fill_gbps = c->bandwidth.fill_gbps;
    return err ? err
               : out_environment(&c->report, &c->backend, c->files, &c->bandwidth, o->save.hash,
                                 c->ctx);
}

static bool wants_groups(const struct compress *c)
{
    return c->report.table && c->o->own.per != COMPRESS_PER_DEFAULT &&
           c->o->own.per != COMPRESS_PER_NONE;
}

static bool wants_losses(const struct compress *c)
{
    return c->report.table && c->o->own.per == COMPRESS_PER_DEFAULT;
}

static int on_trial(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    struct compress *c = ctx;
    struct gcb_row row;
    int err = 0;

    if (wants_groups(c))
        err = gcb_groups_add(&c->groups, trial, diag);
    if (!err && wants_losses(c))
        err = gcb_losses_add(c->losses, c->source, trial, &c->trial, diag);
    if (!err && c->shapes)
        err = gcb_shapes_add(c->shapes, trial, diag);
    if (err || c->o->own.per == COMPRESS_PER_NONE || !out_wants_rows(&c->report))
        return err;
    gcb_rows_result(&row, &c->setting, &c->methods[trial->method], trial);
    return out_put(&c->report, &row, diag);
}

static void on_progress(void *ctx, double done)
{
    struct compress *c = ctx;

    progress_update(&c->progress, done);
}

static bool on_stop(void *ctx)
{
    (void)ctx;
    return interrupt_seen();
}

static struct gcb_trial_config trial_config(const struct compress *c)
{
    const struct opt_timing *t = &c->o->timing;

    return (struct gcb_trial_config){
        .kernels = &c->backend.kernels,
        .queue = &c->backend.queue,
        .seed = c->backend.seed,
        .fft_rigor = (enum gcb_fft_rigor)c->o->exec.fft_plan,
        .timing = {.warmup = t->warmup < 0 ? 1 : (unsigned)t->warmup,
                   .repeat = t->repeat ? (unsigned)t->repeat : 1,
                   .min_time = t->min_time},
    };
}

/* What on_trial fills. */
static int prepare(struct compress *c, struct gcb_diag *diag)
{
    const struct compress_own *own = &c->o->own;
    const struct gcb_shapes_config shapes = {own->histogram, own->spectrum, c->count,
                                             &c->backend.queue};
    const int err = gcb_losses_create(&c->losses, c->count, diag);

    if (wants_groups(c))
        gcb_groups_init(&c->groups, (enum gcb_per)own->per, c->count);
    if (err || !(own->histogram || own->spectrum))
        return err;
    return gcb_shapes_create(&c->shapes, &shapes, diag);
}

static int run(struct compress *c, struct gcb_diag *diag)
{
    const struct gcb_run_observer observer = {
        .trial = on_trial, .progress = on_progress, .stop = on_stop, .ctx = c};
    const struct opt_message *m = &c->o->message;
    const struct gcb_run_config config = {
        .source = c->source,
        .layout = &c->layout,
        .methods = c->methods,
        .method_count = c->count,
        .trial = c->trial,
        .nonfinite = (enum gcb_nonfinite_policy)m->nonfinite,
        .output_layers = m->output_layer.items,
        .output_layer_count = m->output_layer.count,
        .keep = c->keep,
    };
    int err = prepare(c, diag);

    if (err)
        return err;
    progress_start(&c->progress, c->ctx->err, !c->o->show.quiet);
    err = gcb_run(&c->result, &config, &observer, diag);
    progress_end(&c->progress);
    return err;
}

static int put_summaries(struct compress *c, struct gcb_diag *diag)
{
    const char *status = c->result.interrupted ? "interrupted" : "ok";
    char files[4096];
    int err = 0;

    if (!out_wants_rows(&c->report))
        return 0;
    heading_files(files, sizeof(files), c->files);
    for (size_t i = 0; !err && i < c->count; i++) {
        struct gcb_row row;

        gcb_rows_summary(&row, &c->setting, &c->methods[i], &c->result.totals[i], files, status);
        err = out_put(&c->report, &row, diag);
    }
    return err;
}

static int show_table(struct compress *c, struct gcb_diag *diag)
{
    struct gcb_extent extent;
    char settings[160];
    const struct compress_view view = {
        .files = c->files,
        .extent = &extent,
        .methods = c->methods,
        .given = c->given,
        .result = &c->result,
        .groups = wants_groups(c) ? &c->groups : NULL,
        .losses = wants_losses(c) ? c->losses : NULL,
        .sort = c->sort,
        .top = (size_t)c->o->own.top,
        .settings = settings,
        .whole_model = c->o->message.scope == GCB_SCOPE_MODEL,
    };
    const int err = c->report.table ? gcb_extent_of(&extent, c->source, diag) : 0;

    if (err || !c->report.table)
        return err;
    if (c->sort && view.groups)
        gcb_groups_sort(&c->groups, c->sort);
    compress_settings(settings, sizeof(settings), c->o, &c->backend);
    return compress_show(&view, &c->report, diag);
}

static int put_row(void *ctx, struct gcb_row *row, struct gcb_diag *diag)
{
    struct compress *c = ctx;

    return out_put(&c->report, row, diag);
}

static int put_shapes(struct compress *c, struct gcb_diag *diag)
{
    const struct gcb_shapes_sink sink = {put_row, c};

    return c->shapes ? gcb_shapes_rows(c->shapes, c->methods, &sink, diag) : 0;
}

/* Nothing is kept of an interrupted run but its rows, which say so. */
static int finish(struct compress *c, struct gcb_diag *diag)
{
    int err = put_summaries(c, diag);

    if (!err)
        err = put_shapes(c, diag);
    if (!err && c->keep && !c->result.interrupted)
        err = gcb_container_commit(c->keep, diag);
    if (!err)
        err = show_table(c, diag);
    if (!err)
        err = out_commit(&c->report, diag);
    if (err || !c->result.interrupted)
        return err;
    fprintf(c->ctx->err, "gcbench: interrupted%s\n",
            c->keep ? "; no file of messages was kept" : "");
    return CMD_FAILED;
}

static void release(struct compress *c)
{
    gcb_run_result_fini(&c->result);
    gcb_shapes_destroy(c->shapes);
    gcb_losses_destroy(c->losses);
    gcb_groups_fini(&c->groups);
    out_close(&c->report);
    gcb_container_destroy(c->keep);
    gcb_layout_fini(&c->layout);
    gcb_source_close(c->source);
    gcb_free(c->methods);
}

static int compress_run(const void *options, const struct opt_list *operands,
                        struct cmd_context *ctx)
{
    struct compress c = {.o = options, .files = operands, .ctx = ctx};
    int err = resolve(&c, ctx->diag);

    if (err)
        goto out;
    err = open_input(&c, ctx->diag);
    if (err)
        goto out;
    interrupt_catch();
    err = open_output(&c, ctx->diag);
    if (err)
        goto out;
    err = open_report(&c, ctx->diag);
    if (err)
        goto out;
    c.trial = trial_config(&c);
    err = run(&c, ctx->diag);
    if (!err)
        err = finish(&c, ctx->diag);
out:
    release(&c);
    return err;
}

static void defaults(void *options)
{
    struct compress_options *o = options;

    o->own.per = COMPRESS_PER_DEFAULT;
    opt_timing_defaults(&o->timing);
}

static const struct opt_group groups[] = {
    {"Methods", opt_methods_rows, offsetof(struct compress_options, methods)},
    {"Input", opt_input_rows, offsetof(struct compress_options, input)},
    {"Messages", opt_message_rows, offsetof(struct compress_options, message)},
    {"Running", opt_exec_rows, offsetof(struct compress_options, exec)},
    {"Running", opt_timing_rows, offsetof(struct compress_options, timing)},
    {"Output", opt_make_rows, offsetof(struct compress_options, make)},
    {"Output", compress_own_rows, offsetof(struct compress_options, own)},
    {"Output", opt_save_rows, offsetof(struct compress_options, save)},
    {"Output", opt_hash_rows, offsetof(struct compress_options, save)},
    {"Output", opt_show_rows, offsetof(struct compress_options, show)},
    {.rows = NULL},
};

static const struct opt_extra extra = {
    .name_at = opt_methods_key_at,
    .offset = offsetof(struct compress_options, methods.overrides),
};

const struct cmd cmd_compress = {
    .name = "compress",
    .summary = "encode tensors with each method, decode them again, report",
    .usage = "compress [options] --method NAME[:key=value,...] FILE...",
    .examples = "  gcbench compress --method fft --method topk gradients.h5\n"
                "  gcbench compress --method fft --theta 0.9 --scope model gradients.h5\n"
                "  gcbench compress --method qsgd:bits=4 -o messages.h5 gradients.h5\n"
                "  gcbench compress --method topk --per tensor --sort rel_l2 gradients.h5\n",
    .details =
        "Every message is encoded, decoded from its own bytes, and compared with the input.\n"
        "Each is timed once after one run to warm up, unless --repeat says otherwise.\n",
    .spec = {.groups = groups, .extra = &extra},
    .size = sizeof(struct compress_options),
    .defaults = defaults,
    .run = compress_run,
};
