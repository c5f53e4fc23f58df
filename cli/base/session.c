#include "cli/base/session.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/host.h"
#include "src/tool/measure/bandwidth.h"
#include "src/tool/rows/number.h"

/* With the default number of runs, timing stops when half of the median's 95 % interval is at most
 * this share of the median. */
#define PRECISION 0.1

int session_resolve(struct session *s)
{
    int err = opt_message_check(&s->o.message, s->ctx->diag);

    if (!err)
        err = opt_exec_resolve(&s->backend, &s->o.exec, s->ctx->diag);
    if (!err && s->backend.gpu.module && s->o.exec.fft_engine)
        err = gcb_invalid(s->ctx->diag,
                          "device %s: --fft-engine chooses an FFT of the cpu: leave it out",
                          s->backend.device);
    return err;
}

int session_status(const struct session *s, int err)
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
    if (!err)
        session_plan(s);
    return err;
}

void session_plan(struct session *s)
{
    const struct gcb_layout_config config = opt_message_layout(&s->o.message);

    gcb_layout_fini(&s->layout);
    gcb_layout_init(&s->layout, s->source, &config);
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

int session_put_environment(struct session *s)
{
    return out_environment(&s->report, &s->backend, s->source, s->files, &s->bandwidth,
                           s->bandwidth.bytes ? 1 : 0, s->o.save.hash, s->ctx);
}

int session_start_report(struct session *s, unsigned records, bool measure)
{
    int err = session_open_report(s, records);

    if (!err && measure && out_wants_rows(&s->report)) {
        err = gcb_bandwidth_measure(&s->bandwidth, &s->backend.queue,
                                    gcb_run_bandwidth_bytes(&s->layout), s->ctx->diag);
        if (!err && s->backend.gpu.module)
            err = gcb_device_copy_measure(&s->backend.gpu_copying, &s->backend.gpu, s->ctx->diag);
        session_fill_setting(s);
    }
    return err ? err : session_put_environment(s);
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
        .trial = {.compute = session_compute(s),
                  .timing = {.warmup = timing->warmup < 0 ? 1 : (unsigned)timing->warmup,
                             .repeat = timing->repeat ? (unsigned)timing->repeat : 1,
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

struct gcb_compute session_compute(const struct session *s)
{
    return (struct gcb_compute){
        .kernels = &s->backend.kernels,
        .queue = &s->backend.queue,
        .device = s->backend.gpu.module ? &s->backend.gpu : NULL,
        .seed = s->backend.seed,
        .fft_engine = (enum gcb_fft_engine)s->o.exec.fft_engine,
    };
}

struct gcb_watch session_watch(struct session *s)
{
    return (struct gcb_watch){
        .progress = progress_update, .stop = interrupt_stop, .ctx = &s->progress};
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
    if (s->setting.shuffle)
        gcb_append(out, size, ", shuffle %s", s->setting.shuffle);
    if (s->o.input.mask)
        gcb_append(out, size, ", masked");
    if (s->backend.seed != 1)
        gcb_append(out, size, ", seed %" PRIu64, s->backend.seed);
}

void session_print_heading(const struct session *s, const char *more)
{
    const bool gpu = s->backend.gpu.module;
    struct gcb_extent extent;
    char settings[160], place[120];

    if (!s->report.table)
        return;
    gcb_extent_of(&extent, s->source);

    snprintf(place, sizeof(place), "%s%s%s", more, gpu ? ", " : "", gpu ? s->backend.device : "");
    session_describe(settings, sizeof(settings), s, place);
    heading_print(s->report.out, s->files, &extent, settings);
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

/* ---- shards ---- */

int session_read_shard(struct session *s, const struct gcb_method *methods, size_t count)
{
    const int err = gcb_shard_parse(&s->shard, s->o.shard.text, s->ctx->diag);
    char spec[512];

    for (size_t i = 0; !err && s->shard.count && i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (gcb_method_equal(&methods[i], &methods[k]))
                return gcb_invalid(s->ctx->diag,
                                   "--shard: the method %s is given twice: leave one out",
                                   gcb_method_spec(spec, sizeof(spec), &methods[i], GCB_SPEC_FULL));
    return err;
}

/* Lists the options of the command line that all shards of a run must have alike: not --shard, not
 * those of the output, and not --budget, because a shard that ended at its budget is refused
 * anyway. */
static void put_options(struct gcb_row *row, const struct opt_result *parsed)
{
    json_t *list = json_array();
    char text[4096];

    for (size_t i = 0; i < parsed->given_count; i++) {
        const struct opt_given *g = &parsed->given[i];

        if (g->row && (g->row == &opt_shard_rows[0] || strcmp(g->group->title, "Output") == 0 ||
                       strcmp(g->name, "budget") == 0))
            continue;
        snprintf(text, sizeof(text), "--%s%s%s", g->name, g->value ? "=" : "",
                 g->value ? g->value : "");
        gcb_json_append(list, gcb_row_make_text(text));
    }
    gcb_row_json(row, GCB_FIELD_OPTIONS, list);
}

/* Puts three lists: the methods; for each method, the index of the message at which it failed (0 if
 * the device cannot be used), or null; and in `verify`, each method's number of checks. */
static void put_methods(struct gcb_row *row, const struct session_shard *shard)
{
    json_t *methods = json_array(), *failed = json_array();
    json_t *checks = shard->checks ? json_array() : json_null();
    char spec[512];

    for (size_t i = 0; i < shard->method_count; i++) {
        const struct gcb_run_total *total = shard->result ? &shard->result->totals[i] : NULL;
        const bool good = total && !total->failure.status;
        const size_t at = total ? total->failed_at : 0;
        uint64_t rows = 0;

        gcb_method_spec(spec, sizeof(spec), &shard->methods[i], GCB_SPEC_FULL);
        gcb_json_append(methods, gcb_row_make_text(spec));
        gcb_json_append(failed, good ? json_null() : json_integer((json_int_t)at));
        for (size_t k = 0; shard->checks && k < GCB_PROMISE_STATUSES; k++)
            rows += shard->checks[i].of[k];
        if (shard->checks)
            gcb_json_append(checks, json_integer((json_int_t)rows));
    }
    gcb_row_json(row, GCB_FIELD_METHODS, methods);
    gcb_row_json(row, GCB_FIELD_FAILED_AT, failed);
    gcb_row_json(row, GCB_FIELD_CHECKS, checks);
}

int session_put_shard(struct session *s, const struct session_shard *shard)
{
    const bool interrupted = shard->result && shard->result->interrupted;
    const char *status = "ok";
    struct gcb_row row;
    char plan[17]; /* 16 hexadecimal digits */

    if (s->shard.count == 0 || !out_wants_rows(&s->report))
        return 0;
    snprintf(plan, sizeof(plan), "%016" PRIx64, shard->layout->fingerprint);
    gcb_row_init(&row, GCB_RECORD_SHARD);
    gcb_row_text(&row, GCB_FIELD_FILE, shard->files);
    gcb_row_text(&row, GCB_FIELD_SCOPE, s->setting.scope);
    gcb_row_text(&row, GCB_FIELD_ORDER, s->setting.order);
    gcb_row_text(&row, GCB_FIELD_DEVICE, s->setting.device);
    gcb_row_u64(&row, GCB_FIELD_THREADS, (uint64_t)s->setting.threads);
    gcb_row_text(&row, GCB_FIELD_ISA, s->setting.isa);
    gcb_row_text(&row, GCB_FIELD_CACHE, s->setting.cache);
    gcb_row_text(&row, GCB_FIELD_SUITE, s->setting.suite);
    gcb_row_text(&row, GCB_FIELD_SHUFFLE, s->setting.shuffle);
    gcb_row_u64(&row, GCB_FIELD_SHARD_INDEX, s->shard.index);
    gcb_row_u64(&row, GCB_FIELD_SHARDS, s->shard.count);
    if (interrupted)
        status = "interrupted";
    else if (shard->over_budget)
        status = "budget";
    gcb_row_text(&row, GCB_FIELD_STATUS, status);
    gcb_row_u64(&row, GCB_FIELD_MESSAGES, shard->layout->count);
    gcb_row_u64(&row, GCB_FIELD_SKIPPED_MESSAGES,
                shard->result ? shard->result->skipped_messages : 0);
    gcb_row_u64(&row, GCB_FIELD_ALL_MESSAGES, shard->layout->all_count);
    gcb_row_text(&row, GCB_FIELD_PLAN, plan);
    put_methods(&row, shard);
    put_options(&row, s->ctx->parsed);
    return session_put(s, &row);
}

/* ---- headings and notes ---- */

#define STEADY 9 /* least number of timed runs whose median a few slow runs hardly move */

/* Writes "1 step" or "2 steps". Returns out. */
static char *count_text(char out[40], uint64_t n, const char *what)
{
    snprintf(out, 40, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
    return out;
}

void heading_print(FILE *out, const struct opt_list *files, const struct gcb_extent *e,
                   const char *settings)
{
    const char *path = files->items[0], *slash = strrchr(path, '/');
    char name[80], extent[160], steps[40], workers[40], tensors[40], bytes[32];
    const int length =
        snprintf(extent, sizeof(extent), "%s x %s x %s%s, %s, %s%s%.40s",
                 count_text(steps, e->steps, "step"), count_text(workers, e->workers, "worker"),
                 count_text(tensors, e->tensors, "tensor"), e->full ? "" : " (not all)",
                 e->mixed_dtypes ? "mixed types" : gcb_dtype_name(e->dtype),
                 gcb_bytes(bytes, (double)e->bytes), e->what ? ", " : "",
                 e->what ? gcb_show(e->what).text : "");

    if (files->count > 1)
        count_text(name, files->count, "file");
    else /* cut to the rest of 80 columns, but not to fewer than 11 */
        gcb_escape(name, length < 66 ? 79 - (size_t)length : 12,
                   slash && slash[1] ? slash + 1 : path);
    fprintf(out, "%s: %s\n%s%s", name, extent, settings, settings[0] ? "\n" : "");
}

void heading_note_load(FILE *out, unsigned repeat)
{
    struct gcb_host host;

    gcb_host_read(&host);
    if (host.cpus > 0 && host.load1 > (double)host.cpus)
        opt_note(out, "load %.1f on %d cpu%s: speeds may be low%s", host.load1, host.cpus,
                 host.cpus == 1 ? "" : "s",
                 repeat && repeat < STEADY ? "; --repeat 9 makes them steadier" : "");
}

static void note_unmatched(FILE *err, const char *option, const char *glob)
{
    fprintf(
        err,
        "gcbench: note: --%s %s: no tensor matches; a pattern has to match the whole path, such "
        "as '*conv*'\n",
        option, gcb_show(glob).text);
}

void heading_note_input(FILE *err, const struct gcb_source *source, const struct opt_input *in,
                        const struct opt_message *message)
{
    const size_t included = in->dataset.count;
    char remark[GCB_REMARK_TEXT];

    if (in->allow_external)
        fprintf(err,
                "gcbench: note: --allow-external: the process that reads the file may open any "
                "other file that you may read\n");
    for (int kind = 0; kind < GCB_REMARKS; kind++)
        if (gcb_source_remark(remark, source, (enum gcb_remark)kind))
            fprintf(err, "gcbench: note: %s\n", remark);
    for (size_t i = 0; i < included; i++)
        if (!gcb_source_met(source, i))
            note_unmatched(err, "dataset", in->dataset.items[i]);
    for (size_t i = 0; i < in->exclude.count; i++)
        if (!gcb_source_met(source, included + i))
            note_unmatched(err, "exclude", in->exclude.items[i]);
    for (size_t i = 0; message && i < message->dense.count; i++)
        if (!gcb_source_matches(source, message->dense.items[i]))
            note_unmatched(err, "dense", message->dense.items[i]);
    for (size_t i = 0; message && i < message->output_layer.count; i++)
        if (!gcb_source_matches(source, message->output_layer.items[i]))
            note_unmatched(err, "output-layer", message->output_layer.items[i]);
}
