#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/bench_options.h"
#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/host.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/strings.h"
#include "src/tool/rows/number.h"
#include "src/tool/run/input.h"
#include "src/tool/run/suite.h"

/* The state of the command. Starts zeroed. */
struct bench {
    struct bench_options options; /* of the command line, completed by those of the suite */
    struct bench_options filled;  /* only those of the suite */
    struct session s;             /* its options have the scope of the current case */
    struct gcb_suite suite;
    struct gcb_suite_plan plan;
    struct gcb_source *sources[GCB_SUITE_INPUTS];
    size_t input_count;
    struct gcb_strings paths;    /* the texts of suite_files */
    struct opt_list suite_files; /* files of the suite's inputs that are open */
    const char *input;           /* name of the current input of the suite; NULL: the files given */
    struct gcb_method *methods;
    size_t count;
    struct gcb_suite_device devices[GCB_SUITE_DEVICES];
    struct gcb_suite_run *run;
    double deadline;         /* the end of --time-budget, by gcb_clock; 0: none */
    struct gcb_row *answers; /* rows of answers, which are shown after all tables */
    size_t answer_count, answer_cap;
    /* the case of the last answer; NULL: there is none */
    const struct gcb_source *answered_source;
    enum gcb_scope answered_scope;
    bool interrupted;
    struct bench_outcome outcome;
};

/* ---- before the first case ---- */

/* Finds the devices. A device that cannot be used is kept with the reason, for rows with status
 * "unsupported". GCB_E_BACKEND: no device can be used. Leaves the backend of the last device in
 * c->s. */
static int resolve_devices(struct bench *c, struct gcb_diag *diag)
{
    bool found = false;

    for (size_t i = 0; i < c->plan.device_count; i++) {
        struct gcb_suite_device *d = &c->devices[i];
        int err;

        c->s.o.exec.device = c->plan.devices[i];
        err = opt_exec_resolve(&c->s.backend, &c->s.o.exec, &d->why);
        d->gpu = c->s.backend.gpu;
        snprintf(d->name, sizeof(d->name), "%s", c->s.backend.device);
        if (err && err != GCB_E_BACKEND)
            return gcb_diag_set(diag, err, "%s", d->why.text);
        d->why.status = err;
        found |= !err;
    }
    if (!found)
        return gcb_diag_set(diag, GCB_E_BACKEND, "%s", c->devices[0].why.text);
    return 0;
}

/* Removes methods that are equal to an earlier method. Methods of a suite that differed only in
 * their memories are equal here, because `bench` has removed the memories. */
static void drop_repeated(struct bench *c)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->count; i++) {
        size_t k = 0;

        while (k < kept && !gcb_method_equal(&c->methods[i], &c->methods[k]))
            k++;
        c->methods[k] = c->methods[i];
        kept += k == kept;
    }
    c->count = kept;
}

/* Checks the options, and finds the suite, the plan, the methods, the devices and the shard. */
static int resolve(struct bench *c, struct gcb_diag *diag)
{
    const bool named = c->options.methods.specs.count;
    int err = opt_shapes_check(&c->options.shapes, &c->options.common.show, &c->options.common.save,
                               diag);

    if (!err)
        err = bench_take_suite(&c->options, &c->filled, &c->suite, c->s.files->count > 0, diag);
    if (!err)
        err = bench_plan(&c->plan, &c->options, diag);
    if (!err && !c->s.files->count && c->suite.input_count > 1 &&
        (c->options.shapes.histogram || c->options.shapes.spectrum))
        err = gcb_invalid(
            diag, "--histogram and --spectrum would mix the inputs of suite %s: name a file",
            c->suite.name);
    if (!err)
        err = bench_methods(&c->methods, &c->count, &c->options, diag);
    if (!err)
        err = resolve_devices(c, diag);
    if (err)
        return err;
    session_drop_memory(&c->s, "bench", c->methods, c->count);
    if (c->options.own.suite && !named)
        drop_repeated(c);
    err = session_read_shard(&c->s, c->methods, c->count);
    if (err)
        return err;
    c->s.o.message.scope = (int)c->plan.scopes[0];
    /* --bucket-bytes is valid if any scope is bucket */
    for (size_t i = 1; i < c->plan.scope_count; i++)
        if (c->plan.scopes[i] == GCB_SCOPE_BUCKET)
            c->s.o.message.scope = GCB_SCOPE_BUCKET;
    return opt_message_check(&c->s.o.message, diag);
}

/* Opens files as the next input: the last step and the first worker in it, unless the options
 * choose others. */
static int open_files(struct bench *c, const struct opt_list *files, struct gcb_diag *diag)
{
    struct gcb_source **out = &c->sources[c->input_count];
    struct opt_input in = c->s.o.input;
    char worker[16];
    uint32_t first;
    int err;

    if (!in.step)
        in.step = "last";
    err = opt_input_open(out, &in, files, diag);
    if (err || in.worker)
        return err;
    first = gcb_source_tensor(*out, 0)->worker;
    snprintf(worker, sizeof(worker), "%" PRIu32, first);
    for (size_t i = 1; i < gcb_source_count(*out); i++) {
        if (gcb_source_tensor(*out, i)->worker == first)
            continue;
        gcb_source_close(*out);
        *out = NULL;
        in.worker = worker;
        return opt_input_open(out, &in, files, diag);
    }
    return 0;
}

/* Opens an input of the suite as the next input. Adds the path of its file, if it is not synthetic,
 * to c->suite_files. */
static int open_suite_input(struct bench *c, const struct gcb_suite_input *in,
                            struct gcb_diag *diag)
{
    char path[GCB_DATA_PATH];
    const char *kept;

    if (!in->file)
        return gcb_source_open_synthetic(
            &c->sources[c->input_count], &c->suite.tensors[in->first], in->count,
            c->options.common.exec.seed ? c->options.common.exec.seed : 1, diag);
    if (!gcb_suite_find(path, &c->suite, in->file))
        return gcb_diag_set(diag, GCB_E_IO,
                            "suite %s: its input %s is neither beside it nor in gcbench's "
                            "datasets",
                            c->suite.name, gcb_show(in->file).text);
    kept = gcb_strings_keep(&c->paths, path);
    opt_list_add(&c->suite_files, kept);
    return open_files(c, &(struct opt_list){.items = &kept, .count = 1}, diag);
}

/* Opens the files as one input, or the inputs of the suite. */
static int open_inputs(struct bench *c, struct gcb_diag *diag)
{
    const bool given = c->s.files->count > 0;
    const size_t count = given ? 1 : c->suite.input_count;
    int err = 0;

    for (c->input_count = 0; !err && c->input_count < count; c->input_count += !err) {
        err = given ? open_files(c, c->s.files, diag)
                    : open_suite_input(c, &c->suite.inputs[c->input_count], diag);
        if (!err && !c->s.o.show.quiet)
            heading_note_input(c->s.ctx->err, c->sources[c->input_count], &c->s.o.input,
                               &c->s.o.message);
    }
    return err;
}

static void open_run(struct bench *c)
{
    struct gcb_suite_config config = {
        .plan = &c->plan,
        .layout = opt_message_layout(&c->s.o.message),
        .shard = c->s.shard,
        .sources = c->sources,
        .source_count = c->input_count,
        .run = session_run_config(&c->s, &c->options.timing, c->methods, c->count),
        .devices = c->devices,
        .histogram = c->options.shapes.histogram,
        .spectrum = c->options.shapes.spectrum,
        .no_bandwidth = c->options.own.no_bandwidth,
        .no_sums = c->options.own.no_sums,
    };

    if (!c->s.files->count && !c->suite_files.count)
        config.run.nonfinite = GCB_POLICY_RAW; /* synthetic tensors are finite: no need to look */
    c->run = gcb_suite_run_open(&config);
}

/* Opens the report, measures the bandwidth of memory (unless --no-bandwidth is given) and of GPUs,
 * and sends the `environment` row, which describes the first GPU that can be used. */
static int open_report(struct bench *c, struct gcb_diag *diag)
{
    const struct gcb_bandwidth *all;
    struct opt_backend *backend = &c->s.backend;
    int err = session_open_report(&c->s, GCB_RESULT_RECORDS);

    if (!err)
        err = gcb_suite_run_measure(c->run, &all, diag);
    if (err)
        return err;
    backend->gpu.module = NULL;
    for (size_t i = c->plan.device_count; i-- > 0;) /* backwards: the first GPU stays */
        if (!c->devices[i].why.status && c->devices[i].gpu.module) {
            backend->gpu = c->devices[i].gpu;
            backend->gpu_copying = c->devices[i].copying;
        }
    backend->queue.threads = c->plan.threads[0];
    return out_environment(&c->s.report, backend, c->sources[0],
                           c->s.files->count ? c->s.files : &c->suite_files, all,
                           c->options.own.no_bandwidth ? 0 : c->plan.thread_count,
                           c->options.common.save.hash, c->s.ctx);
}

/* ---- a case ---- */

/* Describes the current input: "suite NAME" if there is a suite, and the step and worker of a file,
 * unless the user gave both a suite and files. Returns out. */
static const char *describe_input(char *out, size_t size, const struct bench *c, size_t input,
                                  const struct gcb_extent *extent)
{
    const struct gcb_tensor *first = gcb_source_tensor(c->s.source, 0);
    const bool suite = c->suite.name, file = !c->s.files->count && c->suite.inputs[input].file;

    snprintf(out, size, "%s%s", suite ? "suite " : "", suite ? c->suite.name : "");
    if (!suite || file)
        gcb_append(out, size, "%s%s %" PRIu64 ", %s %u", suite ? ", " : "",
                   extent->steps > 1 ? "steps from" : "step", first->step,
                   extent->workers > 1 ? "workers from" : "worker", (unsigned)first->worker);
    return out;
}

/* Makes an input the current one. With a table, prints the line above the tables of its cases. */
static void begin_input(struct bench *c, size_t input)
{
    const char *name = c->suite.inputs[input].name;
    const struct opt_list names = {.items = &name, .count = 1};
    struct gcb_extent extent;
    char words[120];

    c->s.source = c->sources[input];
    if (!c->s.report.table)
        return;
    gcb_extent_of(&extent, c->s.source);
    if (input)
        fputc('\n', c->s.report.out);
    heading_print(c->s.report.out, c->s.files->count ? c->s.files : &names, &extent,
                  describe_input(words, sizeof(words), c, input, &extent));
}

/* Sets the fields that all rows of the case share, and starts the progress bar if the device can be
 * used. */
static int on_begin(void *ctx, const struct gcb_suite_case *at, struct gcb_diag *diag)
{
    struct bench *c = ctx;

    (void)diag;
    if (c->s.source != c->sources[at->input])
        begin_input(c, at->input);

    c->input = c->s.files->count ? NULL : c->suite.inputs[at->input].name;
    c->s.o.message.scope = (int)at->scope;
    c->s.bandwidth = *at->bandwidth;
    c->s.backend.queue.threads = at->threads;
    session_fill_setting(&c->s);
    c->s.setting.device = at->device->name;
    c->s.setting.device_copy_gbps = at->device->copying.gbps;
    c->s.setting.suite = c->suite.name;
    c->s.setting.cache = gcb_cache_names[at->cache];
    c->s.setting.without_samples = !c->options.own.samples;
    if (!at->device->why.status)
        session_start_progress(&c->s);
    c->s.progress.deadline = c->deadline;
    return 0;
}

static int on_trial(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    struct bench *c = ctx;
    struct gcb_row row;

    (void)diag; /* session_put uses ctx->diag */
    if (!out_wants_rows(&c->s.report))
        return 0;
    gcb_rows_result(&row, &c->s.setting, &c->methods[trial->method], trial);
    if (c->input)
        gcb_row_text(&row, GCB_FIELD_FILE, c->input);
    return session_put(&c->s, &row);
}

static int on_shape(void *ctx, struct gcb_row *row, struct gcb_diag *diag)
{
    struct bench *c = ctx;

    return session_put(&c->s, row);
}

/* Sends the summaries of the methods, and then the `shard` row. If `result` is NULL, the device
 * cannot be used, and each method gets a row that says why. */
static int put_summaries(struct bench *c, const struct gcb_suite_case *at,
                         const struct gcb_run_result *result)
{
    char files[SESSION_FILES];
    const struct session_shard shard = {
        .layout = at->layout,
        .methods = c->methods,
        .method_count = c->count,
        .result = result,
        .files = c->input ? c->input : session_name_files(files, &c->s),
    };
    int err = result ? out_summaries(&c->s.report, &c->s.setting, c->methods, result, shard.files,
                                     false, c->s.ctx->diag)
                     : 0;

    for (size_t i = 0; !result && !err && i < c->count && out_wants_rows(&c->s.report); i++) {
        struct gcb_row row;

        gcb_rows_unsupported(&row, &c->s.setting, &c->methods[i], shard.files,
                             at->device->why.text);
        err = session_put(&c->s, &row);
    }
    return err ? err : session_put_shard(&c->s, &shard);
}

static const struct gcb_table_column columns[] = {
    {.title = "method", .elastic = true},
    {.title = "ratio", .field = GCB_FIELD_RATIO},
    {.title = "rel L2", .field = GCB_FIELD_REL_L2},
    {.title = "enc GB/s"},
    {.title = "dec GB/s"},
    {.title = "sum GB/s"},
    {.title = "% of mem"},
    {.title = "end", .text = true},
};

/* Writes a share in percent; "?" if it has more than three digits, "-" if it is not known. Returns
 * out. */
static const char *percent_text(char out[32], double share)
{
    if (!isfinite(share))
        snprintf(out, 32, "-");
    else if (share < 9.995) /* 999.5 % would be rounded up to four digits */
        snprintf(out, 32, "%.0f", 100.0 * share);
    else
        snprintf(out, 32, "?");
    return out;
}

/* True if half of the median's interval is at most this share of the median. */
static bool is_precise(const struct gcb_times *t, double precision)
{
    return t->high - t->low <= 2.0 * precision * t->seconds;
}

/* Returns what ended measuring before the wanted precision: "cut" (an interruption), "max" (the
 * limit on samples) or "time". "": nothing did, or --repeat set the number of runs. */
static const char *end_of(const struct gcb_tally *t, double precision)
{
    if (t->stop == GCB_STOP_INTERRUPTED)
        return "cut";
    if (t->stop == GCB_STOP_REPEAT ||
        (is_precise(&t->encode, precision) && is_precise(&t->decode, precision)))
        return "";
    return t->stop == GCB_STOP_SAMPLES ? "max" : "time";
}

/* Returns "45/70": the speed of encoding in percent of memory's read bandwidth, and that of
 * decoding in percent of its fill bandwidth. "cache": these shares say nothing, because the cache
 * is warm and the messages fit in it (gcb_run_in_cache). "-": the bandwidth was not measured, or
 * the method ran on a device. */
static const char *memory_text(char out[64], const struct gcb_suite_case *at,
                               const struct gcb_tally *t)
{
    const struct gcb_bandwidth *b = at->bandwidth;
    char to[32], from[32];

    if (!b->bytes || t->on_device)
        return "-";
    if (at->cache == GCB_CACHE_WARM && gcb_run_in_cache(at->layout, b->bytes))
        return "cache";
    snprintf(out, 64, "%s/%s", percent_text(to, gcb_tally_gbps(t, &t->encode) / b->read_gbps),
             percent_text(from, gcb_tally_gbps(t, &t->decode) / b->fill_gbps));
    return out;
}

static void add_line(struct gcb_table *table, const struct bench *c,
                     const struct gcb_suite_case *at, const struct gcb_method *m,
                     const struct gcb_tally *t)
{
    const struct gcb_times sum = gcb_tally_sum(t, GCB_TIMED_SUM);
    char text[256];

    gcb_method_spec(text, sizeof(text), m, GCB_SPEC_LABEL);
    gcb_table_cell(table, gcb_append(text, sizeof(text), m->codec->baseline ? " *" : ""));
    out_figures(table, columns, sizeof(columns) / sizeof(columns[0]), t, 7);
    out_speed(table, gcb_tally_gbps(t, &t->encode), &t->encode);
    out_speed(table, gcb_tally_gbps(t, &t->decode), &t->decode);
    gcb_table_cell(table, gcb_number_within(text, gcb_tally_gbps(t, &sum), 3, 6));
    gcb_table_cell(table, memory_text(text, at, t));
    gcb_table_cell(table, end_of(t, c->plan.timing.precision));
}

static void print_head(const struct bench *c, const struct gcb_bandwidth *b)
{
    char number[4][32], more[80], settings[200];

    snprintf(more, sizeof(more), ", %s cache, %s", c->s.setting.cache, c->s.setting.device);
    if (c->plan.timing.repeat)
        gcb_append(more, sizeof(more), ", %u run%s each", c->plan.timing.repeat,
                   c->plan.timing.repeat == 1 ? "" : "s");
    session_describe(settings, sizeof(settings), &c->s, more);
    fprintf(c->s.report.out, "\n%s\n", settings);
    if (b->bytes) /* 0: the bandwidth was not measured, or the device cannot be used */
        opt_wrapf(c->s.report.out, 0, 0, "memory: reads %s, fills %s, copies %s GB/s over %s MB%s",
                  gcb_number(number[0], b->read_gbps, 3), gcb_number(number[1], b->fill_gbps, 3),
                  gcb_number(number[2], b->copy_gbps, 3),
                  gcb_number(number[3], (double)b->bytes * 1e-6, 3),
                  b->bytes <= gcb_host_cache() ? ", in the caches" : "");
}

static void show_case(struct bench *c, const struct gcb_suite_case *at,
                      const struct gcb_run_result *result)
{
    const struct out_report *report = &c->s.report;
    struct gcb_table *table;

    if (!report->table)
        return;
    print_head(c, result ? at->bandwidth : &(struct gcb_bandwidth){.bytes = 0});
    if (!result) {
        fprintf(report->out, "unsupported: %s\n", at->device->why.text);
        return;
    }
    table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < result->method_count; i++)
        if (result->totals[i].tally.messages)
            add_line(table, c, at, &c->methods[i], &result->totals[i].tally);
    out_table(report, table);
    if (!report->quiet)
        out_note_dense(report->out, c->methods, result->method_count, result);
    out_failures(report->out, NULL, result);
}

/* Prints what the columns mean, and a note if the machine's load is high. */
static void show_notes(const struct bench *c)
{
    FILE *out = c->s.report.out;
    bool device = false;

    for (size_t i = 0; i < c->plan.device_count; i++)
        device |= c->devices[i].gpu.module != NULL;
    fprintf(out, "\n* baseline   ±: half of the median's 95 %% interval\n"
                 "±?: the interval is wider than the median, so the speed is not known\n"
                 "sum: adding a message to a sum of messages, without finishing the sum\n"
                 "%% of mem: encode/decode as a share of memory's read/fill bandwidth;\n"
                 "cache: it does not apply, because all messages fit in the cache\n"
                 "end: why measuring stopped early: time limit or sample limit (max)\n");
    if (device)
        opt_wrapf(out, 0, 0,
                  "messages of at most %d elements are encoded in groups on a device; the time of "
                  "a group is divided among its messages by their input bytes",
                  (int)GCB_RUN_SMALL);
    heading_note_load(out, 0);
}

/* Adds the answer of a case to c->answers, unless the last answer is on the same messages, whose
 * sizes and errors do not depend on threads, caches and devices. A shard has no answer, because
 * only `merge` knows all messages. */
static void answer_case(struct bench *c, const struct gcb_suite_case *at,
                        const struct gcb_run_result *result)
{
    const struct gcb_suite_plan *s = &c->plan;
    const bool several = c->input_count * s->scope_count > 1;
    char where[200] = "";

    if (c->s.shard.count || (c->answered_source == c->s.source && c->answered_scope == at->scope))
        return;
    c->answered_source = c->s.source;
    c->answered_scope = at->scope;
    if (several)
        snprintf(where, sizeof(where), "%s%sscope %s", c->input ? c->input : "",
                 c->input ? ", " : "", opt_scopes[at->scope]);
    gcb_must_grow(&c->answers, &c->answer_cap, c->answer_count, sizeof(*c->answers));
    answer_make(&c->answers[c->answer_count++], where, c->methods, result,
                s->device_count * s->thread_count * s->cache_count == 1);
}

static int on_end(void *ctx, const struct gcb_suite_case *at, const struct gcb_run_result *result,
                  struct gcb_diag *diag)
{
    struct bench *c = ctx;
    int err;

    progress_end(&c->s.progress);
    if (result) {
        bench_outcome_add(&c->outcome, result);
        c->interrupted = result->interrupted;
    }
    err = put_summaries(c, at, result);
    if (err)
        return err;
    show_case(c, at, result);
    if (result && !result->interrupted)
        answer_case(c, at, result);
    return 0;
}

/* ---- the command ---- */

static int run_cases(struct bench *c, struct gcb_diag *diag)
{
    const struct gcb_suite_observer observer = {
        .begin = on_begin,
        .end = on_end,
        .trial = on_trial,
        .shape = on_shape,
        .ctx = c,
        .watch = session_watch(&c->s),
    };
    int err;

    c->deadline = c->plan.time_budget > 0.0 ? gcb_clock() + c->plan.time_budget : 0.0;
    err = gcb_suite_run(c->run, &observer, diag);
    progress_end(&c->s.progress);
    return err;
}

static int finish(struct bench *c, struct gcb_diag *diag)
{
    int err = 0, interrupted = 0;

    if (c->s.report.table && !c->s.report.quiet)
        show_notes(c);
    for (size_t i = 0; !err && i < c->answer_count; i++)
        err = out_answer(&c->s.report, &c->answers[i], diag);
    if (!err && c->s.report.table && c->interrupted)
        opt_wrapf(
            c->s.report.out, 0, 2,
            "interrupted: the last table covers only the messages measured by then, and other "
            "cases may be missing");
    if (!err)
        err = out_commit(&c->s.report, diag);
    if (err)
        return err;
    if (c->interrupted)
        interrupted = session_interrupted(&c->s, "the results so far are kept");
    err = bench_outcome_judge(&c->outcome, c->s.ctx->err, diag);
    return interrupted && err != CMD_NOT_VERIFIED ? interrupted : err;
}

static void release(struct bench *c)
{
    for (size_t i = 0; i < c->answer_count; i++)
        gcb_row_fini(&c->answers[i]);
    gcb_free(c->answers);
    gcb_suite_run_close(c->run);
    c->s.source = NULL; /* it is one of c->sources, so session_close must not close it too */
    session_close(&c->s);
    for (size_t i = 0; i < GCB_SUITE_INPUTS; i++)
        gcb_source_close(c->sources[i]);
    opt_list_fini(&c->suite_files);
    gcb_strings_fini(&c->paths);
    gcb_free(c->methods);
    opt_fini(&(struct opt_result){.help = false}, &cmd_bench.spec, &c->filled);
    gcb_suite_fini(&c->suite);
}

static int bench_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct bench_options *o = options;
    struct bench c = {.options = *o, .s = {.o = o->common, .files = operands, .ctx = ctx}};
    int err;

    if (o->kernels.kernels) {
        err = bench_check_kernels(o, ctx->diag);
        return err ? err : bench_kernels(o, operands, ctx);
    }
    err = resolve(&c, ctx->diag);
    if (!err)
        err = open_inputs(&c, ctx->diag);
    interrupt_catch();
    if (!err)
        open_run(&c);
    if (!err)
        err = open_report(&c, ctx->diag);
    if (!err)
        err = run_cases(&c, ctx->diag);
    if (!err)
        err = finish(&c, ctx->diag);
    release(&c);
    return err;
}

static const struct opt_group groups[] = {
    OPT_SUITE_GROUP("Methods", opt_methods_rows, struct bench_options, methods),
    OPT_GROUP("Cases", bench_suite_rows, struct bench_options, own),
    OPT_SUITE_GROUP("Cases", bench_case_rows, struct bench_options, own),
    OPT_GROUP("Input", opt_input_rows, struct bench_options, common.input),
    OPT_GROUP("Messages", opt_message_rows, struct bench_options, common.message),
    OPT_GROUP("Running", opt_exec_rows, struct bench_options, common.exec),
    OPT_GROUP("Running", opt_shard_rows, struct bench_options, common.shard),
    OPT_SUITE_GROUP("Timing", opt_timing_rows, struct bench_options, timing),
    OPT_SUITE_GROUP("Timing", bench_timing_rows, struct bench_options, own),
    OPT_GROUP("Kernels", bench_kernels_rows, struct bench_options, kernels),
    OPT_GROUP("Output", bench_show_rows, struct bench_options, own),
    OPT_GROUP("Output", opt_shapes_rows, struct bench_options, shapes),
    SESSION_OUTPUT_GROUPS(struct bench_options),
    {.rows = NULL},
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
        "Without --method and --suite, every method runs with its defaults. Without FILE, the "
        "methods run on synthetic tensors of 4 K to 16 M elements. From a file, the first worker "
        "of the last step is read.\n"
        "Each message is timed until the median is known to --precision, or until its share of "
        "--time-budget is used up. The timed calls take at least 5 ms in total (--min-time). "
        "--repeat N sets the number of runs instead. The identity codec and memcpy are always "
        "timed too, in turn; the difference between them is the overhead of the measurement. On "
        "the CPU, adding messages to a sum is timed too, unless --no-sums is given.\n"
        "--kernels times the functions that methods are built from: each variant for an "
        "instruction set, compared with C. With only --repeat, every run does the same work, so "
        "that instructions can be counted.\n"
        "Exit status: 5 if a device gave other bytes or values than the CPU, whatever else "
        "happened; 1 if a method failed, or after Ctrl-C; 3 if no device asked for was found, or a "
        "library is missing that a method needs on a device. A method that does not run on a "
        "device is unsupported, which is not a failure.\n"
        "A file of results has a row for every message and a summary for every method: "
        "docs/rows.md, docs/method.md.\n",
    .spec = {.groups = groups,
             .extra = {opt_methods_key_at, offsetof(struct bench_options, methods.overrides)}},
    .size = sizeof(struct bench_options),
    .run = bench_run,
};
