#include <inttypes.h>
#include <string.h>

#include "cli/base/heading.h"
#include "cli/base/interrupt.h"
#include "cli/bench/bench_kernels.h"
#include "cli/bench/bench_setup.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/cpu_flags.h"
#include "src/tool/trial/extent.h"

/* The case at hand: indices into the suite's lists. */
struct bench_case {
    size_t scope, device, threads, cache;
};

static int on_trial(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    struct bench *c = ctx;
    struct gcb_row row;

    if (!out_wants_rows(&c->s.report))
        return 0;
    if (c->shapes) {
        const int err = gcb_shapes_add(c->shapes, trial, diag);

        if (err)
            return err;
    }
    gcb_rows_result(&row, &c->s.setting, &c->methods[trial->method], trial);
    return session_put(&c->s, &row);
}

static void on_progress(void *ctx, double done)
{
    struct bench *c = ctx;

    progress_update(&c->s.progress, (c->done + done * c->weight) / c->work);
}

/* What rows of the case share. */
static void set_case(struct bench *c, const struct bench_case *at)
{
    c->s.bandwidth = c->bandwidths[at->threads];
    c->s.backend.queue.threads = c->suite.threads[at->threads];
    session_fill_setting(&c->s);
    c->s.setting.device = c->devices[at->device].name;
    c->s.setting.device_copy_gbps = c->devices[at->device].copying.gbps;
    c->s.setting.suite = c->suite.name;
    c->s.setting.cache = gcb_cache_names[c->suite.caches[at->cache]];
    c->s.setting.without_samples = !c->o->own.samples;
}

static struct gcb_run_config run_config(struct bench *c, const struct bench_case *at)
{
    const struct gcb_suite *s = &c->suite;
    const struct gcb_device *gpu = &c->devices[at->device].gpu;
    struct gcb_run_config config = session_run_config(&c->s, &c->o->timing, c->methods, c->count);

    config.trial.timing = (struct gcb_timing){
        .warmup = (unsigned)s->warmup,
        .repeat = s->repeat,
        .min_time = s->min_time,
        .max_time = s->max_time,
        .precision = s->precision,
        .max_samples = s->max_samples,
        .evict = s->caches[at->cache] == GCB_CACHE_COLD ? &c->evict : NULL,
    };
    config.trial.stages = true;
    config.trial.device = gpu->module ? gpu : NULL;
    config.trial.copy = !gpu->module;
    config.carry_on = true;
    config.groups = true;
    if (!c->s.files->count)
        config.nonfinite = GCB_POLICY_RAW; /* there are none: no need to look */
    config.budget = s->time_budget > 0.0 ? &c->budget : NULL;
    return config;
}

static int run_case(struct bench *c, const struct bench_case *at, struct gcb_diag *diag)
{
    const struct gcb_run_observer observer = {
        .trial = on_trial, .progress = on_progress, .stop = session_stop, .ctx = c};
    const struct gcb_run_config config = run_config(c, at);
    const struct gcb_device *gpu = config.trial.device;
    struct gcb_diag why = {0};
    int err = 0;

    if (gpu && gpu->module->use(gpu->index, &why)) { /* it broke in a case before */
        c->done += c->weight;
        return gcb_run_none(&c->result, &config, &why, diag);
    }
    if (config.trial.timing.evict && !c->evict.queue)
        err = gcb_evict_init(&c->evict, &c->s.backend.queue, gcb_cpu_detect(), diag);
    if (!err)
        err = gcb_run(&c->result, &config, &observer, diag);
    if (err)
        return err;
    c->interrupted = c->result.interrupted;
    c->done += c->weight;
    return 0;
}

static const char *files_of(char *files, const struct bench *c)
{
    return c->s.files->count ? session_name_files(files, &c->s) : GCB_SOURCE_SYNTHETIC;
}

static int put_summaries(struct bench *c)
{
    char files[SESSION_FILES];
    int err = 0;

    for (size_t i = 0; !err && i < c->count && out_wants_rows(&c->s.report); i++) {
        const struct gcb_run_total *total = &c->result.totals[i];
        struct gcb_row row;

        if (total->tally.messages == 0 && !total->failure.status)
            continue;
        gcb_rows_summary(&row, &c->s.setting, &c->methods[i], total, files_of(files, c),
                         c->interrupted);
        err = session_put(&c->s, &row);
    }
    return err;
}

/* Shapes are the same whatever the device, the threads and the caches: the first case of a scope has them. */
static int begin_shapes(struct bench *c, const struct bench_case *at, struct gcb_diag *diag)
{
    const struct gcb_shapes_config config = {c->o->shapes.histogram, c->o->shapes.spectrum,
                                             c->count, &c->s.backend.queue};

    if (c->shaped > at->scope || !(config.histogram || config.spectrum))
        return 0;
    c->shaped = at->scope + 1;
    return gcb_shapes_create(&c->shapes, &config, diag);
}

static int put_shape(void *ctx, struct gcb_row *row, struct gcb_diag *diag)
{
    struct bench *c = ctx;

    (void)diag; /* the context's */
    return session_put(&c->s, row);
}

static int put_shapes(struct bench *c, struct gcb_diag *diag)
{
    const struct gcb_shapes_sink sink = {.put = put_shape, .ctx = c};
    int err = 0;

    if (c->shapes)
        err = gcb_shapes_rows(c->shapes, c->methods, &sink, diag);
    gcb_shapes_destroy(c->shapes);
    c->shapes = NULL;
    return err;
}

static void case_words(char *out, size_t size, const struct bench *c)
{
    char more[80];

    snprintf(more, sizeof(more), ", %s cache, %s", c->s.setting.cache, c->s.setting.device);
    if (c->suite.repeat)
        snprintf(more + strlen(more), sizeof(more) - strlen(more), ", %u run%s each",
                 c->suite.repeat, c->suite.repeat == 1 ? "" : "s");
    session_describe(out, size, &c->s, more);
}

static int show_case(struct bench *c, const struct bench_case *at, struct gcb_diag *diag)
{
    char settings[200];
    const struct bench_view view = {
        .methods = c->methods,
        .result = &c->result,
        .settings = settings,
        .bandwidth = &c->bandwidths[at->threads],
        .in_cache = c->suite.caches[at->cache] == GCB_CACHE_WARM &&
                    gcb_run_in_cache(&c->s.layout, c->bandwidths[at->threads].bytes),
        .precision = c->suite.precision,
        .marks = &c->marks,
    };

    if (!c->s.report.table)
        return 0;
    case_words(settings, sizeof(settings), c);
    return bench_show(&view, &c->s.report, diag);
}

/* A device that is not there: a row for every method says so. */
static int put_unsupported(struct bench *c, const struct bench_case *at)
{
    const char *reason = c->devices[at->device].why.text;
    char files[SESSION_FILES], settings[200];
    int err = 0;

    for (size_t i = 0; !err && i < c->count && out_wants_rows(&c->s.report); i++) {
        struct gcb_row row;

        gcb_rows_unsupported(&row, &c->s.setting, &c->methods[i], files_of(files, c), reason);
        err = session_put(&c->s, &row);
    }
    case_words(settings, sizeof(settings), c);
    if (c->s.report.table)
        bench_show_unsupported(settings, reason, c->s.report.out);
    return err;
}

static int do_case(struct bench *c, const struct bench_case *at, struct gcb_diag *diag)
{
    int err;

    set_case(c, at);
    if (c->devices[at->device].why.status)
        return put_unsupported(c, at);
    err = begin_shapes(c, at, diag);
    if (err)
        return err;
    session_start_progress(&c->s);
    err = run_case(c, at, diag);
    progress_end(&c->s.progress);
    bench_outcome_add(&c->outcome, &c->result);
    if (!err)
        err = put_summaries(c);
    if (!err)
        err = put_shapes(c, diag);
    if (!err)
        err = show_case(c, at, diag);
    gcb_run_result_fini(&c->result);
    return err;
}

/* The next case; false behind the last. Scopes change least often. */
static bool next_case(struct bench_case *at, const struct gcb_suite *s)
{
    if (++at->cache < s->cache_count)
        return true;
    at->cache = 0;
    if (++at->threads < s->thread_count)
        return true;
    at->threads = 0;
    if (++at->device < s->device_count)
        return true;
    at->device = 0;
    return ++at->scope < s->scope_count;
}

/* What is measured: the suite, or which step and worker of the files. */
static const char *head_words(char *out, size_t size, const struct bench *c)
{
    const struct gcb_tensor *first = gcb_source_tensor(c->s.source, 0);

    if (c->suite.name)
        snprintf(out, size, "suite %s", c->suite.name);
    else
        snprintf(out, size, "step %s%" PRIu64 ", worker %s%u", c->o->input.step ? "from " : "",
                 first->step, c->o->input.worker ? "from " : "", (unsigned)first->worker);
    return out;
}

static int print_head(struct bench *c, struct gcb_diag *diag)
{
    const char *name = GCB_SOURCE_SYNTHETIC;
    const struct opt_list synthetic = {.items = &name, .count = 1};
    struct gcb_extent extent;
    char words[80];
    const int err = c->s.report.table ? gcb_extent_of(&extent, c->s.source, diag) : 0;

    if (err || !c->s.report.table)
        return err;
    heading_print(c->s.report.out, c->s.files->count ? c->s.files : &synthetic, &extent,
                  head_words(words, sizeof(words), c));
    return 0;
}

static int run_all(struct bench *c, struct gcb_diag *diag)
{
    struct bench_case at = {0};
    int err = print_head(c, diag);

    gcb_budget_start(&c->budget, c->suite.time_budget, c->work);
    if (!err)
        err = bench_plan_scope(c, 0);
    while (!err) {
        const size_t scope = at.scope;

        err = do_case(c, &at, diag);
        if (err || c->interrupted || !next_case(&at, &c->suite))
            break;
        if (at.scope != scope)
            err = bench_plan_scope(c, at.scope);
    }
    return err;
}

static int finish(struct bench *c, struct gcb_diag *diag)
{
    int err, interrupted = 0;

    if (c->s.report.table)
        bench_show_notes(&c->s.report, &c->marks);
    err = out_commit(&c->s.report, diag);
    if (err)
        return err;
    if (c->interrupted)
        interrupted = session_interrupted(&c->s, "what was done is kept");
    err = bench_outcome_judge(&c->outcome, c->s.ctx->err, diag);
    return interrupted && err != CMD_NOT_VERIFIED ? interrupted : err;
}

static int bench_methods_run(const struct bench_options *o, const struct opt_list *operands,
                             struct cmd_context *ctx)
{
    struct bench c = {.o = o, .input = o->input, .message = o->message, .exec = o->exec};
    int err;

    c.s = (struct session){
        .o = {&c.input, &c.message, &c.exec, &o->save, &o->show}, .files = operands, .ctx = ctx};
    err = bench_resolve(&c);
    if (err)
        goto out;
    err = bench_open_input(&c);
    if (err)
        goto out;
    interrupt_catch();
    err = bench_open_report(&c);
    if (err)
        goto out;
    err = run_all(&c, ctx->diag);
    if (!err)
        err = finish(&c, ctx->diag);
out:
    bench_release(&c);
    return err;
}

static int bench_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct bench_options *o = options;
    const struct bench_kernels_request request = {
        .own = &o->kernels,
        .exec = &o->exec,
        .timing = &o->timing,
        .precision = o->own.precision,
        .max_time = o->own.max_time,
        .max_samples = o->own.max_samples,
        .save = &o->save,
        .show = &o->show,
        .samples = o->own.samples,
    };

    if (o->kernels.kernels) {
        const int err = bench_check_kernels(o, ctx->diag);

        return err ? err : bench_kernels(&request, operands, ctx);
    }
    return bench_methods_run(o, operands, ctx);
}

static void defaults(void *options)
{
    struct bench_options *o = options;

    opt_timing_defaults(&o->timing);
}

static const struct opt_group groups[] = {
    {"Methods", opt_methods_rows, offsetof(struct bench_options, methods)},
    {"Cases", bench_case_rows, offsetof(struct bench_options, own)},
    {"Input", bench_input_rows, offsetof(struct bench_options, input)},
    {"Input", opt_input_rows, offsetof(struct bench_options, input)},
    {"Messages", opt_message_rows, offsetof(struct bench_options, message)},
    {"Running", opt_exec_rows, offsetof(struct bench_options, exec)},
    {"Timing", bench_repeat_rows, offsetof(struct bench_options, timing)},
    {"Timing", bench_timing_rows, offsetof(struct bench_options, own)},
    {"Kernels", bench_kernels_rows, offsetof(struct bench_options, kernels)},
    {"Output", bench_show_rows, offsetof(struct bench_options, own)},
    {"Output", opt_shapes_rows, offsetof(struct bench_options, shapes)},
    {"Output", opt_force_rows, offsetof(struct bench_options, save)},
    {"Output", opt_save_rows, offsetof(struct bench_options, save)},
    {"Output", opt_hash_rows, offsetof(struct bench_options, save)},
    {"Output", opt_show_rows, offsetof(struct bench_options, show)},
    {.rows = NULL},
};

static const struct opt_extra extra = {
    .name_at = opt_methods_key_at,
    .offset = offsetof(struct bench_options, methods.overrides),
};

const struct cmd cmd_bench = {
    .name = "bench",
    .summary = "time methods over scopes, threads and caches, with statistics",
    .usage = "bench [options] [FILE...]",
    .examples = "  gcbench bench\n"
                "  gcbench bench gradients.h5 --results r.json\n"
                "  gcbench bench --method fft --method topk --scope tensor,model gradients.h5\n"
                "  gcbench bench --suite quick --threads 1,2 --cache both\n"
                "  gcbench bench --repeat 20 --samples --format json gradients.h5\n"
                "  gcbench bench --kernels 'reduce/*' --size l1\n",
    .details =
        "Without --method and --suite, every method at its defaults; without FILE, synthetic "
        "tensors of 4 K to 16 M elements. Of a file, the last step and its first worker.\n"
        "Each message is encoded and decoded until the median time is known to --precision or its "
        "share of --time-budget is over, for 5 ms of timed calls at least (--min-time); --repeat N "
        "times it N times instead. The identity codec "
        "and memcpy, timed in turn, are always there: what lies between them is the harness.\n"
        "--kernels times what methods are built from instead, each variant of the instruction set "
        "against C; with --repeat alone the work is the same in every run, so that instructions "
        "can be counted.\n"
        "Exit status: 5 where a device gave other bytes or values than the CPU, whatever else; 1 "
        "where a "
        "method failed, or after Ctrl-C; 3 where no device that was asked for is there, or a "
        "library "
        "that a method needs on one. Methods that do not run there are unsupported, and no "
        "failure.\n"
        "A file of results has a row for every message and a summary for every method: "
        "docs/rows.md, "
        "docs/method.md, docs/suites.md.\n",
    .spec = {.groups = groups, .extra = &extra},
    .size = sizeof(struct bench_options),
    .defaults = defaults,
    .run = bench_run,
};
