#include "cli/regress/regress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/progress.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/temp.h"
#include "src/tool/base/tidy.h"

#define DEFAULT_BUDGET 300.0 /* in seconds */
/* Share of the budget for the calibration; the comparison needs more pairs. */
#define CALIBRATION_SHARE (1.0 / 3.0)

/* ---- the processes of both builds: command line, exit status, folder ---- */

/* Makes r->argv from `words`, the options that are passed on, and the files. The list ends with
 * NULL. */
static void make_argv(struct regress *r, const char *const *words, size_t count)
{
    opt_list_fini(&r->argv);
    opt_list_add_all(&r->argv, words, count);
    opt_list_add_all(&r->argv, r->bench.items, r->bench.count);
    if (r->operands->count)
        opt_list_add(&r->argv, "--");
    opt_list_add_all(&r->argv, r->operands->items, r->operands->count);
    opt_list_add(&r->argv, NULL);

    r->config.command.argv = (char **)(uintptr_t)r->argv.items;
}

/* Returns the status of `regress` that an exit status of `bench` leads to. */
static int read_exit_status(int exit_status)
{
    if (exit_status == CMD_USAGE)
        return GCB_E_INVALID;
    return exit_status == CMD_NO_BACKEND ? GCB_E_BACKEND : GCB_E_IO;
}

/* Makes r->folder. It is removed by regress_builds_close, or when a signal ends the process. */
static int make_folder(struct regress *r, struct gcb_diag *diag)
{
    const char *parent = out_temp_folder();

    r->folder = gcb_temp_make_folder(parent);
    if (!r->folder)
        return gcb_diag_set(diag, GCB_E_IO, "%s: cannot make a temporary folder: %s",
                            gcb_show(parent).text, strerror(errno));
    r->tidy_place = gcb_tidy_enter(r->folder);
    return 0;
}

/* ---- times ---- */

/* Makes the command line of `bench`. Unless options set how often each case runs, the word after
 * --repeat is left for gcb_ab_run to write. */
static void make_bench_argv(struct regress *r)
{
    const struct bench_options *bench = &r->o->bench;
    const bool repeat_given = bench->timing.repeat > 0 || bench->timing.min_time > 0.0 ||
                              bench->own.precision > 0.0 || bench->own.time_budget > 0.0 ||
                              bench->own.max_samples > 0;
    /* gcb_ab_run replaces "" by the program */
    const char *words[8] = {"", "bench", "--format", "json", "--no-bandwidth"};
    size_t count = 5; /* words set so far */

    if (!bench->kernels.kernels)
        words[count++] = "--no-sums";
    if (!repeat_given) {
        words[count++] = "--repeat";
        words[count++] = r->word;
    }
    r->config.command.word = repeat_given ? NULL : r->word;
    make_argv(r, words, count);
}

/* Runs one A/B comparison with its own progress bar. */
static int run_ab(struct regress *r, struct gcb_ab_result *out, struct gcb_ab_config config,
                  struct gcb_diag *diag)
{
    struct progress bar;
    int err;

    progress_start(&bar, r->ctx->err, !r->o->bench.common.show.quiet);
    config.watch.ctx = &bar;
    err = gcb_ab_run(out, &config, diag);
    progress_end(&bar);
    return err;
}

/* Makes the layout of both builds' code vary from process to process. If that fails for one build,
 * neither varies, r->layout_kept says why, and 0 is returned: only a signal is an error. */
static int open_layouts(struct regress *r, struct gcb_diag *diag)
{
    const char *const names[] = {"base", "new"};
    struct gcb_diag why = {.status = 0};
    char path[PATH_MAX];
    int err = make_folder(r, &why);

    for (int build = 0; !err && build < 2; build++) {
        snprintf(path, sizeof(path), "%s/%s", r->folder, names[build]);
        err = gcb_layout_open(&r->config.layouts[build], r->config.exe[build], path, interrupt_stop,
                              &why);
    }
    if (err && interrupt_seen())
        return gcb_diag_set(diag, GCB_E_IO, "interrupted");
    if (err)
        snprintf(r->layout_kept, sizeof(r->layout_kept), "%.190s", why.text);
    for (int build = 0; err && build < 2; build++) {
        gcb_layout_close(r->config.layouts[build]);
        r->config.layouts[build] = NULL;
    }
    return 0;
}

/* Runs both builds in turn and judges their times; with --calibrate, runs this build against itself
 * first. */
static int compare_times(struct regress *r, struct gcb_diag *diag)
{
    struct gcb_ab_config calibration;
    int err;

    make_bench_argv(r);
    err = open_layouts(r, diag);
    if (!err && r->o->own.calibrate) {
        calibration = r->config;
        calibration.budget *= CALIBRATION_SHARE;
        calibration.exe[0] = r->self; /* so that both builds are this build */
        calibration.layouts[0] = calibration.layouts[1];
        r->config.budget -= calibration.budget;
        r->config.calibration = &r->aa;
        err = run_ab(r, &r->aa, calibration, diag);
        if (!err && r->aa.interrupted)
            err = gcb_diag_set(diag, GCB_E_IO, "interrupted while calibrating");
    }
    if (!err)
        err = run_ab(r, &r->ab, r->config, diag);
    if (!err)
        gcb_ab_judge(&r->verdicts, &r->ab, &r->config);
    return err;
}

/* ---- instructions ---- */

/* Returns the instruction set to count with: that of --isa, or the widest that valgrind and this
 * processor support. */
static const char *counted_isa(const struct regress *r)
{
    const char *asked = r->o->bench.common.exec.isa;
    unsigned flags;

    if (asked)
        return asked;
    return gcb_cpu_isa(&flags, "avx2") ? "c" : "avx2"; /* fails if this processor lacks AVX2 */
}

/* Refuses options that have no meaning with --counts, instruction sets that valgrind does not
 * support, and a command line without a file. */
static int check_counts(const struct regress *r, struct gcb_diag *diag)
{
    static const char *const unused[] = {"threads", "repeat", "warmup",  "calibrate",
                                         "budget",  "pairs",  "floor",   "suite",
                                         "cache",   "device", "kernels", NULL};
    const char *name = opt_first_set(&cmd_regress.spec, r->o, unused), *isa = counted_isa(r);

    if (name)
        return gcb_invalid(diag,
                           "--counts counts one call of each method on files, by one thread of the "
                           "cpu: leave out --%s",
                           name);
    if (strcmp(isa, "c") != 0 && strcmp(isa, "avx2") != 0)
        return gcb_invalid(diag, "--counts: valgrind supports only --isa c and --isa avx2");
    return r->operands->count ? 0 : gcb_invalid(diag, "no input file given");
}

/* Counts the instructions of the methods in both builds, and appends the verdicts to *out. If
 * `times` is not NULL, counts only methods of which gcb_counts_settle can change a verdict. */
static int run_counts(struct regress *r, struct gcb_verdicts *out, const struct gcb_verdicts *times,
                      struct gcb_diag *diag)
{
    struct progress bar;
    struct gcb_ab_config builds;
    struct gcb_counts_config config = {
        .builds = &builds,
        .isa = counted_isa(r),
        .scope = r->o->bench.own.scopes.count ? r->o->bench.own.scopes.items[0] : "tensor",
        .file = r->operands->items[0],
        .times = times,
        .folder = r->folder,
    };
    const char *const words[] = {"compress",  "-q",    "--no-baselines", "--per",    "none",
                                 "--threads", "1",     "--warmup",       "0",        "--repeat",
                                 "1",         "--isa", config.isa,       "--method", r->word};
    int err = opt_methods_resolve(&r->methods, &r->method_count, &r->o->bench.methods,
                                  opt_methods_all, diag);

    if (err)
        return err;
    make_argv(r, words, sizeof(words) / sizeof(words[0]));

    builds = r->config;
    builds.command.word = r->word;
    builds.watch.ctx = &bar;
    if (times) /* --delta is for times; 0: the default for counts */
        builds.delta = 0.0;
    config.methods = r->methods;
    config.method_count = r->method_count;
    progress_start(&bar, r->ctx->err, !r->o->bench.common.show.quiet);
    err = gcb_counts_run(&r->counts, out, &config, diag);
    progress_end(&bar);
    return err;
}

/* If the layout of the code did not vary, a SLOW or FAST verdict may come from the layout and not
 * from the change. In that case, checks these verdicts by counting instructions. Verdicts stay if
 * the instructions cannot be counted, as for suites, kernels and devices. */
static void check_changed_times(struct regress *r)
{
    const struct bench_options *bench = &r->o->bench;
    struct gcb_verdicts counts = {.items = NULL};

    if (!r->layout_kept[0] || !r->folder || r->operands->count == 0 || bench->own.suite ||
        bench->own.caches.count || bench->own.devices.count || bench->kernels.kernels)
        return;
    opt_list_fini(&r->bench);
    regress_forward(&r->bench, r->ctx->parsed, true);

    if (!run_counts(r, &counts, &r->verdicts, NULL))
        gcb_counts_settle(&r->verdicts, &counts, counted_isa(r));
    gcb_verdicts_fini(&counts);
}

/* ---- running both builds ---- */

int regress_builds_run(struct regress *r, struct gcb_diag *diag)
{
    const struct regress_own *own = &r->o->own;
    int err;

    if (!realpath("/proc/self/exe", r->self))
        return gcb_diag_set(diag, GCB_E_IO, "/proc/self/exe: %s: cannot find this program itself",
                            strerror(errno));
    r->config = (struct gcb_ab_config){
        .exe = {own->against, r->self},
        .command.failure = read_exit_status,
        .budget = own->budget > 0.0 ? own->budget : DEFAULT_BUDGET,
        .pairs = (unsigned)own->pairs,
        .timeout = own->timeout,
        .delta = own->delta / 100.0,
        .floor = own->floor / 1e6,
        .watch = {.progress = progress_update, .stop = interrupt_stop},
    };
    interrupt_catch();
    if (!own->counts) {
        err = compare_times(r, diag);
        if (!err)
            check_changed_times(r);
        return err;
    }
    err = check_counts(r, diag);
    if (!err)
        err = make_folder(r, diag);
    return err ? err : run_counts(r, &r->verdicts, NULL, diag);
}

/* ---- printing what ran, and releasing it ---- */

static void print_run(FILE *out, const char *what, const struct gcb_ab_result *ab)
{
    char calls[48] = "";

    if (ab->repeat)
        snprintf(calls, sizeof(calls), ", %u call%s of each case in a process", ab->repeat,
                 ab->repeat == 1 ? "" : "s");
    opt_wrapf(out, 0, 0, "%s: %u pairs of processes%s, %.0f s%s", what, ab->pairs, calls,
              ab->seconds, ab->interrupted ? ", interrupted" : "");
}

void regress_builds_heading(const struct regress *r)
{
    FILE *out = r->report.out;
    const char *same = gcb_ab_same_build(&r->ab);

    if (r->o->own.counts) {
        opt_wrapf(out, 0, 0,
                  "instructions of one encode and decode of each message, %zu method%s, %.0f s%s",
                  r->method_count, r->method_count == 1 ? "" : "s", r->counts.seconds,
                  r->counts.interrupted ? ", interrupted" : "");
        return;
    }
    if (r->o->own.calibrate)
        print_run(out, "calibration, this build against itself", &r->aa);
    print_run(out, "base against new", &r->ab);
    if (same) {
        opt_wrapf(
            out, 0, 0, "A/A run: both are build %.12s%s", same,
            gcb_outfile_same(r->o->own.against, r->self)
                ? ""
                : "; if that is not intended, check LD_LIBRARY_PATH and that both were built");
    }
    opt_wrapf(out, 0, 0, "code layout: %s%s",
              r->layout_kept[0] ? "the same in all processes, so it may explain a SLOW or FAST; "
                                : "for every process the build was linked again, with its object "
                                  "files in a random order",
              r->layout_kept);
    if (r->ab.short_of_time && !r->ab.interrupted)
        opt_wrap(out,
                 "the machine was too slow for 20 pairs in three times the budget, so times are "
                 "ambiguous",
                 0, 0);
}

void regress_builds_close(struct regress *r)
{
    for (int build = 0; build < 2; build++)
        gcb_layout_close(r->config.layouts[build]);
    gcb_ab_result_fini(&r->ab);
    gcb_ab_result_fini(&r->aa);
    gcb_cases_fini(&r->counts.cases);
    gcb_free(r->methods);
    opt_list_fini(&r->argv);
    if (r->folder) {
        rmdir(r->folder);
        gcb_tidy_leave(r->tidy_place);
        gcb_free(r->folder);
    }
}
