#include "cli/regress/regress_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/progress.h"
#include "cli/regress/regress_turns.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

/* clang-format off */
const struct opt_row regress_counts_fixed[] = {
    {.name = "threads", .type = OPT_INT},
    {.name = "isa", .type = OPT_TEXT},
    {.name = "repeat", .type = OPT_INT},
    {.name = "warmup", .type = OPT_INT},
    {.name = "method", .type = OPT_LIST},
    {.name = NULL},
};
/* clang-format on */

static bool on_stop(void *ctx)
{
    (void)ctx;
    return interrupt_seen();
}

static void on_progress(void *ctx, double share)
{
    progress_update(ctx, share);
}

static int check(const struct regress_counts *c, const char **isa, struct gcb_diag *diag)
{
    const struct regress_options *o = c->o;
    const struct bench_own *bench = &o->bench.own;
    unsigned flags;

    *isa = o->bench.exec.isa ? o->bench.exec.isa : gcb_cpu_isa(&flags, "avx2") ? "c" : "avx2";
    if (bench->threads.count || o->bench.timing.repeat > 0 || o->bench.timing.warmup >= 0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--counts counts one call by one thread: --threads, --repeat and "
                            "--warmup have no meaning");
    if (strcmp(*isa, "c") != 0 && strcmp(*isa, "avx2") != 0)
        return gcb_diag_set(diag, GCB_E_INVALID, "--counts: valgrind knows --isa c and avx2");
    if (o->own.calibrate || o->own.budget > 0.0 || o->own.pairs || o->own.floor >= 0.0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--counts needs no statistics: --budget, --pairs, --floor and "
                            "--calibrate have no meaning");
    if (bench->suite || bench->caches.count || bench->devices.count || o->bench.kernels.kernels)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--counts counts methods on files, on the cpu: --suite, --cache, "
                            "--device and --kernels have no meaning");
    if (c->files->count == 0)
        return gcb_diag_set(diag, GCB_E_INVALID, "no input file given");
    return 0;
}

/* The methods given, or all at their defaults. */
static int find_methods(struct regress_counts *c, struct gcb_diag *diag)
{
    int err = opt_methods_resolve(&c->methods, &c->method_count, &c->o->bench.methods, diag);
    size_t n = 0;

    if (err || c->method_count)
        return err;
    gcb_free(c->methods);
    c->methods = NULL;
    for (struct gcb_method m; gcb_method_at(&m, n);)
        n++;
    c->methods = gcb_alloc_array(n, sizeof(*c->methods));
    if (!c->methods)
        return gcb_diag_nomem(diag, n * sizeof(*c->methods), "the methods");
    for (; c->method_count < n; c->method_count++)
        gcb_method_at(&c->methods[c->method_count], c->method_count);
    return 0;
}

static int make_folder(struct regress_counts *c, struct gcb_diag *diag)
{
    const char *place = getenv("TMPDIR");
    char shown[64];

    if (!place || !*place || strlen(place) > 40)
        place = "/tmp";
    snprintf(c->folder, sizeof(c->folder), "%s/gcbench-XXXXXX", place);
    if (mkdtemp(c->folder))
        return 0;
    c->folder[0] = '\0';
    return gcb_diag_set(diag, GCB_E_IO, "%s: no temporary folder: %s",
                        gcb_escape(shown, sizeof(shown), place), strerror(errno));
}

int regress_counts_run(struct regress_counts *c, struct gcb_verdicts *out, struct gcb_diag *diag)
{
    struct gcb_counts_config config = {.stop = on_stop, .progress = on_progress};
    struct progress bar;
    int err = check(c, &config.isa, diag);

    if (!err)
        err = find_methods(c, diag);
    if (!err)
        err = regress_self(c->self, sizeof(c->self), diag);
    if (!err)
        err = make_folder(c, diag);
    if (err)
        return err;
    config.exe[0] = c->o->own.against;
    config.exe[1] = c->self;
    config.options = c->bench->items;
    config.option_count = c->bench->count;
    config.files = c->files->items;
    config.file_count = c->files->count;
    config.methods = c->methods;
    config.method_count = c->method_count;
    config.scope = c->o->bench.own.scopes.count ? c->o->bench.own.scopes.items[0] : "tensor";
    config.folder = c->folder;
    config.delta = c->o->own.delta / 100.0;
    config.timeout = c->o->own.timeout;
    config.ctx = &bar;
    interrupt_catch();
    progress_start(&bar, c->ctx->err, !c->o->bench.show.quiet);
    err = gcb_counts_run(&c->counts, out, &config, diag);
    progress_end(&bar);
    return err;
}

void regress_counts_heading(const struct regress_counts *c, const struct out_report *report)
{
    char line[200];

    snprintf(line, sizeof(line),
             "instructions of one encode and decode of each message, %zu method%s, %.0f s%s",
             c->method_count, c->method_count == 1 ? "" : "s", c->counts.seconds,
             c->counts.interrupted ? ", interrupted" : "");
    opt_wrap(report->out, line, 0, 0);
}

void regress_counts_close(struct regress_counts *c)
{
    gcb_counts_fini(&c->counts);
    gcb_free(c->methods);
    if (c->folder[0])
        rmdir(c->folder);
}
