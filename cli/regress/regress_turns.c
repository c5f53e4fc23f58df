#include "cli/regress/regress_turns.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/progress.h"
#include "src/lib/base/text.h"

#define DEFAULT_BUDGET 300.0
#define CALIBRATION (1.0 / 3.0) /* of the budget: the verdicts need the more pairs */

int regress_self(char *out, size_t size, struct gcb_diag *diag)
{
    const ssize_t n = readlink("/proc/self/exe", out, size - 1);

    if (n < 0)
        return gcb_diag_set(diag, GCB_E_IO, "/proc/self/exe: %s: cannot find this program itself",
                            strerror(errno));
    out[n] = '\0';
    return 0;
}

static bool on_stop(void *ctx)
{
    (void)ctx;
    return interrupt_seen();
}

static void on_progress(void *ctx, double share)
{
    progress_update(ctx, share);
}

static int configure(struct regress_turns *t, struct gcb_diag *diag)
{
    const struct regress_own *own = &t->o->own;
    const struct bench_options *bench = &t->o->bench;
    const int err = regress_self(t->self, sizeof(t->self), diag);

    t->config = (struct gcb_turns_config){
        .exe = {own->against, t->self},
        .options = t->bench->items,
        .option_count = t->bench->count,
        .files = t->files->items,
        .file_count = t->files->count,
        .repeats = bench->timing.repeat > 0 || bench->timing.min_time > 0.0 ||
                   bench->own.precision > 0.0 || bench->own.time_budget > 0.0 ||
                   bench->own.max_samples > 0,
        .budget = own->budget > 0.0 ? own->budget : DEFAULT_BUDGET,
        .pairs = (unsigned)own->pairs,
        .timeout = own->timeout,
        .delta = own->delta / 100.0,
        .floor = own->floor / 1e6,
        .stop = on_stop,
        .progress = on_progress,
    };
    return err;
}

/* One run under a bar of its own. */
static int run(struct regress_turns *t, struct gcb_turns *out, struct gcb_turns_config config,
               struct gcb_diag *diag)
{
    struct progress bar;
    int err;

    progress_start(&bar, t->ctx->err, !t->o->bench.show.quiet);
    config.ctx = &bar;
    err = gcb_turns_run(out, &config, diag);
    progress_end(&bar);
    return err;
}

int regress_turns_run(struct regress_turns *t, struct gcb_diag *diag)
{
    struct gcb_turns_config itself;
    int err = configure(t, diag);

    if (err)
        return err;
    interrupt_catch();
    if (t->o->own.calibrate) {
        itself = t->config;
        itself.budget *= CALIBRATION;
        t->config.budget -= itself.budget;
        itself.exe[0] = t->self;
        err = run(t, &t->aa, itself, diag);
        t->config.calibration = &t->aa;
    }
    if (!err && t->aa.interrupted)
        return gcb_diag_set(diag, GCB_E_IO, "interrupted while calibrating");
    return err ? err : run(t, &t->turns, t->config, diag);
}

static void print_ran(FILE *out, const char *what, const struct gcb_turns *t)
{
    char line[200], calls[40] = "";

    if (t->repeat)
        snprintf(calls, sizeof(calls), ", %u call%s of each case in one", t->repeat,
                 t->repeat == 1 ? "" : "s");
    snprintf(line, sizeof(line), "%s: %u pairs of processes in turn%s, %.0f s%s", what, t->pairs,
             calls, t->seconds, t->interrupted ? ", interrupted" : "");
    opt_wrap(out, line, 0, 0);
}

void regress_turns_heading(const struct regress_turns *t, const struct out_report *report)
{
    const char *same = gcb_turns_same_build(&t->turns);
    char line[300];

    if (t->o->own.calibrate)
        print_ran(report->out, "calibration, this build against itself", &t->aa);
    print_ran(report->out, "base against new", &t->turns);
    if (same) {
        snprintf(
            line, sizeof(line), "A/A run: both are build %.12s%s", same,
            gcb_outfile_same(t->o->own.against, t->self)
                ? ""
                : "; if that is not meant: is LD_LIBRARY_PATH set, was one of them not built?");
        opt_wrap(report->out, line, 0, 0);
    }
    if (t->turns.short_of_time && !t->turns.interrupted)
        opt_wrap(report->out,
                 "the machine was too slow for 20 pairs in three times the budget: times are "
                 "ambiguous",
                 0, 0);
}

void regress_turns_close(struct regress_turns *t)
{
    gcb_turns_fini(&t->turns);
    gcb_turns_fini(&t->aa);
}
