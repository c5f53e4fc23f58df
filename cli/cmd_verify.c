#include <inttypes.h>
#include <string.h>

#include "cli/base/session.h"
#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/read/layout.h"
#include "src/tool/rows/number.h"
#include "src/tool/run/verify.h"

struct verify_own {
    bool all;
    double budget; /* in seconds; 0: no limit */
};

struct verify_options {
    struct opt_methods methods;
    struct session_options common;
    struct verify_own own;
};

/* clang-format off */
static const struct opt_row own_rows[] = {
    {OPT_ROW("all", FLAG, verify_own, all),
     .help = "check every message (default: the smallest, a medium and the largest of the first "
             "step and worker)"},
    {OPT_ROW("budget", TIME, verify_own, budget), .max = 604800, .initial = 60,
     .help = "start no further check after this time (default 60s; 0: no limit)"},
    {.name = NULL},
};
/* clang-format on */

#define NAMES 4 /* most names that a note lists */

/* Names of messages, or of pairs of a method and a message, for a note. Starts zeroed. */
struct names {
    char text[360]; /* the first NAMES names, separated by commas; cut to fit */
    size_t count;   /* number of all names */
};

/* The state of the command. Starts zeroed. */
struct verify {
    const struct verify_options *o;
    struct session s;
    struct gcb_method *methods;
    struct gcb_label *labels; /* of the methods */
    size_t count;
    struct gcb_verify_result result;
    struct promise_counts *checks; /* number of checks of each method, by outcome */
    /* for the `shard` row: the first message that each method cannot code on the device */
    struct gcb_run_total *totals;
    struct names names[GCB_VERIFY_EVENTS]; /* for each kind of event: what it happened to */
};

/* Adds a name such as "fft on step 100 worker 0 layers.0.bias"; without "fft on" if `method` is
 * NULL. Only counts a name after the first NAMES. */
static void add_name(struct names *names, const struct gcb_verify_note *note, const char *method)
{
    char shown[48];

    if (names->count++ < NAMES)
        gcb_append(names->text, sizeof(names->text), "%s%s%sstep %" PRIu64 " worker %" PRIu32 " %s",
                   names->text[0] ? ", " : "", method ? method : "", method ? " on " : "",
                   note->plan->step, note->plan->worker,
                   gcb_escape(shown, sizeof(shown), note->name));
}

/* Prints notes on what was not checked. Below a table they are paragraphs, and otherwise one line
 * each. */
static void show_notes(FILE *out, const struct verify *v)
{
    const struct gcb_verify_result *r = &v->result;
    const char *const words[GCB_VERIFY_EVENTS][2] = {
        [GCB_VERIFY_LEFT_OUT] = {"message", "with infinities or NaNs left out"},
        [GCB_VERIFY_NOT_THERE] = {"pair",
                                  "of a method and a message that do not run on the device"},
        [GCB_VERIFY_UNREACHED] =
            {"pair", r->interrupted
                         ? "of a method and a message not checked before the interruption"
                         : "of a method and a message not checked before --budget ended"},
    };
    const bool table = v->s.report.table;
    char line[640];

    for (size_t i = GCB_VERIFY_LEFT_OUT; i < GCB_VERIFY_EVENTS; i++) {
        if (!r->notes[i])
            continue;
        snprintf(line, sizeof(line), "%" PRIu64 " %s%s %s: %s%s", r->notes[i], words[i][0],
                 r->notes[i] == 1 ? "" : "s", words[i][1], v->names[i].text,
                 v->names[i].count > NAMES ? ", ..." : "");
        if (table)
            opt_note(out, "%s", line);
        else
            fprintf(out, "gcbench: %s\n", line);
    }
}

/* Removes the methods that run on the CPU only, and says so. Called only if the user named no
 * method, because a named method that does not run on the device is an error. */
static void leave_out_cpu_only(struct verify *v)
{
    FILE *err = v->s.ctx->err;
    size_t kept = 0;

    for (size_t i = 0; i < v->count; i++)
        if (gcb_method_cpu_only(&v->methods[i]))
            fprintf(err, "%s%s", i == kept ? "gcbench: on the CPU only, and left out: " : ", ",
                    v->methods[i].name);
        else
            v->methods[kept++] = v->methods[i];
    if (kept < v->count)
        fputc('\n', err);
    v->count = kept;
}

static int resolve_options(struct verify *v, struct gcb_diag *diag)
{
    const char *device = v->o->common.exec.device;
    int err = opt_methods_resolve(&v->methods, &v->count, &v->o->methods, opt_methods_all, diag);

    if (err)
        return err;
    if (device && strcmp(device, "cpu") != 0 && v->o->methods.specs.count == 0)
        leave_out_cpu_only(v);
    for (size_t i = 0; i < v->count; i++)
        gcb_method_forget(&v->methods[i]);
    v->checks = gcb_must_zero(v->count, sizeof(*v->checks));
    v->totals = gcb_must_zero(v->count, sizeof(*v->totals));
    v->labels = gcb_label_methods(v->methods, sizeof(*v->methods), v->count);
    err = session_read_shard(&v->s, v->methods, v->count);
    return err ? err : session_resolve(&v->s);
}

static void on_note(void *ctx, const struct gcb_verify_note *note)
{
    struct verify *v = ctx;
    char count[32];

    if (note->event == GCB_VERIFY_CHOSEN && v->s.report.table && !v->o->own.all)
        opt_wrapf(v->s.report.out, 0, 2, "step %" PRIu64 " worker %" PRIu32 " %s, %s element%s",
                  note->plan->step, note->plan->worker, gcb_show(note->name).text,
                  gcb_count(count, note->plan->count), note->plan->count == 1 ? "" : "s");
    add_name(&v->names[note->event], note,
             note->event < GCB_VERIFY_NOT_THERE ? NULL : v->methods[note->method].name);
    if (note->event == GCB_VERIFY_NOT_THERE && !v->totals[note->method].failure.status) {
        v->totals[note->method].failure.status = GCB_E_BACKEND;
        v->totals[note->method].failed_at = note->plan->number;
    }
}

static int on_check(void *ctx, const struct gcb_verify_check *check, struct gcb_diag *diag)
{
    struct verify *v = ctx;
    struct gcb_row row;

    gcb_verify_row(&row, &v->s.setting, &v->methods[check->method], check);
    promise_take(&v->checks[check->method], &v->s.report, v->labels[check->method].text, &row);
    return out_put(&v->s.report, &row, diag);
}

static int run_checks(struct verify *v, struct gcb_diag *diag)
{
    const struct gcb_verify_observer observer = {on_check, on_note, v, session_watch(&v->s)};
    const struct opt_message *m = &v->o->common.message;
    const struct gcb_verify_config config = {
        .source = v->s.source,
        .layout = &v->s.layout,
        .methods = v->methods,
        .method_count = v->count,
        .compute = session_compute(&v->s),
        .nonfinite = (enum gcb_nonfinite_policy)m->nonfinite,
        .output_layers = {m->output_layer.items, m->output_layer.count},
        .budget = v->o->own.budget,
    };
    int err;

    session_start_progress(&v->s);
    err = gcb_verify(&v->result, &config, &observer, diag);
    progress_end(&v->s.progress);
    return session_status(&v->s, err);
}

/* Prints the table of checks, and the notes on what was not checked. No row has these notes, so
 * they go to stderr if rows are printed. */
static void show_results(const struct verify *v)
{
    const struct out_report *report = &v->s.report;

    if (report->table)
        promise_show_counts(report, v->labels, v->count, v->checks, v->result.messages);
    if (!report->quiet)
        show_notes(report->table ? report->out : v->s.ctx->err, v);
}

/* With --shard, sends the `shard` row, which `merge` needs. */
static int put_shard(struct verify *v)
{
    const struct gcb_verify_result *r = &v->result;
    const struct gcb_run_result result = {
        .totals = v->totals,
        .method_count = v->count,
        .skipped_messages = r->notes[GCB_VERIFY_LEFT_OUT],
        .interrupted = r->interrupted,
    };
    char files[SESSION_FILES];
    const struct session_shard shard = {
        .layout = &v->s.layout,
        .methods = v->methods,
        .method_count = v->count,
        .result = &result,
        .files = session_name_files(files, &v->s),
        .checks = v->checks,
        .over_budget = r->notes[GCB_VERIFY_UNREACHED] > 0,
    };

    return session_put_shard(&v->s, &shard);
}

/* Shows and saves the results, and returns the status of the command. */
static int finish(struct verify *v, struct gcb_diag *diag)
{
    const struct gcb_verify_result *r = &v->result;
    const uint64_t checked =
        r->checks[GCB_PROMISE_KEPT] + r->checks[GCB_PROMISE_BROKEN] + r->checks[GCB_PROMISE_IDLE];
    const bool all_left_out = r->notes[GCB_VERIFY_LEFT_OUT] == v->s.layout.count;
    int err;

    show_results(v);
    err = put_shard(v);

    if (!err)
        err = out_commit(&v->s.report, diag);
    if (err)
        return err;
    if (r->interrupted)
        return session_interrupted(&v->s, "the checks done so far are above");
    /* a shard whose messages are all left out is no error: other shards may have finite messages */
    if (!checked && !r->notes[GCB_VERIFY_NOT_THERE] && !(v->s.shard.count && all_left_out))
        return gcb_diag_set(diag, r->notes[GCB_VERIFY_LEFT_OUT] ? GCB_E_NONFINITE : GCB_E_IO,
                            "nothing was verified: %s",
                            r->notes[GCB_VERIFY_UNREACHED]
                                ? "the time ended before the first check; raise --budget"
                                : "every message holds infinities or NaNs");
    if (r->checks[GCB_PROMISE_BROKEN])
        return CMD_NOT_VERIFIED;
    return r->notes[GCB_VERIFY_NOT_THERE] ? gcb_diag_set(diag, GCB_E_BACKEND, "%s", r->missing.text)
                                          : 0;
}

static int verify_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct verify_options *o = options;
    struct verify v = {.o = o, .s = {.o = o->common, .files = operands, .ctx = ctx}};
    size_t all_messages;
    int err = resolve_options(&v, ctx->diag);

    if (!err)
        err = session_open_input(&v.s);
    all_messages = v.s.layout.count;
    if (!err)
        err = gcb_verify_choose(&v.s.layout, o->own.all, ctx->diag);
    if (!err)
        gcb_shard_layout(&v.s.layout, v.s.source, &v.s.shard);
    interrupt_catch();
    if (!err)
        err = session_start_report(&v.s, GCB_RECORD_BIT(GCB_RECORD_PROMISE), false);
    if (!err)
        session_print_heading(&v.s, "");
    if (!err && v.s.report.table && !o->own.all)
        fprintf(v.s.report.out, "checked, out of %zu message%s (--all checks every message):\n",
                all_messages, all_messages == 1 ? "" : "s");
    if (!err)
        err = run_checks(&v, ctx->diag);
    if (!err)
        err = finish(&v, ctx->diag);
    session_close(&v.s);
    gcb_free(v.methods);
    gcb_free(v.labels);
    gcb_free(v.checks);
    gcb_free(v.totals);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Methods", opt_methods_rows, struct verify_options, methods),
    OPT_GROUP("Verification", own_rows, struct verify_options, own),
    SESSION_GROUPS(struct verify_options),
    OPT_GROUP("Running", opt_shard_rows, struct verify_options, common.shard),
    SESSION_OUTPUT_GROUPS(struct verify_options),
    {.rows = NULL},
};

const struct cmd cmd_verify = {
    .name = "verify",
    .summary = "check on these gradients what each method promises",
    .usage = "verify [options] FILE...",
    .examples = "  gcbench verify gradients.h5\n"
                "  gcbench verify --step last --worker 0 --dataset 'layers.*' gradients.h5\n"
                "  gcbench verify --method fft --method sbc:p=0.001 --all gradients.h5\n"
                "  gcbench verify --budget 300s --format csv gradients.h5\n",
    .details =
        "Checks that messages decode to what was encoded, that every thread count and instruction "
        "set makes the same bytes, that no message is too large, and the bounds and identities of "
        "each method's paper. A method's capabilities and stages decide which checks apply. If a "
        "promise is broken, the exit status is 5. -v shows every check; docs/verify.md lists "
        "them.\n"
        "With --device cuda a GPU encodes and decodes. Its messages must equal the CPU's, and it "
        "must decode the CPU's messages.\n",
    .spec = {.groups = groups,
             .extra = {opt_methods_key_at, offsetof(struct verify_options, methods.overrides)}},
    .size = sizeof(struct verify_options),
    .run = verify_run,
};
