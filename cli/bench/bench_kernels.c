#include "cli/base/bench_options.h"

#include <math.h>
#include <string.h>

#include "cli/base/progress.h"
#include "src/lib/base/text.h"
#include "src/tool/base/host.h"
#include "src/tool/rows/number.h"

/* Least number of samples by default, because fewer give no interval. */
#define DEFAULT_REPEAT 6
/* Least and most time in seconds for all samples of one variant at one size together. */
#define DEFAULT_MIN_TIME 0.02
#define DEFAULT_MAX_TIME 1.0
/* Sampling goes on until half of the median's interval is at most this share of the median, or
 * DEFAULT_MAX_TIME has passed. */
#define DEFAULT_PRECISION 0.02
/* If half of the interval is at least this share of the median, which would be shown as 100 %, the
 * median says nothing, and "?" is shown. */
#define TELLS_NOTHING 0.9995

struct kernels_run {
    const struct bench_options *o;
    struct session s;
    struct gcb_kernels_config config;
    struct gcb_table *table;
    /* number of outputs that differ from the C version's; a variant has one for each size */
    size_t wrong;
};

/* True if the work does not depend on the clock, so that instructions can be counted: --repeat is
 * given, and neither --min-time nor --precision. (--max-time may still cut the work short.) */
static bool fixed_work(const struct bench_options *o)
{
    return o->timing.repeat && o->timing.min_time == 0.0 && o->own.precision == 0.0;
}

/* Returns how the options ask to time a kernel, with defaults for what is not given. Fixed work has
 * no default limits by time or precision. */
static struct gcb_timing timing_of(const struct bench_options *o)
{
    const struct opt_timing *t = &o->timing;
    const bool fixed = fixed_work(o);

    return (struct gcb_timing){
        .warmup = t->warmup < 0 ? 1 : (unsigned)t->warmup,
        .repeat = t->repeat ? (unsigned)t->repeat : DEFAULT_REPEAT,
        .min_time = fixed || t->min_time > 0.0 ? t->min_time : DEFAULT_MIN_TIME,
        .max_time = fixed || o->own.max_time > 0.0 ? o->own.max_time : DEFAULT_MAX_TIME,
        .precision = fixed || o->own.precision > 0.0 ? o->own.precision : DEFAULT_PRECISION,
        .max_samples = (size_t)o->own.max_samples,
        .stop = interrupt_stop,
    };
}

/* Fills the backend and r->config from the options. */
static int resolve(struct kernels_run *r, const struct opt_list *globs)
{
    const struct opt_list *sizes = &r->o->kernels.sizes;
    struct gcb_diag *diag = r->s.ctx->diag;
    size_t count;
    int err = opt_exec_resolve(&r->s.backend, &r->o->common.exec, diag), size = 0;

    if (!err && strcmp(r->s.backend.device, "cpu") != 0)
        err = gcb_diag_set(diag, GCB_E_BACKEND, "bench --kernels runs on the cpu only");
    if (!err && r->s.backend.queue.threads != 1)
        err = gcb_invalid(diag, "--kernels: each kernel runs on one thread: leave out --threads");
    for (size_t i = 0; !err && i < sizes->count; i++) {
        err = gcb_choose(&size, "--", "size", gcb_kernel_size_names, sizes->items[i], diag);
        r->config.sizes |= 1u << size;
    }
    if (err)
        return err;
    if (!r->config.sizes)
        r->config.sizes = (1u << GCB_KERNEL_SIZES) - 1;
    r->config.globs = globs->items;
    r->config.glob_count = globs->count;
    r->config.flags = r->s.backend.cpu_flags;
    r->config.timing = timing_of(r->o);
    return gcb_kernels_match(&count, &r->config, diag);
}

static const struct gcb_table_column columns[] = {
    {.title = "kernel", .elastic = true},
    {.title = "isa", .text = true},
    {.title = "elements"},
    {.title = "GB/s"},
    {.title = "+-"},
    {.title = "of memory"},
    {.title = "vs C"},
};

static int on_result(void *ctx, const struct gcb_kernel_result *result, struct gcb_diag *diag)
{
    struct kernels_run *r = ctx;
    struct gcb_row row;
    char name[64], text[32];

    r->wrong += !result->agrees;
    snprintf(name, sizeof(name), "%s/%s", result->family, result->kernel);
    gcb_table_cell(r->table, name);
    gcb_table_cell(r->table, result->isa);
    gcb_table_cell(r->table, gcb_count(text, result->elements));
    out_cell(r->table, GCB_FIELD_GBPS, result->gbps, 7);
    gcb_table_cell(r->table,
                   result->spread >= TELLS_NOTHING ? "?" : gcb_percent(text, result->spread));
    gcb_table_cell(r->table, gcb_percent(text, result->bandwidth_share));
    if (result->agrees)
        out_cell(r->table, GCB_FIELD_SPEEDUP, result->speedup, 7);
    else
        gcb_table_cell(r->table, "WRONG");
    if (!out_wants_rows(&r->s.report))
        return 0;
    gcb_kernels_row(&row, result, r->o->own.samples);
    return out_put(&r->s.report, &row, diag);
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

/* Prints the heading and the table, and releases the table. */
static void print_table(struct kernels_run *r)
{
    opt_wrapf(r->s.report.out, 0, 0,
              "kernels on one thread; GB/s of float32 elements; ?: not known, because the interval "
              "is wider than the median");
    if (r->s.bandwidth.bytes)
        print_memory(&r->s.bandwidth, r->s.report.out);
    out_table(&r->s.report, r->table);
    r->table = NULL;
}

/* Measures the bandwidth of memory, if some arrays are too large for the caches (--size memory) and
 * the work is not fixed. Sends the `environment` row and runs the kernels. Sets *interrupted to
 * true if a signal came. */
static int measure(struct kernels_run *r, bool *interrupted)
{
    const struct gcb_kernels_observer observer = {on_result, r, session_watch(&r->s)};
    const bool in_memory = r->config.sizes >> GCB_KERNEL_MEMORY & 1;
    int err = 0;

    if (in_memory && !fixed_work(r->o)) {
        err = gcb_bandwidth_measure(&r->s.bandwidth, &r->s.backend.queue,
                                    gcb_kernels_bandwidth_bytes(), r->s.ctx->diag);
        r->config.bandwidth = &r->s.bandwidth;
    }
    if (!err)
        err = session_put_environment(&r->s);
    if (err)
        return err;
    r->table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    session_start_progress(&r->s);
    err = gcb_kernels_run(interrupted, &r->config, &observer, r->s.ctx->diag);
    progress_end(&r->s.progress);
    return err;
}

int bench_kernels(const struct bench_options *o, const struct opt_list *globs,
                  struct cmd_context *ctx)
{
    const struct opt_list no_files = {.count = 0};
    struct kernels_run r = {.o = o, .s = {.o = o->common, .files = &no_files, .ctx = ctx}};
    bool interrupted = false;
    int err = resolve(&r, globs);

    if (!err)
        err = session_open_report(&r.s, GCB_RECORD_BIT(GCB_RECORD_KERNEL));
    interrupt_catch();
    if (!err)
        err = measure(&r, &interrupted);
    if (!err && r.s.report.table)
        print_table(&r);
    if (!err)
        err = out_commit(&r.s.report, ctx->diag);
    if (!err && r.wrong)
        err = gcb_diag_set(ctx->diag, GCB_E_UNVERIFIED,
                           "%zu variants of kernels give other bytes than the C version", r.wrong);
    if (!err && interrupted)
        err = session_interrupted(&r.s, "the kernels above were measured");
    gcb_table_destroy(r.table);
    session_close(&r.s);
    return err;
}
