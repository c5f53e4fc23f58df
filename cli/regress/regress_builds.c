#include "cli/regress/regress.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/progress.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/temp.h"
#include "src/tool/base/tidy.h"

#define DEFAULT_BUDGET 300.0
#define CALIBRATION_SHARE \
    (1.0 / 3.0) /* share of the budget; the comparison itself needs more pairs */

/* ---- the command line of both builds ---- */

/* Makes b->argv of these words, the options that are passed on, and the files; NULL at the end. */
static int make_argv(struct regress_builds *b, const struct opt_list *options,
                     const char *const *words, size_t count, struct gcb_diag *diag)
{
    opt_list_fini(&b->argv);
    if (opt_list_add_all(&b->argv, words, count) ||
        opt_list_add_all(&b->argv, options->items, options->count) ||
        (b->files->count && opt_list_add(&b->argv, "--")) ||
        opt_list_add_all(&b->argv, b->files->items, b->files->count) ||
        opt_list_add(&b->argv, NULL))
        return gcb_diag_nomem(diag, 0, "a command line");
    return 0;
}

/* The status of regress that an exit status of `bench` leads to. */
static int read_exit_status(int exit_status)
{
    return exit_status == CMD_USAGE        ? GCB_E_INVALID
           : exit_status == CMD_NO_BACKEND ? GCB_E_BACKEND
                                           : GCB_E_IO;
}

static int find_self(char *out, size_t size, struct gcb_diag *diag)
{
    const ssize_t n = readlink("/proc/self/exe", out, size - 1);

    if (n < 0)
        return gcb_diag_set(diag, GCB_E_IO, "/proc/self/exe: %s: cannot find this program itself",
                            strerror(errno));
    out[n] = '\0';
    return 0;
}

static int make_folder(struct regress_builds *b, struct gcb_diag *diag)
{
    const char *parent = out_temp_folder();
    char shown[160];

    b->folder = gcb_temp_make_folder(parent);
    if (!b->folder)
        return gcb_diag_set(diag, GCB_E_IO, "%s: cannot make a temporary folder: %s",
                            gcb_escape(shown, sizeof(shown), parent), strerror(errno));
    b->tidy_place = gcb_tidy_enter(b->folder);
    return 0;
}

/* ---- times ---- */

static int configure_ab(struct regress_builds *b, struct gcb_diag *diag)
{
    const struct regress_own *own = &b->o->own;
    const struct bench_options *bench = &b->o->bench;
    const bool repeat_given = bench->timing.repeat > 0 || bench->timing.min_time > 0.0 ||
                              bench->own.precision > 0.0 || bench->own.time_budget > 0.0 ||
                              bench->own.max_samples > 0;
    const char *words[8] = {"", "bench", "--format", "json", "--no-bandwidth"};
    size_t count = 5;
    int err;

    if (!bench->kernels.kernels)
        words[count++] = "--no-sums";
    if (!repeat_given) {
        words[count++] = "--repeat";
        words[count++] = b->repeat;
    }
    err = make_argv(b, b->bench, words, count, diag);
    b->config = (struct gcb_ab_config){
        .exe = {own->against, b->self},
        .command = {.argv = (char **)(uintptr_t)b->argv.items,
                    .repeat = repeat_given ? NULL : b->repeat,
                    .failure = read_exit_status},
        .budget = own->budget > 0.0 ? own->budget : DEFAULT_BUDGET,
        .pairs = (unsigned)own->pairs,
        .timeout = own->timeout,
        .delta = own->delta / 100.0,
        .floor = own->floor / 1e6,
        .stop = interrupt_stop,
        .progress = progress_update,
    };
    return err;
}

/* Runs one A/B comparison with its own progress bar. */
static int run_ab(struct regress_builds *b, struct gcb_ab_result *out, struct gcb_ab_config config,
                  struct gcb_diag *diag)
{
    struct progress bar;
    int err;

    progress_start(&bar, b->ctx->err, !b->o->bench.common.show.quiet);
    config.ctx = &bar;
    err = gcb_ab_run(out, &config, diag);
    progress_end(&bar);
    return err;
}

/* Makes the code layout of both builds vary. If that fails for one build, neither varies, and b->layout_kept says why.
 * */
static int open_layouts(struct regress_builds *b, struct gcb_diag *diag)
{
    const char *const names[] = {"base", "new"};
    struct gcb_diag why = {.status = 0};
    char path[PATH_MAX];
    int err = make_folder(b, &why);

    for (int build = 0; !err && build < 2; build++) {
        snprintf(path, sizeof(path), "%s/%s", b->folder, names[build]);
        err = gcb_layout_open(&b->config.layouts[build], b->config.exe[build], path, interrupt_stop,
                              &why);
    }
    if (err == GCB_E_NOMEM)
        return gcb_diag_nomem(diag, 0, "a link command");
    if (err && interrupt_seen())
        return gcb_diag_set(diag, GCB_E_IO, "interrupted");
    if (err)
        snprintf(b->layout_kept, sizeof(b->layout_kept), "%.190s", why.text);
    for (int build = 0; err && build < 2; build++) {
        gcb_layout_close(b->config.layouts[build]);
        b->config.layouts[build] = NULL;
    }
    return 0;
}

static int compare_times(struct regress_builds *b, struct gcb_verdicts *out, struct gcb_diag *diag)
{
    struct gcb_ab_config calibration;
    int err = configure_ab(b, diag);

    if (!err)
        err = open_layouts(b, diag);
    if (!err && b->o->own.calibrate) {
        calibration = b->config;
        calibration.budget *= CALIBRATION_SHARE;
        calibration.exe[0] = b->self;
        calibration.layouts[0] = calibration.layouts[1];
        b->config.budget -= calibration.budget;
        b->config.calibration = &b->aa;
        err = run_ab(b, &b->aa, calibration, diag);
        if (!err && b->aa.interrupted)
            err = gcb_diag_set(diag, GCB_E_IO, "interrupted while calibrating");
    }
    if (!err)
        err = run_ab(b, &b->ab, b->config, diag);
    return err ? err : gcb_ab_judge(out, &b->ab, &b->config, diag);
}

/* ---- instructions ---- */

static int check_counts(const struct regress_builds *b, const char *isa, struct gcb_diag *diag)
{
    static const char *const unused[] = {"threads", "repeat", "warmup",  "calibrate",
                                         "budget",  "pairs",  "floor",   "suite",
                                         "cache",   "device", "kernels", NULL};
    const char *name = opt_first_set(&cmd_regress.spec, b->o, unused);

    if (name)
        return gcb_diag_set(
            diag, GCB_E_INVALID,
            "--counts counts one call of each method on files, by one thread of the "
            "cpu: leave out --%s",
            name);
    if (strcmp(isa, "c") != 0 && strcmp(isa, "avx2") != 0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--counts: valgrind supports only --isa c and --isa avx2");
    return b->files->count ? 0 : gcb_diag_set(diag, GCB_E_INVALID, "no input file given");
}

/* The instruction set to count with. valgrind does not support AVX-512. */
static const char *counted_isa(const struct regress_builds *b)
{
    unsigned flags;

    return b->o->bench.common.exec.isa   ? b->o->bench.common.exec.isa
           : gcb_cpu_isa(&flags, "avx2") ? "c"
                                         : "avx2";
}

/* Counts the instructions of b->methods in both builds. `options` are passed on to `compress`. */
static int run_counts(struct regress_builds *b, const struct opt_list *options,
                      struct gcb_verdicts *out, struct gcb_diag *diag)
{
    struct gcb_counts_config config = {
        .exe = {b->o->own.against, b->self},
        .spec = b->spec,
        .isa = counted_isa(b),
        .scope = b->o->bench.own.scopes.count ? b->o->bench.own.scopes.items[0] : "tensor",
        .file = b->files->items[0],
        .methods = b->methods,
        .method_count = b->method_count,
        .folder = b->folder,
        .timeout = b->o->own.timeout,
        .stop = interrupt_stop,
        .progress = progress_update,
    };
    const char *const words[] = {"compress",  "-q",    "--no-baselines", "--per",    "none",
                                 "--threads", "1",     "--warmup",       "0",        "--repeat",
                                 "1",         "--isa", config.isa,       "--method", b->spec};
    struct progress bar;
    int err = make_argv(b, options, words, sizeof(words) / sizeof(words[0]), diag);

    if (err)
        return err;
    config.argv = (char *const *)(uintptr_t)b->argv.items;
    config.delta = b->o->own.counts ? b->o->own.delta / 100.0 : 0.0;
    config.ctx = &bar;
    progress_start(&bar, b->ctx->err, !b->o->bench.common.show.quiet);
    err = gcb_counts_run(&b->counts, out, &config, diag);
    progress_end(&bar);
    return err;
}

static int compare_counts(struct regress_builds *b, struct gcb_verdicts *out, struct gcb_diag *diag)
{
    int err = check_counts(b, counted_isa(b), diag);

    if (!err)
        err = opt_methods_resolve(&b->methods, &b->method_count, &b->o->bench.methods,
                                  opt_methods_all, diag);
    if (!err)
        err = make_folder(b, diag);
    return err ? err : run_counts(b, b->bench, out, diag);
}

/* ---- times that the layout of the code may explain ---- */

/* Keeps only the methods with a verdict on times that instruction counts may change. */
static void choose_methods(struct regress_builds *b, const struct gcb_verdicts *times)
{
    char spec[GCB_COUNTS_SPEC];
    size_t kept = 0;

    for (size_t m = 0; m < b->method_count; m++) {
        bool wanted = false;

        gcb_method_spec(spec, sizeof(spec), &b->methods[m], GCB_SPEC_FULL);
        for (size_t i = 0; i < times->count; i++)
            wanted |= gcb_counts_may_settle(&times->items[i], counted_isa(b)) &&
                      strcmp(gcb_verdict_case(&times->items[i])->text[GCB_CASE_SPEC], spec) == 0;
        if (wanted)
            b->methods[kept++] = b->methods[m];
    }
    b->method_count = kept;
}

/* If the layout of the code did not vary, checks each SLOW or FAST verdict by counting
 * instructions. If a method cannot be counted, its verdict stays. */
static int check_changed_times(struct regress_builds *b, struct gcb_verdicts *times,
                               struct gcb_diag *diag)
{
    const struct bench_options *bench = &b->o->bench;
    struct gcb_verdicts counts = {.items = NULL};
    struct opt_list options = {.items = NULL};
    int err;

    if (!b->layout_kept[0] || !b->folder || b->files->count == 0 || bench->own.suite ||
        bench->own.caches.count || bench->own.devices.count || bench->kernels.kernels)
        return 0;
    err =
        opt_methods_resolve(&b->methods, &b->method_count, &bench->methods, opt_methods_all, diag);
    if (err)
        return err;
    choose_methods(b, times);
    if (b->method_count)
        err = regress_forward(&options, b->ctx->parsed, true);
    if (!err && b->method_count && !run_counts(b, &options, &counts, NULL))
        gcb_counts_settle(times, &counts, counted_isa(b));
    gcb_verdicts_fini(&counts);
    opt_list_fini(&options);
    return err ? gcb_diag_nomem(diag, 0, "a command line") : 0;
}

/* ---- both ---- */

int regress_builds_run(struct regress_builds *b, struct gcb_verdicts *out, struct gcb_diag *diag)
{
    int err = find_self(b->self, sizeof(b->self), diag);

    if (err)
        return err;
    interrupt_catch();
    if (b->o->own.counts)
        return compare_counts(b, out, diag);
    err = compare_times(b, out, diag);
    return err ? err : check_changed_times(b, out, diag);
}

static void print_run(FILE *out, const char *what, const struct gcb_ab_result *r)
{
    char calls[48] = "";

    if (r->repeat)
        snprintf(calls, sizeof(calls), ", %u call%s of each case in a process", r->repeat,
                 r->repeat == 1 ? "" : "s");
    opt_wrapf(out, 0, 0, "%s: %u pairs of processes%s, %.0f s%s", what, r->pairs, calls, r->seconds,
              r->interrupted ? ", interrupted" : "");
}

static void print_ab_runs(const struct regress_builds *b, FILE *out)
{
    const char *same = gcb_ab_same_build(&b->ab);

    if (b->o->own.calibrate)
        print_run(out, "calibration, this build against itself", &b->aa);
    print_run(out, "base against new", &b->ab);
    if (same) {
        opt_wrapf(
            out, 0, 0, "A/A run: both are build %.12s%s", same,
            gcb_outfile_same(b->o->own.against, b->self)
                ? ""
                : "; if that is not intended, check LD_LIBRARY_PATH and that both were built");
    }
    opt_wrapf(out, 0, 0, "code layout: %s%s",
              b->layout_kept[0] ? "the same in all processes, so it may explain a SLOW or FAST; "
                                : "for every process the build was linked again, with its object "
                                  "files in a random order",
              b->layout_kept);
    if (b->ab.short_of_time && !b->ab.interrupted)
        opt_wrap(out,
                 "the machine was too slow for 20 pairs in three times the budget, so times are "
                 "ambiguous",
                 0, 0);
}

void regress_builds_heading(const struct regress_builds *b, const struct out_report *report)
{
    if (!b->o->own.counts) {
        print_ab_runs(b, report->out);
        return;
    }
    opt_wrapf(report->out, 0, 0,
              "instructions of one encode and decode of each message, %zu method%s, %.0f s%s",
              b->method_count, b->method_count == 1 ? "" : "s", b->counts.seconds,
              b->counts.interrupted ? ", interrupted" : "");
}

bool regress_builds_interrupted(const struct regress_builds *b)
{
    return b->ab.interrupted || b->counts.interrupted;
}

void regress_builds_close(struct regress_builds *b)
{
    for (int build = 0; build < 2; build++)
        gcb_layout_close(b->config.layouts[build]);
    gcb_ab_result_fini(&b->ab);
    gcb_ab_result_fini(&b->aa);
    gcb_cases_fini(&b->counts.cases);
    gcb_free(b->methods);
    opt_list_fini(&b->argv);
    if (b->folder) {
        rmdir(b->folder);
        gcb_tidy_leave(b->tidy_place);
        gcb_free(b->folder);
    }
}
