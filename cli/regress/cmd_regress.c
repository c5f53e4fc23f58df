#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/regress/regress.h"
#include "src/lib/base/text.h"
#include "src/tool/rows/environment.h"
#include "src/tool/rows/results.h"

/* Options that are not passed on with --counts, which sets them itself. */
#define SET_BY_COUNTS "threads, isa, repeat, warmup, method"

void regress_forward(struct opt_list *out, const struct opt_result *parsed, bool counts)
{
    for (size_t i = 0; i < parsed->given_count; i++) {
        const struct opt_given *g = &parsed->given[i];
        const bool parameter = !g->row, kept = parameter || g->group->passed_on;
        const bool set = counts && (parameter || gcb_lists(SET_BY_COUNTS, g->name));

        if (kept && !set)
            opt_list_add_all(out, g->words, g->word_count);
    }
}

/* Without --against: refuses options that need --against or are for `bench`, any number of files
 * except two, and standard input as both. */
static int check_files(const struct regress *r, struct gcb_diag *diag)
{
    static const char *const names[] = {"budget", "pairs",   "calibrate", "counts",
                                        "floor",  "timeout", NULL};
    const char *unused = opt_first_set(&cmd_regress.spec, r->o, names);

    if (unused || r->bench.count)
        return gcb_invalid(diag, "%s%s has a meaning only with --against GCBENCH",
                           unused ? "--" : "", unused ? unused : gcb_show(r->bench.items[0]).text);
    if (r->operands->count != 2)
        return gcb_invalid(diag,
                           "regress compares two result files of `bench`, BASE.json NEW.json, or "
                           "two builds, --against GCBENCH FILE...; %zu file%s given",
                           r->operands->count, r->operands->count == 1 ? " was" : "s were");
    if (strcmp(r->operands->items[0], "-") == 0 && strcmp(r->operands->items[1], "-") == 0)
        return gcb_invalid(diag, "only one of the two result files can be standard input");
    return 0;
}

/* True if times or counts were cut short by a signal. */
static bool is_interrupted(const struct regress *r)
{
    return r->ab.interrupted || r->counts.interrupted;
}

/* Writes a title that names the revisions or, with --counts, the other program. */
static void make_title(char title[200], const struct regress *r)
{
    const struct gcb_runs *runs = &r->ab.runs;
    const json_t *rows[] = {runs->base.environment, runs->next.environment};
    char words[2][64];

    for (size_t i = 0; i < 2; i++) {
        const char *revision = gcb_results_text(rows[i], GCB_FIELD_GIT_REVISION);

        if (revision)
            snprintf(words[i], sizeof(words[i]), "%.12s%s", revision,
                     gcb_results_bool(rows[i], GCB_FIELD_GIT_DIRTY) ? " (changed)" : "");
        else
            snprintf(words[i], sizeof(words[i]), "%s", "unknown");
    }
    snprintf(title, 200, "gcbench regress: new %s against base %s", words[1], words[0]);
    if (r->o->own.counts)
        snprintf(title, 200, "gcbench regress --counts: this build against %.120s",
                 gcb_escape(words[0], sizeof(words[0]), r->o->own.against));
}

/* Prints how the environments of base and new differ. */
static void print_differences(const struct regress *r)
{
    struct gcb_environment_differences differ;

    gcb_environment_compare(&differ, &r->ab.runs);
    for (size_t i = 0; i < differ.count; i++)
        opt_wrapf(r->report.out, 0, 2, "environments not alike: %.39s: base %.95s, new %.95s",
                  differ.items[i].field, differ.items[i].base, differ.items[i].next);
    if (differ.count && !r->o->own.against)
        opt_wrap(
            r->report.out,
            "so times are shown, but not judged; to judge them, run both builds in turn: gcbench "
            "regress --against BASE_GCBENCH FILE",
            0, 2);
}

/* Reads the two result files into r->ab.runs, and adds the verdicts on them. */
static int compare_files(struct regress *r, struct gcb_diag *diag)
{
    const struct regress_own *own = &r->o->own;
    const double delta = own->delta > 0.0 ? own->delta / 100.0 : GCB_RUNS_DELTA;
    const char *const *paths = r->operands->items;
    int err = check_files(r, diag);

    if (!err)
        err = gcb_cases_read(&r->ab.runs.base, paths[0], NULL, diag);
    if (!err)
        err = gcb_cases_read(&r->ab.runs.next, paths[1], NULL, diag);
    if (err)
        return err;
    gcb_cases_label(&r->ab.runs.base, &r->ab.runs.next);
    return gcb_compare_runs(&r->verdicts, &r->ab.runs, delta, diag);
}

static int compare_builds(struct regress *r, struct gcb_diag *diag)
{
    const char *path = r->o->own.against;
    struct stat s;

    if (!path[0] || (!stat(path, &s) && S_ISDIR(s.st_mode)))
        return gcb_invalid(diag,
                           "--against: '%s' is not a program: give the other build's, such as "
                           "FOLDER/build/cli/gcbench",
                           gcb_show(path).text);
    return regress_builds_run(r, diag);
}

/* Marks the verdicts that --accept names as accepted and, with --advisory-times, those on times as
 * advisory; neither kind fails. Prints a note if --accept matches no case. */
static void apply_options(struct regress *r)
{
    const struct regress_own *own = &r->o->own;

    for (size_t i = 0; own->advisory_times && i < r->verdicts.count; i++)
        r->verdicts.items[i].advisory = gcb_quantities[r->verdicts.items[i].quantity].is_time;
    for (size_t i = 0; i < own->accept.count; i++)
        if (!gcb_verdicts_accept(&r->verdicts, own->accept.items[i]) &&
            !r->o->bench.common.show.quiet)
            fprintf(r->ctx->err, "gcbench: note: --accept %s: there is no such case\n",
                    gcb_show(own->accept.items[i]).text);
}

/* Returns the exit status that the verdicts lead to. */
static int choose_exit(const struct regress *r)
{
    struct gcb_verdict_counts n;

    gcb_verdicts_count(&n, &r->verdicts);
    if (n.fails)
        return CMD_REGRESSION;
    if (is_interrupted(r))
        return CMD_FAILED;
    return r->o->own.strict && n.unsure ? CMD_AMBIGUOUS : CMD_DONE;
}

/* Copies a text of an environment row, whose texts are escaped already, to `row`. If there is none,
 * the field is null. */
static void copy_text(struct gcb_row *row, enum gcb_field field, const json_t *environment,
                      enum gcb_field from)
{
    const char *text = gcb_results_text(environment, from);

    gcb_row_json(row, field, text ? json_string(text) : json_null());
}

/* Sends the `regress` row, the last of its stream. */
static int put_total(struct regress *r, struct gcb_diag *diag)
{
    const struct gcb_runs *runs = &r->ab.runs;
    const bool counts = r->o->own.counts, times = r->o->own.against && !counts;
    const char *form = "files";
    double seconds = NAN;
    struct gcb_row row;

    if (times) {
        form = "turns";
        seconds = r->ab.seconds + r->aa.seconds;
    } else if (counts) {
        form = "counts";
        seconds = r->counts.seconds;
    }
    gcb_row_init(&row, GCB_RECORD_REGRESS);
    gcb_row_text(&row, GCB_FIELD_FORM, form);
    copy_text(&row, GCB_FIELD_BASE_REVISION, runs->base.environment, GCB_FIELD_GIT_REVISION);
    copy_text(&row, GCB_FIELD_NEW_REVISION, runs->next.environment, GCB_FIELD_GIT_REVISION);
    copy_text(&row, GCB_FIELD_BASE_BUILD_ID, runs->base.environment, GCB_FIELD_BUILD_ID);
    copy_text(&row, GCB_FIELD_NEW_BUILD_ID, runs->next.environment, GCB_FIELD_BUILD_ID);
    gcb_row_u64(&row, GCB_FIELD_PAIRS, r->ab.pairs);
    gcb_row_u64(&row, GCB_FIELD_REPEAT, r->ab.repeat);
    gcb_row_real(&row, GCB_FIELD_SECONDS, seconds);
    gcb_row_real(&row, GCB_FIELD_BUDGET, times ? r->config.budget : NAN);
    gcb_row_bool(&row, GCB_FIELD_INTERRUPTED, is_interrupted(r));
    gcb_verdicts_row(&row, &r->verdicts);
    gcb_row_u64(&row, GCB_FIELD_EXIT, (uint64_t)choose_exit(r));
    return out_put(&r->report, &row, diag);
}

/* Applies --accept and --advisory-times, prints the comparison, sends its rows, and completes the
 * file of --results. */
static int put_results(struct regress *r, struct gcb_diag *diag)
{
    struct gcb_row row;
    char title[200];
    int err = 0;

    make_title(title, r);
    apply_options(r);
    if (r->report.table) {
        opt_wrap(r->report.out, title, 0, 0);
        if (r->o->own.against)
            regress_builds_heading(r);
        if (!r->o->own.counts && !r->report.quiet)
            print_differences(r);
        regress_show(&r->report, &r->verdicts, r->o->own.strict);
    }
    for (size_t i = 0; !err && out_wants_rows(&r->report) && i < r->verdicts.count; i++) {
        gcb_verdict_row(&row, &r->verdicts.items[i]);
        err = out_put(&r->report, &row, diag);
    }
    if (!err && out_wants_rows(&r->report))
        err = put_total(r, diag);
    return err ? err : out_commit(&r->report, diag);
}

static int open_report(struct regress *r, struct gcb_diag *diag)
{
    const struct session_options *o = &r->o->bench.common;
    const struct gcb_environment env = {.argc = r->ctx->argc, .argv = r->ctx->argv};
    struct gcb_row row;
    int err = out_open(&r->report, &o->show, &o->save, r->operands,
                       GCB_RECORD_BIT(GCB_RECORD_VERDICT), r->ctx);
    if (err || !out_wants_rows(&r->report))
        return err;
    gcb_environment_row(&row, &env);
    return out_put(&r->report, &row, diag);
}

/* Collects the words that are passed on to `bench`. If times of two builds are compared, and no
 * file, suite or kernels are named, adds `--suite ci`. */
static void forward_options(struct regress *r)
{
    const struct bench_options *bench = &r->o->bench;
    const bool counts = r->o->own.counts;

    regress_forward(&r->bench, r->ctx->parsed, counts);
    if (r->o->own.against && !counts && !r->operands->count && !bench->own.suite &&
        !bench->kernels.kernels)
        opt_list_add_all(&r->bench, (const char *const[]){"--suite", "ci"}, 2);
}

static int regress_run(const void *options, const struct opt_list *operands,
                       struct cmd_context *ctx)
{
    struct regress r = {.o = options, .operands = operands, .ctx = ctx};
    int err;

    forward_options(&r);
    err = open_report(&r, ctx->diag);
    if (!err)
        err = r.o->own.against ? compare_builds(&r, ctx->diag) : compare_files(&r, ctx->diag);
    if (!err)
        err = put_results(&r, ctx->diag);
    if (!err && is_interrupted(&r))
        fprintf(ctx->err, "gcbench: interrupted: the verdicts are on what was measured by then\n");
    if (!err)
        err = choose_exit(&r);
    out_close(&r.report);
    gcb_verdicts_fini(&r.verdicts);
    regress_builds_close(&r);
    opt_list_fini(&r.bench);
    return err;
}

/* clang-format off */
static const struct opt_row judge_rows[] = {
    {OPT_ROW("accept", LIST, regress_own, accept), .metavar = "CASE",
     .help = "do not fail because of this change: a glob on the case as the table shows it, or "
             "the glob and a quantity (`--accept 'topk* size'` has the quantity `size`); "
             "repeatable"},
    {OPT_ROW("delta", REAL, regress_own, delta), .metavar = "PERCENT", .min = 0.1, .max = 1000,
     .help = "how much a time may change, in percent (default: 5 with --against, 10 between two "
             "files)"},
    {OPT_ROW("advisory-times", FLAG, regress_own, advisory_times),
     .help = "show what became slower, but fail only on sizes and errors"},
    {OPT_ROW("strict", FLAG, regress_own, strict),
     .help = "exit with 6 if something is ambiguous or could not be compared"},
    {.name = NULL},
};

static const struct opt_row against_rows[] = {
    {OPT_ROW("against", TEXT, regress_own, against), .metavar = "GCBENCH",
     .help = "the other build's program: the two builds run `bench` alternately"},
    {OPT_ROW("budget", TIME, regress_own, budget), .min = 0.001, .max = 604800,
     .help = "time for the whole comparison: 90s, 5m (default), 1h"},
    {OPT_ROW("pairs", INT, regress_own, pairs), .min = 20, .max = 10000,
     .help = "most pairs of processes (default 200; at least 20 are run)"},
    {OPT_ROW("calibrate", FLAG, regress_own, calibrate),
     .help = "first run this build against itself, for a third of the budget, and raise each "
             "case's threshold to the difference measured between the two equal builds"},
    {OPT_ROW("floor", REAL, regress_own, floor), .metavar = "US", .max = 1e9, .initial = -1,
     .help = "times shorter than this, in microseconds, are not judged (default 20; 0 for "
             "kernels)"},
    {OPT_ROW("timeout", TIME, regress_own, timeout), .min = 0.1, .max = 86400,
     .help = "time limit of one process (default: a minute, or more if the first processes are "
             "slow)"},
    {OPT_ROW("counts", FLAG, regress_own, counts),
     .help = "count instructions under valgrind instead of timing: one thread, --isa avx2, "
             "--delta 1"},
    {.name = NULL},
};

static const struct opt_row show_rows[] = {
    {OPT_ROW("force", FLAG, regress_options, bench.common.save.force),
     .help = "replace existing files"},
    {.name = NULL},
};
/* clang-format on */

#define PASSED_ON(title_, rows_, member) \
    { \
        .title = "For bench" title_, .rows = (rows_), \
        .offset = offsetof(struct regress_options, bench.member), .passed_on = true \
    }

static const struct opt_group groups[] = {
    OPT_GROUP("Judging", judge_rows, struct regress_options, own),
    OPT_GROUP("Two builds, alternating", against_rows, struct regress_options, own),
    PASSED_ON(": methods", opt_methods_rows, methods),
    PASSED_ON(": cases", bench_suite_rows, own),
    PASSED_ON(": cases", bench_case_rows, own),
    PASSED_ON(": input", opt_input_rows, common.input),
    PASSED_ON(": messages", opt_message_rows, common.message),
    PASSED_ON(": running", opt_exec_rows, common.exec),
    PASSED_ON(": timing", opt_timing_rows, timing),
    PASSED_ON(": timing", bench_timing_rows, own),
    PASSED_ON(": kernels", bench_kernels_rows, kernels),
    {.title = "Output", .rows = show_rows},
    OPT_GROUP("Output", opt_save_rows, struct regress_options, bench.common.save),
    OPT_GROUP("Output", opt_show_rows, struct regress_options, bench.common.show),
    {.rows = NULL},
};

const struct cmd cmd_regress = {
    .name = "regress",
    .summary = "find what a change made slower, larger or less accurate",
    .usage = "regress [options] BASE.json NEW.json | --against GCBENCH FILE...",
    .examples = "  gcbench bench --results base.json gradients.h5   (later: new.json)\n"
                "  gcbench regress base.json new.json\n"
                "  gcbench regress base.json new.json --accept 'topk* size'\n"
                "  gcbench regress --against ../before/build/cli/gcbench gradients.h5\n"
                "  gcbench regress --against ./gcbench-1.0 --budget 2m --calibrate g.h5\n",
    .details =
        "Exit status: 4 for SLOW, LARGER, WORSE and GONE; 6 under --strict for AMBIGUOUS and "
        "NOT-COMPARED; 4 if both apply. Sizes and errors are compared exactly, FFT methods and "
        "GPUs within 1e-4. Column ratio: new / base, and its 95 % interval; with --against the "
        "median over the pairs. SAME: the whole interval is within delta of 1. Times of two files "
        "are compared only if both environments are the same. docs/method.md has the rules.\n",
    .spec = {.groups = groups,
             .extra = {opt_methods_key_at,
                       offsetof(struct regress_options, bench.methods.overrides)}},
    .size = sizeof(struct regress_options),
    .run = regress_run,
};
