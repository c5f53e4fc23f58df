#include "cli/bench/bench_kernels.h"

#include <math.h>
#include <string.h>

#include "cli/base/interrupt.h"
#include "cli/base/progress.h"
#include "src/lib/base/cpu_flags.h"
#include "src/tool/base/host.h"
#include "src/tool/rows/number.h"

/* Default number of samples: the fewest that give an interval. Sampling goes on until the interval is narrow. */
#define DEFAULT_REPEAT 6

/* If half of the interval is at least this share of the median, the median says nothing. */
#define TELLS_NOTHING 0.9995
#define DEFAULT_MIN_TIME 0.02
#define DEFAULT_MAX_TIME 1.0
#define DEFAULT_PRECISION 0.02

struct kernels_run {
    const struct bench_options *o;
    struct cmd_context *ctx;
    struct opt_backend backend;
    struct gcb_bandwidth bandwidth;
    struct gcb_kernels_config config;
    struct out_report report;
    struct gcb_table *table;
    struct progress progress;
    size_t wrong; /* variants whose output differs from the C version's */
    bool unknown; /* an interval was too wide, as TELLS_NOTHING says */
};

/* ---- what to do ---- */

/* With only --repeat, the work is fixed: it does not depend on the clock, so instructions can be counted. */
static bool fixed_work(const struct bench_options *o)
{
    return o->timing.repeat && o->timing.min_time == 0.0 && o->own.precision == 0.0;
}

static struct gcb_timing timing_of(const struct bench_options *o)
{
    const struct opt_timing *t = &o->timing;
    struct gcb_timing timing = {
        .warmup = t->warmup < 0 ? 1 : (unsigned)t->warmup,
        .repeat = t->repeat ? (unsigned)t->repeat : DEFAULT_REPEAT,
        .min_time = t->min_time,
        .max_time = o->own.max_time,
        .precision = o->own.precision,
        .max_samples = (size_t)o->own.max_samples,
    };

    if (fixed_work(o))
        return timing;
    if (timing.min_time == 0.0)
        timing.min_time = DEFAULT_MIN_TIME;
    if (timing.precision == 0.0)
        timing.precision = DEFAULT_PRECISION;
    if (timing.max_time == 0.0)
        timing.max_time = DEFAULT_MAX_TIME;
    return timing;
}

static int resolve(struct kernels_run *r, const struct opt_list *globs)
{
    const struct opt_list *sizes = &r->o->kernels.sizes;
    struct gcb_diag *diag = r->ctx->diag;
    size_t count;
    int err = opt_exec_resolve(&r->backend, &r->o->common.exec, diag), size = 0;

    if (!err && strcmp(r->backend.device, "cpu") != 0)
        err = gcb_diag_set(diag, GCB_E_BACKEND, "bench --kernels runs on the cpu only");
    if (!err && r->backend.queue.threads != 1)
        err = gcb_diag_set(diag, GCB_E_INVALID,
                           "--kernels: each kernel runs on one thread: leave out --threads");
    for (size_t i = 0; !err && i < sizes->count; i++) {
        err = opt_choose(&size, "size", gcb_kernel_size_names, sizes->items[i], diag);
        r->config.sizes |= 1u << size;
    }
    if (err)
        return err;
    if (!r->config.sizes)
        r->config.sizes = (1u << GCB_KERNEL_SIZES) - 1;
    r->config.globs = globs->items;
    r->config.glob_count = globs->count;
    r->config.flags = r->backend.cpu_flags;
    r->config.timing = timing_of(r->o);
    r->config.timing.stop = interrupt_stop;
    return gcb_kernels_match(&count, &r->config, diag);
}

/* Measures bandwidth only if a share of it will be shown, and never for fixed work, which must not depend on the clock. */
static int measure_bandwidth(struct kernels_run *r)
{
    int err;

    if (fixed_work(r->o) || !(r->config.sizes >> GCB_KERNEL_MEMORY & 1))
        return 0;
    err = gcb_bandwidth_measure(&r->bandwidth, &r->backend.queue, gcb_kernels_bandwidth_bytes(),
                                r->ctx->diag);
    r->config.bandwidth = &r->bandwidth;
    return err;
}

/* ---- what is shown ---- */

static const struct gcb_table_column columns[] = {
    {.title = "kernel", .elastic = true},
    {.title = "isa", .text = true},
    {.title = "elements"},
    {.title = "GB/s"},
    {.title = "+-"},
    {.title = "of memory"},
    {.title = "vs C"},
};

struct gcb_table *bench_kernels_table(void)
{
    return gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
}

void bench_kernels_add(struct gcb_table *table, const struct gcb_kernel_result *result)
{
    char name[64], text[32];

    snprintf(name, sizeof(name), "%s/%s", result->family, result->kernel);
    gcb_table_cell(table, name);
    gcb_table_cell(table, result->isa);
    gcb_table_cell(table, gcb_count(text, result->elements));
    out_cell(table, GCB_FIELD_GBPS, result->gbps, 7);
    gcb_table_cell(table,
                   result->spread >= TELLS_NOTHING ? "?" : gcb_percent(text, result->spread));
    gcb_table_cell(table, gcb_percent(text, result->bandwidth_share));
    if (result->agrees)
        out_cell(table, GCB_FIELD_SPEEDUP, result->speedup, 7);
    else
        gcb_table_cell(table, "WRONG");
}

static int on_result(void *ctx, const struct gcb_kernel_result *result, struct gcb_diag *diag)
{
    struct kernels_run *r = ctx;
    struct gcb_row row;

    r->wrong += !result->agrees;
    r->unknown |= result->spread >= TELLS_NOTHING;
    if (r->report.table)
        bench_kernels_add(r->table, result);
    if (!out_wants_rows(&r->report))
        return 0;
    gcb_kernels_row(&row, result, r->o->own.samples);
    return out_put(&r->report, &row, diag);
}

static void on_progress(void *ctx, double done)
{
    struct kernels_run *r = ctx;

    progress_update(&r->progress, done);
}

/* Prints the bandwidth of memory, and the sizes of the arrays and of the caches. */
static void print_memory(const struct gcb_bandwidth *w, FILE *out)
{
    const uint64_t bytes = 4 * gcb_kernels_floats(GCB_KERNEL_MEMORY), cache = gcb_host_cache();
    char number[2][32];

    fprintf(out, "memory: reads %s, fills %s GB/s; arrays of %.0f MiB, ",
            gcb_number(number[0], w->read_gbps, 3), gcb_number(number[1], w->fill_gbps, 3),
            (double)bytes / 0x1p20);
    if (cache)
        fprintf(out, "caches of %.0f MiB\n", ceil((double)cache / 0x1p20));
    else
        fprintf(out, "caches not known\n");
}

/* Prints and releases the table. */
static int print_table(struct kernels_run *r)
{
    const struct gcb_bandwidth *w = &r->bandwidth;
    int err;

    if (!r->report.table)
        return 0;
    fprintf(r->report.out, "kernels on one thread; GB/s of float32 elements\n");
    if (w->bytes)
        print_memory(w, r->report.out);
    err = out_table(&r->report, r->table, r->ctx->diag);
    r->table = NULL;
    if (!err && r->unknown)
        fprintf(r->report.out,
                "?: the interval is wider than the median, so the speed is not known\n");
    return err;
}

static int open_output(struct kernels_run *r)
{
    r->table = bench_kernels_table();
    return out_open(&r->report, &r->o->common.show, &r->o->common.save, NULL,
                    GCB_RECORD_BIT(GCB_RECORD_KERNEL), r->ctx);
}

static int measure(struct kernels_run *r, bool *interrupted)
{
    const struct gcb_kernels_observer observer = {on_result, on_progress, interrupt_stop, r};
    const struct opt_list none = {.count = 0};
    struct out_bandwidths one = {&r->bandwidth, 0};
    int err = measure_bandwidth(r);

    one.count = r->bandwidth.bytes ? 1 : 0;
    if (!err)
        err = out_environment(&r->report, &r->backend, &none, &one, false, r->ctx);
    if (err)
        return err;
    progress_start(&r->progress, r->ctx->err, !r->o->common.show.quiet);
    err = gcb_kernels_run(interrupted, &r->config, &observer, r->ctx->diag);
    progress_end(&r->progress);
    return err;
}

int bench_kernels(const struct bench_options *o, const struct opt_list *globs,
                  struct cmd_context *ctx)
{
    struct kernels_run r = {.o = o, .ctx = ctx};
    bool interrupted = false;
    int err = resolve(&r, globs);

    if (!err)
        err = open_output(&r);
    interrupt_catch();
    if (!err)
        err = measure(&r, &interrupted);
    if (!err)
        err = print_table(&r);
    if (!err)
        err = out_commit(&r.report, ctx->diag);
    if (!err && r.wrong)
        err = gcb_diag_set(ctx->diag, GCB_E_UNVERIFIED,
                           "%zu variants of kernels give other bytes than the C version", r.wrong);
    if (!err && interrupted) {
        fprintf(ctx->err, "gcbench: interrupted; the kernels above were measured\n");
        err = CMD_FAILED;
    }
    gcb_table_destroy(r.table);
    out_close(&r.report);
    return err;
}
