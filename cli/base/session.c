#include "cli/base/session.h"

#include <inttypes.h>
#include <math.h>

#include "cli/base/heading.h"
#include "src/lib/base/text.h"
#include "src/tool/timing/device_copy.h"

/* How precisely a median is known when the default number of runs is enough. */
#define PRECISION 0.1

int session_resolve(struct session *s)
{
    int err = opt_message_check(&s->o.message, s->ctx->diag);

    if (!err)
        err = opt_exec_resolve(&s->backend, &s->o.exec, s->ctx->diag);
    if (!err && s->backend.gpu.module && s->o.exec.fft_plan)
        err = gcb_diag_set(s->ctx->diag, GCB_E_INVALID,
                           "device %s: --fft-plan measure is for FFTW, which runs on the cpu only: "
                           "leave it out",
                           s->backend.device);
    return err;
}

int session_judge(const struct session *s, int err)
{
    return err == GCB_E_UNSUPPORTED && s->backend.gpu.module ? GCB_E_BACKEND : err;
}

void session_drop_memory(const struct session *s, const char *command, struct gcb_method *methods,
                         size_t count)
{
    bool asked = false;

    for (size_t i = 0; i < count; i++)
        asked |= gcb_method_forget(&methods[i]);
    if (asked && !s->o.show.quiet)
        fprintf(s->ctx->err,
                "gcbench: note: a memory works from step to step, so only `gcbench replay` uses "
                "it; %s ignores it\n",
                command);
}

int session_open_input(struct session *s)
{
    const int err = opt_input_open(&s->source, &s->o.input, s->files, s->ctx->diag);

    if (!err && !s->o.show.quiet)
        heading_note_input(s->ctx->err, s->source, &s->o.input, &s->o.message);
    return err ? err : session_plan(s);
}

int session_plan(struct session *s)
{
    const struct gcb_layout_config config = opt_message_layout(&s->o.message);

    gcb_layout_fini(&s->layout);
    return gcb_layout_init(&s->layout, s->source, &config, s->ctx->diag);
}

void session_fill_setting(struct session *s)
{
    const bool measured = s->bandwidth.bytes > 0;

    s->setting = (struct gcb_rows_setting){
        .scope = opt_scopes[s->o.message.scope],
        .order = opt_orders[s->o.input.order],
        .device = s->backend.device,
        .isa = s->backend.isa,
        .threads = s->backend.queue.threads,
        .read_gbps = measured ? s->bandwidth.read_gbps : NAN,
        .fill_gbps = measured ? s->bandwidth.fill_gbps : NAN,
        .device_copy_gbps = s->backend.gpu_copying.bytes ? s->backend.gpu_copying.gbps : NAN,
    };
}

int session_open_report(struct session *s, unsigned records)
{
    session_fill_setting(s);
    return out_open(&s->report, &s->o.show, &s->o.save, s->files, records, s->ctx);
}

static int put_environment(struct session *s)
{
    const struct out_bandwidths one = {&s->bandwidth, s->bandwidth.bytes ? 1 : 0};

    return out_environment(&s->report, &s->backend, s->files, &one, s->o.save.hash, s->ctx);
}

int session_start_report(struct session *s, unsigned records)
{
    const int err = session_open_report(s, records);

    return err ? err : put_environment(s);
}

int session_start_measured_report(struct session *s, unsigned records)
{
    int err = session_open_report(s, records);

    if (err || !out_wants_rows(&s->report))
        return err;
    err = gcb_bandwidth_measure(&s->bandwidth, &s->backend.queue,
                                gcb_run_bandwidth_bytes(&s->layout), s->ctx->diag);
    if (!err && s->backend.gpu.module)
        err = gcb_device_copy_measure(&s->backend.gpu_copying, &s->backend.gpu, s->ctx->diag);
    session_fill_setting(s);
    return err ? err : put_environment(s);
}

int session_put(struct session *s, struct gcb_row *row)
{
    return out_put(&s->report, row, s->ctx->diag);
}

struct gcb_run_config session_run_config(const struct session *s, const struct opt_timing *timing,
                                         const struct gcb_method *methods, size_t count)
{
    const struct opt_message *m = &s->o.message;

    return (struct gcb_run_config){
        .source = s->source,
        .layout = &s->layout,
        .sharded = s->shard.count > 0,
        .methods = methods,
        .method_count = count,
        .trial = {.kernels = &s->backend.kernels,
                  .queue = &s->backend.queue,
                  .seed = s->backend.seed,
                  .fft_rigor = (enum gcb_fft_rigor)s->o.exec.fft_plan,
                  .device = s->backend.gpu.module ? &s->backend.gpu : NULL,
                  .timing = {.warmup = timing->warmup < 0 ? 1 : (unsigned)timing->warmup,
                             .repeat = opt_timing_repeat(timing),
                             .min_time = timing->min_time}},
        .nonfinite = (enum gcb_nonfinite_policy)m->nonfinite,
        .in_place = GCB_RUN_IN_PLACE,
        .output_layers = {m->output_layer.items, m->output_layer.count},
    };
}

void session_repeat(struct session *s, struct gcb_run_config *config,
                    const struct opt_timing *timing, double seconds)
{
    if (timing->repeat || timing->min_time > 0.0)
        return;
    config->trial.timing.precision = PRECISION;
    config->trial.timing.strict = true;
    config->seconds = seconds * (double)config->method_count;
    s->setting.without_samples = true;
}

void session_start_progress(struct session *s)
{
    progress_start(&s->progress, s->ctx->err, !s->o.show.quiet);
}

int session_interrupted(const struct session *s, const char *consequence)
{
    fprintf(s->ctx->err, "gcbench: interrupted%s%s\n", consequence[0] ? "; " : "", consequence);
    return CMD_FAILED;
}

void session_describe(char *out, size_t size, const struct session *s, const char *more)
{
    const int threads = s->backend.queue.threads;
    const struct opt_message *m = &s->o.message;

    snprintf(out, size, "scope %s, %d thread%s%s", opt_scopes[m->scope], threads,
             threads == 1 ? "" : "s", more);
    if (s->o.input.order)
        gcb_append(out, size, ", order %s", opt_orders[s->o.input.order]);
    if (s->o.exec.isa)
        gcb_append(out, size, ", isa %s", s->backend.isa);
    if (s->shard.count)
        gcb_append(out, size, ", shard %" PRIu32 "/%" PRIu32, s->shard.index, s->shard.count);
    if (m->nonfinite)
        gcb_append(out, size, ", nonfinite %s", opt_nonfinites[m->nonfinite]);
    if (s->backend.seed != 1)
        gcb_append(out, size, ", seed %" PRIu64, s->backend.seed);
}

int session_print_heading(const struct session *s, const char *more)
{
    const bool gpu = s->backend.gpu.module;
    struct gcb_extent extent;
    char settings[160], place[120];
    const int err = s->report.table ? gcb_extent_of(&extent, s->source, s->ctx->diag) : 0;

    if (err || !s->report.table)
        return err;
    snprintf(place, sizeof(place), "%s%s%s", more, gpu ? ", " : "", gpu ? s->backend.device : "");
    session_describe(settings, sizeof(settings), s, place);
    heading_print(s->report.out, s->files, &extent, settings);
    return 0;
}

const char *session_name_files(char *files, const struct session *s)
{
    files[0] = '\0';
    for (size_t i = 0; i < s->files->count; i++)
        gcb_append(files, SESSION_FILES, "%s%s", i ? ", " : "", s->files->items[i]);
    return files;
}

void session_close(struct session *s)
{
    out_close(&s->report);
    gcb_layout_fini(&s->layout);
    gcb_source_close(s->source);
    s->source = NULL;
}
