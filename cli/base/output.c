#include "cli/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/environment.h"
#include "src/tool/rows/number.h"
#include "src/tool/rows/results.h"
#include "src/tool/run/verify.h"

static int cannot_write(const struct gcb_outfile *file, struct gcb_diag *diag)
{
    return gcb_diag_set(diag, GCB_E_IO, "%s: cannot write: %s", gcb_show(file->final_path).text,
                        strerror(errno));
}

int out_open_file(FILE **out, const struct gcb_outfile *file, struct gcb_diag *diag)
{
    *out = fopen(file->temp_path, "we");
    return *out ? 0 : cannot_write(file, diag);
}

int out_commit_file(FILE *stream, struct gcb_outfile *file, struct gcb_diag *diag)
{
    const bool failed = ferror(stream);

    return fclose(stream) || failed ? cannot_write(file, diag) : gcb_outfile_commit(file, diag);
}

const char *out_temp_folder(void)
{
    const char *const folders[] = {getenv("TMPDIR"), "/tmp", "/dev/shm"};
    struct stat s;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (folders[i] && stat(folders[i], &s) == 0 && S_ISDIR(s.st_mode) &&
            access(folders[i], W_OK | X_OK) == 0)
            return folders[i];
    return ".";
}

int out_open(struct out_report *r, const struct opt_show *show, const struct opt_save *save,
             const struct opt_list *inputs, unsigned records, const struct cmd_context *ctx)
{
    int err;

    memset(r, 0, sizeof(*r));
    r->table = show->format == GCB_FORMAT_TABLE;
    r->color = show->color == OPT_COLOR_AUTO ? !ctx->plain && isatty(fileno(ctx->out))
                                             : show->color == OPT_COLOR_ALWAYS;
    r->quiet = show->quiet;
    r->verbose = show->verbose;
    r->out = ctx->out;
    r->width = opt_columns(ctx->out);
    if (save && save->results) {
        err = gcb_outfile_init(&r->file, save->results, save->force, inputs ? inputs->items : NULL,
                               inputs ? inputs->count : 0, ctx->diag);
        if (!err)
            err = out_open_file(&r->saved_stream, &r->file, ctx->diag);
        if (!err)
            err = gcb_sink_create(&r->saved, GCB_FORMAT_JSON, r->saved_stream, r->file.final_path,
                                  records, ctx->diag);
        if (err)
            return err;
    }
    return gcb_sink_create(&r->stream, (enum gcb_format)show->format, ctx->out, "standard output",
                           records, ctx->diag);
}

bool out_wants_rows(const struct out_report *r)
{
    return !r->table || r->saved;
}

int out_put(struct out_report *r, struct gcb_row *row, struct gcb_diag *diag)
{
    int err = gcb_sink_put(r->stream, row, diag);

    if (!err && r->saved)
        err = gcb_sink_put(r->saved, row, diag);
    gcb_row_fini(row);
    return err;
}

int out_summaries(struct out_report *r, const struct gcb_rows_setting *setting,
                  const struct gcb_method *methods, const struct gcb_run_result *result,
                  const char *files, bool empty, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < result->method_count && out_wants_rows(r); i++) {
        const struct gcb_run_total *total = &result->totals[i];
        struct gcb_row row;

        if (!empty && total->tally.messages == 0 && !total->failure.status)
            continue;
        gcb_rows_summary(&row, setting, &methods[i], total, files, result->interrupted);
        err = out_put(r, &row, diag);
    }
    return err;
}

int out_put_row(void *report, struct gcb_row *row, struct gcb_diag *diag)
{
    return out_put(report, row, diag);
}

int out_answer(struct out_report *r, struct gcb_row *row, struct gcb_diag *diag)
{
    const char *text = gcb_results_text(row->json, GCB_FIELD_ANSWER);

    if (r->table && text)
        opt_wrap(r->out, text, fprintf(r->out, "answer:"), 2);
    return out_put(r, row, diag);
}

int out_environment(struct out_report *r, const struct opt_backend *backend,
                    const struct gcb_source *source, const struct opt_list *files,
                    const struct gcb_bandwidth *bandwidths, size_t bandwidth_count, bool hash,
                    const struct cmd_context *ctx)
{
    const struct gcb_environment env = {
        .argc = ctx->argc,
        .argv = ctx->argv,
        .isa = backend->isa,
        .threads = backend->queue.threads,
        .device = backend->device,
        .gpu = backend->gpu.module ? backend->gpu.facts.name : NULL,
        .gpu_driver = backend->gpu.module ? backend->gpu.facts.driver : NULL,
        .gpu_clock_mhz = backend->gpu_copying.clock_mhz,
        .gpu_clock_max_mhz = backend->gpu.module ? backend->gpu.facts.clock_mhz : 0,
        .gpu_copy_gbps = backend->gpu_copying.gbps,
        .gpu_copy_bytes = backend->gpu_copying.bytes,
        .bandwidth = bandwidths,
        .bandwidth_count = bandwidth_count,
        .inputs = files->items,
        .input_count = files->count,
        .hash_large = hash,
        .what = source ? gcb_source_what(source) : NULL,
    };
    struct gcb_row row;

    if (!out_wants_rows(r))
        return 0;
    gcb_environment_row(&row, &env);
    return out_put(r, &row, ctx->diag);
}

int out_commit(struct out_report *r, struct gcb_diag *diag)
{
    FILE *stream = r->saved_stream;

    r->saved_stream = NULL;
    return stream ? out_commit_file(stream, &r->file, diag) : 0;
}

void out_close(struct out_report *r)
{
    gcb_sink_destroy(r->stream);
    gcb_sink_destroy(r->saved);
    if (r->saved_stream)
        fclose(r->saved_stream);
    gcb_outfile_fini(&r->file);
    memset(r, 0, sizeof(*r));
}

void out_table(const struct out_report *r, struct gcb_table *table)
{
    gcb_table_print(table, r->out, r->width, r->color);
    gcb_table_destroy(table);
}

void out_cell(struct gcb_table *table, enum gcb_field field, double value, size_t width)
{
    char text[32];

    gcb_table_cell(table, gcb_field_number(text, field, value, width));
}

const struct gcb_table_column out_columns[OUT_COLUMNS] = {
    {.title = "method", .elastic = true},
    {.title = "ratio", .field = GCB_FIELD_RATIO},
    {.title = "bits/el", .field = GCB_FIELD_BITS_PER_ELEMENT},
    {.title = "rel L2", .field = GCB_FIELD_REL_L2},
    {.title = "cosine", .field = GCB_FIELD_COSINE},
    {.title = "enc GB/s", .field = GCB_FIELD_ENCODE_GBPS},
    {.title = "dec GB/s", .field = GCB_FIELD_DECODE_GBPS},
};

void out_figures(struct gcb_table *table, const struct gcb_table_column *columns, size_t count,
                 const struct gcb_tally *tally, size_t width)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i].field)
            out_cell(table, columns[i].field, gcb_tally_figure(tally, columns[i].field), width);
}

void out_failures(FILE *out, const struct gcb_method *methods, const struct gcb_run_result *result)
{
    char name[256] = "";

    for (size_t i = 0; i < result->method_count; i++) {
        const struct gcb_run_total *total = &result->totals[i];

        if (!total->failure.status)
            continue;
        if (methods)
            gcb_method_spec(name, sizeof(name), &methods[i], GCB_SPEC_LABEL);
        opt_wrapf(out, 0, 2, "%s: %s%s%s", gcb_run_unsupported(total) ? "unsupported" : "failed",
                  name, methods ? ": " : "", total->failure.text);
    }
}

void out_note_dense(FILE *out, const struct gcb_method *methods, size_t count,
                    const struct gcb_run_result *result)
{
    for (size_t i = 0; i < count; i++) {
        const struct gcb_tally *t = &result->totals[i].tally;
        const double asked = gcb_tally_density_asked(t), kept = gcb_tally_density(t);
        char limit[32], shares[2][32];
        double below;

        if (gcb_method_value(&methods[i], "dense-below", &below) && kept > 2.0 * asked)
            opt_note(out,
                     "%s keeps %s of the elements instead of %s: it sends tensors below %s whole "
                     "(dense-below); --scope model makes one message of all tensors",
                     methods[i].name, gcb_percent(shares[0], kept), gcb_percent(shares[1], asked),
                     gcb_bytes(limit, below));
    }
}

void out_note_values(FILE *out, double squares)
{
    if (squares == 0.0)
        opt_note(out, "all values of the input are zero: the errors say nothing about gradients");
    else if (!(squares < 1e36 * 1e36))
        opt_note(out, "the norm of the input is over 1e36, and the largest float is 3.4e38: sums "
                      "and methods may overflow");
}

void out_speed(struct gcb_table *table, double gbps, const struct gcb_times *times)
{
    const double width = times->high - times->low;
    const double percent = isfinite(gbps) ? 100.0 * 0.5 * width / times->seconds : NAN;
    char text[64];

    gcb_number_within(text, gbps, 3, 6);
    if (percent <= 99.0) /* rounded up, but 5.0000001 becomes 5 */
        gcb_append(text, sizeof(text), " ±%.0f%%", fmax(1.0, ceil(percent - 1e-6)));
    else if (isfinite(percent))
        gcb_append(text, sizeof(text), " ±?");
    gcb_table_cell(table, text);
}

/* ---- the answer of compress, bench and merge ---- */

void answer_make(struct gcb_row *out, const char *where, const struct gcb_method *methods,
                 const struct gcb_run_result *result, bool speeds)
{
    const size_t count = result->method_count;
    struct gcb_answer_item *items = gcb_must_zero(count, sizeof(*items));
    struct gcb_label *labels = gcb_label_methods(methods, sizeof(*methods), count);
    struct gcb_answer answer = {.items = items, .count = count, .bar = "fp16"};
    double fp16 = 0.0; /* bytes of fp16's messages; if fp16 did not run, 2 for each element */
    char text[4000], words[2000];

    for (size_t i = 0; i < count; i++) {
        const struct gcb_tally *t = &result->totals[i].tally;
        const bool ran = t->messages && !result->totals[i].failure.status;

        items[i] = gcb_answer_item_of(&methods[i]);
        items[i].name = labels[i].text;
        items[i].memory = false;
        items[i].error = ran ? gcb_tally_figure(t, GCB_FIELD_REL_L2) : NAN;
        items[i].speed = ran && speeds ? gcb_tally_gbps(t, &t->encode) : NAN;
        if (ran && fp16 <= 0.0) /* a method that failed has not counted all elements */
            fp16 = 2.0 * (double)t->elements;
        if (ran && strcmp(methods[i].name, "fp16") == 0)
            fp16 = (double)t->wire_bytes;
    }
    /* in a second loop, because fp16 may be the last method */
    for (size_t i = 0; i < count; i++)
        items[i].gain = fp16 / (double)result->totals[i].tally.wire_bytes;
    gcb_answer_choose(&answer);
    snprintf(text, sizeof(text), "%s%s%s%s; training was not tested", *where ? "for " : "", where,
             *where ? ", " : "", gcb_answer_text(words, sizeof(words), &answer));
    gcb_answer_row(out, text, &answer);
    gcb_free(items);
    gcb_free(labels);
}

/* ---- the outcome of bench, compress and sweep ---- */

void bench_outcome_add(struct bench_outcome *o, const struct gcb_run_result *result)
{
    for (size_t i = 0; result->totals && i < result->method_count; i++) {
        const struct gcb_diag *why = &result->totals[i].failure;

        if (why->status == GCB_E_BACKEND && !o->missing.status)
            o->missing = *why;
        if (!why->status || gcb_run_unsupported(&result->totals[i]))
            continue;
        if (!o->failed || (why->status == GCB_E_UNVERIFIED && !o->unverified))
            o->first_bad = *why;
        o->failed++;
        o->unverified += why->status == GCB_E_UNVERIFIED;
    }
    o->methods += result->method_count;
}

int bench_outcome_judge(const struct bench_outcome *o, FILE *err, struct gcb_diag *diag)
{
    if (o->failed)
        fprintf(err, "gcbench: %zu of %zu methods failed%s: %s\n", o->failed, o->methods,
                o->failed > 1 ? "; the first" : "", o->first_bad.text);
    if (o->unverified)
        return CMD_NOT_VERIFIED;
    if (o->failed)
        return CMD_FAILED;
    return o->missing.status ? gcb_diag_set(diag, GCB_E_BACKEND, "%s", o->missing.text) : 0;
}

/* ---- checks of verify, also those of all shards that merge joins ---- */

/* Returns a text of the row, or "" if the row lacks it. */
static const char *text_of(const struct gcb_row *row, enum gcb_field field)
{
    const char *text = gcb_results_text(row->json, field);

    return text ? text : "";
}

void promise_take(struct promise_counts *counts, const struct out_report *report, const char *label,
                  const struct gcb_row *row)
{
    const char *status = text_of(row, GCB_FIELD_STATUS), *reason = text_of(row, GCB_FIELD_REASON);
    const bool broken = gcb_verify_status(status) == GCB_PROMISE_BROKEN;
    char words[480], value[32], limit[32];

    counts->of[gcb_verify_status(status)]++;
    if (!report->table || !(broken || report->verbose))
        return;
    snprintf(words, sizeof(words), "%s: %s on step %" PRIu64 " worker %" PRIu64 " %s", label,
             text_of(row, GCB_FIELD_PROMISE), gcb_results_u64(row->json, GCB_FIELD_STEP),
             gcb_results_u64(row->json, GCB_FIELD_WORKER), text_of(row, GCB_FIELD_TENSOR));
    if (broken) {
        opt_wrapf(report->out, 0, 0, "BROKEN  %s: %s", words, reason);
        opt_wrapf(report->out, 0, 8, "promised: %s (%s)", text_of(row, GCB_FIELD_CLAIM),
                  text_of(row, GCB_FIELD_SOURCE));
    } else {
        opt_wrapf(report->out, 0, 2, "%s  %s: %s, limit %s %s", status, words,
                  gcb_number(value, gcb_results_real(row->json, GCB_FIELD_VALUE), 3),
                  gcb_number(limit, gcb_results_real(row->json, GCB_FIELD_LIMIT), 3), reason);
    }
}

uint64_t promise_sum(const struct promise_counts *counts, size_t count,
                     enum gcb_promise_status status)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += counts[i].of[status];
    return sum;
}

void promise_show_counts(const struct out_report *report, const struct gcb_label *labels,
                         size_t count, const struct promise_counts *counts, uint64_t messages)
{
    static const struct gcb_table_column columns[] = {{.title = "method", .elastic = true},
                                                      {.title = "kept"},
                                                      {.title = "broken"},
                                                      {.title = "nothing to say"}};
    struct gcb_table *table = gcb_table_create(columns, 4);

    for (size_t i = 0; i < count; i++) {
        char text[32];

        gcb_table_cell(table, labels[i].text);
        for (size_t k = 0; k < GCB_PROMISE_STATUSES; k++)
            gcb_table_cell(table, gcb_count(text, counts[i].of[k]));
    }
    out_table(report, table);
    fprintf(report->out,
            "%" PRIu64 " promises kept, %" PRIu64 " broken, on %" PRIu64 " message%s\n",
            promise_sum(counts, count, GCB_PROMISE_KEPT),
            promise_sum(counts, count, GCB_PROMISE_BROKEN), messages, messages == 1 ? "" : "s");
    if (!report->quiet && promise_sum(counts, count, GCB_PROMISE_IDLE))
        opt_note(report->out, "nothing to say: the tensor is too small or too simple for the "
                              "check, or was sent raw; -v shows each check");
}
